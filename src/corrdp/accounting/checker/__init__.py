"""A second opinion on proofs: reads JSON alone and shares no code with the accountant."""
