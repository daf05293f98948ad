"""The 17 trajectory mechanisms of the survey as samplers that run, and what their runs refute."""
