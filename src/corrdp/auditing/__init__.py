"""audit: does this mechanism keep its promise? Runs, exact limits and a verdict."""
