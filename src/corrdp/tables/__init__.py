"""Reading data and counting in it."""
