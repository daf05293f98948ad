"""What can go wrong, in the caller's words.

Two families matter to a program that calls corrdp: :class:`InputError` (the
question is malformed; the command exits with 2) and :class:`RefusedError`
(the question is clear and the answer is no; the command exits with 3).
"""

from __future__ import annotations


class CorrdpError(Exception):
    """Base of every error that corrdp raises on purpose."""


class InputError(CorrdpError, ValueError):
    """An argument or a file cannot be used as it is; the message says what to change."""


class ModelError(InputError):
    """A dependence model is not a law: rows, shapes, states or lengths are wrong."""


class DataError(InputError):
    """Data do not fit what was asked of them: missing values, unknown states, bad files."""


class DataWarning(UserWarning):
    """Data were read as asked, and what was asked looks like a mistake."""


class QueryError(InputError):
    """A query is malformed or reads something the model says nothing about."""


class RefusedError(CorrdpError):
    """The request is well formed and cannot be granted."""


class GuaranteeError(RefusedError):
    """No theorem turns this guarantee into a leakage on correlated records."""


class NotApplicableError(RefusedError):
    """A named bound does not apply to this model; the message says what would."""


class InfeasibleError(RefusedError):
    """No noise reaches the target with this method; the message gives the least feasible one."""


class CompositionError(RefusedError):
    """Leakages do not add; compose on epsilon instead."""
