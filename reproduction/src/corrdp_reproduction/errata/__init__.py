"""Errors of the sources: each with a counterexample that is computed, and what is right."""
