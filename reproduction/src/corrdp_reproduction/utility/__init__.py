"""Lange et al. (2025), and chapter 6 of Guerra-Balboa (2026), which restates it."""
