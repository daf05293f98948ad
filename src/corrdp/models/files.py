"""Reading model files back, strictly: an unknown key or a changed number is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corrdp.encoding import SCHEMA
from corrdp.errors import ModelError
from corrdp.models.base import Model
from corrdp.models.groups import Groups
from corrdp.models.independent import Independent
from corrdp.models.markov import MarkovChain
from corrdp.models.table import JointTable
from corrdp.models.window import WindowChain

_KEYS = {
    "independent": {"n"},
    "groups": {"m", "labels"},
    "table": {"table"},
    "markov": {"states", "transition", "initial", "length", "fit"},
    "window": {"states", "order", "transition", "length", "fit"},
}


def model_from_dict(data: Any) -> Model:
    """Inverse of ``model.to_dict()``; checks keys and, where present, the digest.

    Examples
    --------
    >>> model_from_dict(Groups(3).to_dict())
    <groups of at most 3 dependent records>
    """
    if not isinstance(data, dict) or data.get("corrdp") != SCHEMA:
        raise ModelError(f'not a corrdp model: expected {{"corrdp": {SCHEMA}, "model": ...}}')
    kind = data.get("model")
    if kind not in _KEYS:
        raise ModelError(f"unknown model {kind!r}; use one of {', '.join(_KEYS)}")
    body = {k: v for k, v in data.items() if k not in ("corrdp", "model", "digest")}
    unknown, absent = set(body) - _KEYS[kind], _KEYS[kind] - set(body)
    if unknown or absent:
        raise ModelError(
            f"{kind} model has unknown keys {sorted(unknown)} and lacks {sorted(absent)}"
        )
    model = _build(kind, body)
    if data.get("digest", model.digest) != model.digest:
        raise ModelError(
            "the model's digest does not match its numbers: the file was edited. "
            "Delete the digest key if the edit was meant"
        )
    return model


def _build(kind: str, body: dict[str, Any]) -> Model:
    try:
        if kind == "independent":
            return Independent(body["n"])
        if kind == "groups":
            return Groups(body["m"], body["labels"])
        if kind == "table":
            return JointTable({tuple(values): p for values, p in body["table"]})
        fit = body["fit"]
        if fit is not None:
            from corrdp.models.fitting import ChainFit

            fit = ChainFit.from_dict(fit)
        if kind == "window":
            return WindowChain(
                body["transition"], body["order"], body["length"], body["states"], fitted=fit
            )
        return MarkovChain(
            body["transition"], body["length"], body["initial"], body["states"], fitted=fit
        )
    except ModelError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise ModelError(f"cannot read the {kind} model: {error}") from None


def load_model(path: str | Path) -> Model:
    """Read a model file written by ``corrdp fit`` or ``model.save``.

    Parameters
    ----------
    path : str or Path

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> Groups(3).save(path)
    >>> load_model(path)
    <groups of at most 3 dependent records>
    """
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not text: a model file is JSON, made by corrdp fit") from None
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ModelError(f"{path} is not JSON: {error}") from None
    return model_from_dict(data)
