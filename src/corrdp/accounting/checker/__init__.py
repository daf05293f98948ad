"""A second opinion on proofs: reads JSON alone and shares no code with the accountant."""

from corrdp.accounting.checker.check import check_proof as check_proof
