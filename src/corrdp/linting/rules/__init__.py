"""The rules of the linter, each with the mistake it finds."""
