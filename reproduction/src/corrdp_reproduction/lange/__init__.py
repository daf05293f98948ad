"""Source 000, Lange's master thesis (2024): one module per figure, and its other numbers."""
