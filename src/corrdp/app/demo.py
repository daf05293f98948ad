"""Made-up data for those who want to look around: eight weeks of a step counter."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

_START = datetime(2024, 3, 4)
_DAYS, _STEP = 56, 15  # days, minutes
# how likely a quarter of an hour is active after a quiet one, and after an active one
_NIGHT, _DAY = (0.04, 0.25), (0.22, 0.62)


def write_demo(folder: Path) -> Path:
    """Write the made-up data; the same ones every time.

    Examples
    --------
    >>> import tempfile
    >>> write_demo(Path(tempfile.mkdtemp())).read_text().splitlines()[0]
    'time,steps'
    """
    rng = np.random.default_rng(2024)
    lines, active = ["time,steps"], False
    for k in range(_DAYS * 24 * 60 // _STEP):
        moment = _START + timedelta(minutes=_STEP * k)
        chances = _DAY if 7 <= moment.hour < 22 else _NIGHT
        active = bool(rng.random() < chances[active])
        steps = int(rng.gamma(2.0, 220.0)) + 5 if active else 0
        lines.append(f"{moment:%Y-%m-%d %H:%M},{steps}")
    path = folder / "made-up-steps.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
