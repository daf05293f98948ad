"""How much a kernel can tell apart: Birkhoff's diameter and the column ratio.

For rows p, q of a non-negative matrix, Hilbert's projective distance is
``d(p, q) = max_{y,y'} ln[p_y q_y' / (q_y p_y')]``; it ignores any common reweighting of the
columns, which is what conditioning on later records does to a Markov kernel.
"""

from __future__ import annotations

import numpy as np

_CHUNK = 2**20  # numbers of a stack that are compared at a time
_VANISHED = 1e-140  # a positive entry of a product that is smaller may have lost its digits


def row_log_ratio_spread(kernel: np.ndarray) -> np.ndarray:
    """Hilbert's distance between every pair of rows, as an s x s matrix. O(s^3).

    Columns that are zero in both rows are dropped; a column that is zero in one of them only
    makes the distance infinite. A stack of matrices, shape (.., s, m), gives a stack (.., s, s).

    Examples
    --------
    >>> row_log_ratio_spread(np.array([[.9, .1], [.2, .8]]))[0, 1].round(6)
    np.float64(3.583519)
    """
    positive = kernel > 0
    with np.errstate(divide="ignore"):
        logs = np.where(positive, np.log(kernel), 0.0)
    difference = logs[..., :, None, :] - logs[..., None, :, :]
    both = positive[..., :, None, :] & positive[..., None, :, :]
    one = positive[..., :, None, :] ^ positive[..., None, :, :]
    top = np.where(both, difference, -np.inf).max(axis=-1)
    bottom = np.where(both, difference, np.inf).min(axis=-1)
    with np.errstate(invalid="ignore"):
        spread = np.where(both.any(axis=-1), top - bottom, 0.0)
    return np.where(one.any(axis=-1), np.inf, spread)


def multiply(left: np.ndarray | None, right: np.ndarray) -> np.ndarray | None:
    """Product of non-negative matrices, each row scaled to a largest entry of one. O(s^3).

    Row scales change no distance. None where a possible entry comes out so small that it may have
    underflowed on the way: a zero must mean impossible. None times anything is None.

    Examples
    --------
    >>> multiply(np.array([[.5, .5], [0, 1]]), np.array([[.2, .8], [0, 1]])).round(4).tolist()
    [[0.1111, 1.0], [0.0, 1.0]]
    >>> multiply(np.array([[1e-90, 1], [0, 1]]), np.array([[1e-90, 1], [0, 1]])) is None
    True
    """
    if left is None:
        return None
    product = left @ right
    product /= np.maximum(product.max(axis=-1, keepdims=True), np.finfo(float).tiny)
    possible = ((left > 0).astype(float) @ (right > 0).astype(float)) > 0
    return None if (product[possible] < _VANISHED).any() else product


def diameter(kernel: np.ndarray, rows: np.ndarray | None = None) -> float:
    """Birkhoff diameter ``D(P) = max over row pairs of d(P(a,.), P(b,.))``.

    Parameters
    ----------
    kernel : (s, s) array
    rows : boolean mask, optional
        Rows of states that can occur; the others are left out.

    Examples
    --------
    >>> round(diameter(np.array([[.9, .1], [.2, .8]])), 6)
    3.583519
    >>> diameter(np.array([[.7, .3], [1, 0]]))
    inf
    """
    used = kernel if rows is None else kernel[rows]
    return float(row_log_ratio_spread(used).max()) if len(used) else 0.0


def diameters(stack: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Birkhoff diameter of each matrix of a stack; all-zero rows are left out. O(k s^2 m).

    Parameters
    ----------
    stack : (k, s, m) array
        Non-negative; m need not be s.
    rows : (k, s) boolean mask, optional
        Rows of states that can occur; the others are left out.

    Examples
    --------
    >>> diameters(np.array([[[.9, .1], [.2, .8]], [[1, 0], [0, 0]]])).round(6).tolist()
    [3.583519, 0.0]
    """
    count, s, m = stack.shape
    found = np.empty(count)
    chunk = max(1, _CHUNK // (s * s * m))
    for start in range(0, count, chunk):
        part = stack[start : start + chunk]
        used: np.ndarray = np.any(part > 0, axis=2)
        if rows is not None:
            used = used & rows[start : start + chunk]
        spread = row_log_ratio_spread(part)
        compared = used[:, :, None] & used[:, None, :]
        found[start : start + chunk] = np.where(compared, spread, 0.0).max(axis=(1, 2))
    return found


def column_ratio(kernel: np.ndarray, rows: np.ndarray | None = None) -> float:
    """omega: the largest ratio of two entries of one column; inf when zeros and non-zeros mix.

    Examples
    --------
    >>> round(column_ratio(np.array([[.9, .1], [.2, .8]])), 9)
    8.0
    """
    used = kernel if rows is None else kernel[rows]
    columns = used[:, (used > 0).any(axis=0)]
    if not columns.size:
        return 1.0
    with np.errstate(divide="ignore"):
        return float((columns.max(axis=0) / columns.min(axis=0)).max())
