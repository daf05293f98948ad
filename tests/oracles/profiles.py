"""Privacy profiles by long decimals and by listing every combination of losses."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)


def _phi(x: Decimal) -> Decimal:
    """Standard normal distribution function, by its Taylor series around 0."""
    term, total, k = x, x, 1
    while abs(term) > Decimal(10) ** -85:
        term *= x * x / (2 * k + 1)
        total += term
        k += 1
    return Decimal("0.5") + (-x * x / 2).exp() / (2 * PI).sqrt() * total


def gaussian(mu: float, epsilon: float | Fraction) -> Decimal:
    """delta of mu-GDP at any real epsilon; mu / 2 + |epsilon| / mu should stay below 12."""
    with localcontext() as context:
        context.prec = 160
        m = Decimal(mu)
        e = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        return _phi(-e / m + m / 2) - e.exp() * _phi(-e / m - m / 2)


def mixed(
    pure: list[float], mu: float, approximate: list[tuple[float, float]], epsilon: float
) -> Decimal:
    """The worst profile of some releases, over every combination of signs."""
    levels = [Fraction(e) for e in (*pure, *(e for e, _ in approximate))]
    with localcontext() as context:
        context.prec = 160
        kept = Decimal(1)
        for _, delta in approximate:
            kept *= 1 - Decimal(delta)
        total = Decimal(0)
        for signs in itertools.product((1, -1), repeat=len(levels)):
            weight, shift = Decimal(1), Fraction(0)
            for sign, level in zip(signs, levels, strict=True):
                e = Decimal(sign * level.numerator) / Decimal(level.denominator)
                weight /= 1 + (-e).exp()
                shift += sign * level
            rest = Fraction(epsilon) - shift
            if mu > 0:
                total += weight * gaussian(mu, rest)
            elif rest < 0:
                e = Decimal(rest.numerator) / Decimal(rest.denominator)
                total += weight * (1 - e.exp())
        return 1 - kept + kept * total
