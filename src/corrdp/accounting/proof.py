"""A certificate of an account that a second program can re-check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from corrdp._json import SCHEMA

if TYPE_CHECKING:
    from corrdp.accounting.account import Composition


def proof_of(composition: Composition) -> dict[str, Any]:
    """The plan, and for each total its value, the worst neighbours and what each release adds.

    :func:`corrdp.accounting.checker.check.check_proof` reads nothing else, and shares no code with the
    accountant: it builds neighbours one pair after another and adds up.
    """
    targets = tuple(dict.fromkeys(total.target for total in composition.totals))
    # a claim at a target that is not proved here has no place in the certificate
    verdicts = [v for v in composition.verdicts if v.claim.target in targets]
    claims = tuple(verdict.claim for verdict in verdicts)
    plan = replace(composition.plan, targets=targets, claims=claims)
    keys = ("target", "notion", "value", "witness", "losses", "sequential")
    totals = [total.to_dict() for total in composition.totals]
    return {
        "corrdp": SCHEMA,
        "result": "proof",
        "plan": plan.to_dict(),
        "totals": [{key: total[key] for key in keys} for total in totals],
        "verdicts": [verdict.to_dict() for verdict in verdicts],
    }
