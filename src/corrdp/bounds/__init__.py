"""From a guarantee to a leakage: one file per family of bounds."""
