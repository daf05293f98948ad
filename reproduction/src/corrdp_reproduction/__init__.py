"""Published figures and tables, run again: one module each, next to what is true."""
