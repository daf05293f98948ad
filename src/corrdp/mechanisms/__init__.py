"""Mechanisms: a law, a sampler and a guarantee each."""
