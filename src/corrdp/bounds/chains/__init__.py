"""Bounds for Markov chains of any order; the engine is :mod:`corrdp.bounds.contraction`."""
