"""Laws of dependence between records."""
