"""Attacks: what an adversary runs on a published series, and how often it can be right."""
