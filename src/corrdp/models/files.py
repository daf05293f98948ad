"""Reading model files back, strictly: an unknown key or a changed number is an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corrdp._checks import check_path
from corrdp._json import SCHEMA
from corrdp.errors import ModelError
from corrdp.models.base import Model
from corrdp.models.groups import Groups, Independent, JointTable


def model_from_dict(data: Any) -> Model:
    """Inverse of ``model.to_dict()``; checks keys, the digest and every expression.

    A model has a right digest, or says ``"written": "by hand"``; a wrong digest is always
    refused. A digest authenticates nobody, so that expressions are judged all the same.

    Examples
    --------
    >>> model_from_dict(Groups(3).to_dict())
    <groups of at most 3 dependent records>
    """
    if not isinstance(data, dict) or data.get("corrdp") != SCHEMA:
        raise ModelError(f'not a corrdp model: expected {{"corrdp": {SCHEMA}, "model": ...}}')
    kind = data.get("model")
    if not isinstance(kind, str) or kind not in _READERS:
        raise ModelError(f"unknown model {kind!r}; use one of {', '.join(_READERS)}")
    body = {k: v for k, v in data.items() if k not in ("corrdp", "model", "digest", "written")}
    try:
        _check_expressions(body.get("fit"))
        model = _READERS[kind](body)
    except KeyError as error:
        raise ModelError(f"{kind} model lacks the key {error}") from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelError(f"cannot read the {kind} model: {error}") from None
    unknown = set(body) - set(model.fields())
    if unknown:
        raise ModelError(f"{kind} model has unknown keys {sorted(unknown)}")
    if data.get("written") not in (None, "by hand"):
        raise ModelError('written must be "by hand", or be left out where there is a digest')
    if "digest" not in data and "written" not in data:
        raise ModelError(
            'the model has no digest: if it was written by hand, say so with "written": "by hand"'
        )
    if data.get("digest", model.digest) != model.digest:
        raise ModelError(
            "the model's digest does not match its numbers: the file was edited. If the edit was "
            'meant, put "written": "by hand" in place of the digest'
        )
    return model


# what a fit keeps of how a table is read: columns, or SQL that a release would run
_EXPRESSIONS = ("state", "id", "group", "value", "role", "order_by", "columns", "edge_columns")


def _check_expressions(fit: Any) -> None:
    if not isinstance(fit, dict):
        return
    from corrdp.tables.expressions import check_stored

    for name in _EXPRESSIONS:
        stored = fit.get(name)
        check_stored(stored if isinstance(stored, list) else [stored])
    seasons = fit.get("seasons")
    for part in seasons if isinstance(seasons, list) else ():
        # the name of a season may be an expression
        check_stored([part.get("name") if isinstance(part, dict) else None])


Body = dict[str, Any]


def _table(body: Body) -> Model:
    return JointTable({tuple(values): p for values, p in body["table"]})


def _chain_fit(body: Body) -> Any:
    if body["fit"] is None:
        return None
    from corrdp.models.chains.fitted import ChainFit

    return ChainFit.from_dict(body["fit"])


def _markov(body: Body) -> Model:
    from corrdp.models.chains.markov import MarkovChain

    kernel, length, start = body["transition"], body["length"], body["initial"]
    chain = MarkovChain(kernel, length, start, body["states"], fitted=_chain_fit(body))
    if chain.fitted is not None and not np.allclose(chain.transition, chain.fitted.kernel):
        raise ModelError(
            "the transition probabilities are not those of the counts beside them: the file was "
            "edited. For a chain of your own, set fit to null"
        )
    return chain


def _window(body: Body) -> Model:
    from corrdp.models.chains.window import WindowChain

    kernel, order, length = body["transition"], body["order"], body["length"]
    chain = WindowChain(kernel, order, length, body["states"], fitted=_chain_fit(body))
    if chain.fitted is not None and chain.fitted.contexts is not None:
        rows = chain.fitted.row_counts(chain.order)
        if len(chain.fitted.contexts) != len(rows):
            raise ModelError(f"the contexts are not those of windows of order {chain.order}")
        if not np.allclose(chain.transition * rows.sum(axis=1, keepdims=True), rows):
            raise ModelError(
                "the transition probabilities are not those of the contexts beside them: the file "
                "was edited. For a chain of your own, set fit to null"
            )
    return chain


def _by_class(module: str, name: str) -> Callable[[Body], Model]:
    """Models that read their own fields."""

    def read(body: Body) -> Model:
        from importlib import import_module

        return getattr(import_module(f"corrdp.models.{module}"), name).from_fields(body)

    return read


_READERS: dict[str, Callable[[Body], Model]] = {
    "independent": lambda body: Independent(body["n"]),
    "groups": lambda body: Groups(body["m"], body["labels"]),
    "table": _table,
    "markov": _markov,
    "window": _window,
    "seasonal": _by_class("chains.seasonal", "SeasonalChain"),
    "joint": _by_class("chains.joint", "JointChain"),
    "class": _by_class("chains.region", "ChainClass"),
    "gaussian": _by_class("gaussian.records", "GaussianRecords"),
    "tree": _by_class("networks.tree", "MarkovTree"),
    "field": _by_class("networks.field", "MarkovField"),
    "pedigree": _by_class("pedigrees.pedigree", "Pedigree"),
}


def is_model_file(path: Path) -> bool:
    """Whether a file looks like one that a model was saved to, be it right or damaged."""
    try:
        data = json.loads(path.read_text())
    except (ValueError, RecursionError):
        return False
    # results too have a key for their model, and say what they are
    return isinstance(data, dict) and {"corrdp", "model"} <= set(data) and "result" not in data


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
        text = Path(check_path("path", path, error=ModelError)).read_text()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not text: a model file is JSON, made by corrdp fit") from None
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ModelError(
            f"{path} is no corrdp model file, which corrdp fit makes: it is not JSON ({error})"
        ) from None
    except RecursionError:
        raise ModelError(f"{path} is nested too deeply for a model file") from None
    return model_from_dict(data)
