"""Markov chains of any order: their law, how they are learned, and whether they fit."""
