"""Outputs read as reports of the local protocol that they are claimed to be."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from corrdp.auditing.outputs import EXACT, Reader, gathered
from corrdp.auditing.protocols import as_reports
from corrdp.errors import DataError, InputError
from corrdp.mechanisms.local.base import LocalProtocol


def reader(protocol: LocalProtocol) -> Reader:
    """Reads outputs as reports of the protocol; one that is none is named with its input.

    Parameters
    ----------
    protocol : LocalProtocol

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> reader(GRR(4, 1.0))([3, 0], np.array([3, 4]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the mechanism put out 4 on input 0, which is no report of GRR(k=4, \
epsilon=1.0): y[0] = 4 is not among the states 0..3
    """

    def read(values: Sequence[Any], outputs: np.ndarray) -> np.ndarray:
        try:
            return _checked(protocol, values, outputs)
        except InputError as error:
            whole = error
        # one stray output gives a whole array another type: look at each by itself
        for value, output in zip(values, outputs.tolist(), strict=True):
            try:
                _checked(protocol, [value], gathered([output]))
            except InputError as error:
                raise DataError(
                    f"the mechanism put out {reprlib.repr(output)} on input {value!r}, which is no "
                    f"report of {protocol!r}: {error}"
                ) from None
        raise whole

    return read


def _checked(protocol: LocalProtocol, values: Sequence[Any], outputs: np.ndarray) -> np.ndarray:
    try:
        reports = as_reports(protocol, _plain(outputs))
        protocol.log_law(reports, np.asarray(values))
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(str(error)) from None
    return reports


def _plain(outputs: np.ndarray) -> np.ndarray:
    """Sets as rows of their members, whole numbers as such whatever their type."""
    if outputs.dtype == object:
        rows = [sorted(row) if isinstance(row, frozenset) else row for row in outputs.tolist()]
        return gathered(rows)
    if outputs.dtype.kind == "f" and (outputs == np.rint(outputs)).all():
        return outputs.astype(np.int64) if (np.abs(outputs) <= EXACT).all() else outputs
    return outputs
