"""Lange (2024), master thesis: one module per figure, and its other numbers."""
