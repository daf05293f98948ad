"""Auditing: estimators, intervals, verdicts and claim lint."""
