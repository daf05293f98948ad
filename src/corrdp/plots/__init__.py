"""Pictures: they take numbers and return axes."""
