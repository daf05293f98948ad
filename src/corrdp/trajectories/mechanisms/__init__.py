"""Releases of movements: noisy trees, planar noise, local n-grams, sampling."""
