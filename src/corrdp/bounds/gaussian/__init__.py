"""Bounds for Gaussian records: from regression coefficients to a leakage."""
