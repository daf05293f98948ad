"""Brute force and other independent ways to the same number."""
