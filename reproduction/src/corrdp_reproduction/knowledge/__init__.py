"""Source 003, a thesis on partial knowledge (2022): one module per figure, and its other claims."""
