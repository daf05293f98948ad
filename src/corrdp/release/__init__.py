"""Answers that may be shown: computed exactly, noised, charged and written down."""
