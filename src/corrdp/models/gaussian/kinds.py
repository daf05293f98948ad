"""Blocks by kind: whole families, those without a father, single records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corrdp.models.gaussian.records import GaussianRecords


@dataclass(frozen=True)
class BlockRow:
    """One kind of block: who is in it, how many there are, and the largest value of its records."""

    members: tuple[str, ...]
    blocks: int
    size: int
    largest: float


def per_block(model: GaussianRecords, per_record: np.ndarray) -> tuple[BlockRow, ...]:
    """The largest entry per kind of block, such as the leakage of whole and partial families.

    Parameters
    ----------
    model : GaussianRecords
    per_record : (n,) array
        Such as ``leakage(model, 1.0).per_record``.

    Examples
    --------
    >>> pair, single = [[1, .5], [.5, 1]], [[1.]]
    >>> model = GaussianRecords.blocks([pair, single, pair])
    >>> for row in per_block(model, np.array([1.5, 1.4, 1.0, 1.5, 1.5])):
    ...     print(row.members, row.blocks, row.largest)
    ('record 0', 'record 1') 2 1.5
    ('record 0',) 1 1.0
    """
    rows = []
    for number, shape in enumerate(model.shapes):
        members = model.members(number)
        largest = float(per_record[members].max())
        rows.append(BlockRow(model.roles(number), len(members), shape.size, largest))
    return tuple(rows)
