"""Figures and tables of source 002, and of chapter 6 of source 004, which restates it."""
