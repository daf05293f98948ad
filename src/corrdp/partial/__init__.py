"""Partial knowledge: when the data's own uncertainty is noise enough."""
