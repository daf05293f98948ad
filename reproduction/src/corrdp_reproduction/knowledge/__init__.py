"""Westenfeld (2022), on partial knowledge: one module per figure, and its other claims."""
