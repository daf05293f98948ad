"""Checks of arguments that many functions share: what came, in words, and what is wanted."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from corrdp.errors import InputError

Kind = TypeVar("Kind")


def check_list(name: str, value: Any, what: str = "a list") -> list[Any]:
    """``value`` as a list; a text, a mapping and what cannot be gone through are refused.

    Examples
    --------
    >>> check_list("inputs", (0, 1))
    [0, 1]
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict | type):
        try:
            return list(value)
        except TypeError:  # an array without a dimension
            pass
    raise InputError(f"{name} must be {what}, got {reprlib.repr(value)}")


def check_kind(name: str, value: Any, kind: type[Kind]) -> Kind:
    """``value``, refused unless it is an instance of ``kind``."""
    if isinstance(value, kind):
        return value
    raise InputError(f"{name} must be a {kind.__name__}, got {reprlib.repr(value)}")


def check_choice(name: str, value: Any, *known: str) -> str:
    """``value``, refused unless it is one of these texts."""
    if isinstance(value, str) and value in known:
        return value
    wanted = " or ".join(f'"{text}"' for text in known)
    raise InputError(f"{name} must be {wanted}, got {reprlib.repr(value)}")


def check_rng(rng: Any) -> np.random.Generator:
    """A generator of random numbers, refused unless it is numpy's."""
    if isinstance(rng, np.random.Generator):
        return rng
    raise InputError(
        f"rng must be a numpy.random.Generator, got {reprlib.repr(rng)}; "
        "take numpy.random.default_rng()"
    )
