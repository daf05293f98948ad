"""How far two data sets are told apart: trade-off curves, and what they say about each other."""
