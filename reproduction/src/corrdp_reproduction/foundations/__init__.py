"""Figures, tables and examples of the dissertation on DP in complex data, chapters 2 to 4."""
