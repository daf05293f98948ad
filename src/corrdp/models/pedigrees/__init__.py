"""Pedigrees: Mendel's laws, families, and tables in linkage format."""
