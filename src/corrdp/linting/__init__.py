"""The claim linter: known mistakes in the description, the laws or the outputs of a mechanism."""
