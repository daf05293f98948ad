"""Gaussian records: their law in blocks, and how it is learned from tables."""
