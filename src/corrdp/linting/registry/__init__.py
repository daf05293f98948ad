"""Published trajectory mechanisms: a description of each, and what the survey found."""
