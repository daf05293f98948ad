"""Ledgers: what was released from a data set, and what is left of its budget."""
