"""What is said about how a release is made: whether a composition theorem covers it at all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from corrdp.errors import InputError


@dataclass(frozen=True)
class Flags:
    """How a release is made; the defaults are what the theorems allow.

    Parameters
    ----------
    reads_previous_outputs : bool
        Whether the mechanism may look at earlier outputs. The theorems allow it, and then ask that
        the guarantee hold whatever those were.
    map_depends_on_outputs : bool
        Whether what is read is chosen from earlier outputs: the map is then a
        :class:`corrdp.accounting.maps.Choice`.
    released : bool
        Whether the output is published. One that is not is counted all the same: later releases
        may carry it.
    independent_noise : bool
        Whether the release draws noise of its own. Shared noise is outside every theorem here.

    Examples
    --------
    >>> Flags(released=False).to_dict()
    {'released': False}
    """

    reads_previous_outputs: bool = True
    map_depends_on_outputs: bool = False
    released: bool = True
    independent_noise: bool = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, bool):
                raise InputError(f"flags: {name} must be true or false, got {value!r}")
        if self.map_depends_on_outputs and not self.reads_previous_outputs:
            raise InputError(
                "flags: a map that depends on earlier outputs reads them; leave "
                "reads_previous_outputs out, or say true"
            )

    def to_dict(self) -> dict[str, bool]:
        """Those that differ from the defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if self._differs(f)}

    def _differs(self, field: Any) -> bool:
        return bool(getattr(self, field.name) != field.default)


def flags_from_json(data: Any) -> Flags:
    """Read flags from JSON such as ``{"released": false}``.

    Examples
    --------
    >>> flags_from_json({"shared": True})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: unknown flag 'shared'; the flags are reads_previous_outputs, \
map_depends_on_outputs, released, independent_noise
    """
    names = [f.name for f in fields(Flags)]
    if not isinstance(data, dict):
        raise InputError(f"flags must be an object with {', '.join(names)}; got {data!r}")
    for key in data:
        if key not in names:
            raise InputError(f"unknown flag {key!r}; the flags are {', '.join(names)}")
    return Flags(**data)
