"""What all the releases cost together: plans, their totals, and the ledger on disk."""
