"""Signed records: whatever is changed is refused, and only the trusted key counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import InputError, RefusedError
from corrdp.release.signatures import ledger_head, make_keys, public_key_id
from tests.helpers.commands import FIT, done, run, write_series

CHAIN = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=8)
DATA = [0, 0, 1, 1, 0, 1, 1, 1]


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> tuple[Path, Path]:
    return make_keys(tmp_path_factory.mktemp("keys") / "steward.key")


@pytest.fixture(scope="module")
def signed(keys) -> dict[str, Any]:
    """Of a release with every field, a series and the head of a ledger, each as a file has it."""
    steps = CHAIN.with_length(400).sample(np.random.default_rng(3))
    fitted = cdp.MarkovChain.fit(steps.tolist())
    book = cdp.Ledger.create(keys[0].parent / "all.ledger", budget=20.0)
    answer = cdp.calibrate(fitted, 2.0, query=cdp.Count(1)).release(steps.tolist(), ledger=book)
    series = cdp.calibrate(CHAIN, 3.0, query=cdp.Series()).release(DATA)
    found = {
        "release": answer.sign(keys[0]),
        "sanitized series": series.sign(keys[0]),
        "ledger head": book.sign_head(keys[0]),
    }
    assert answer.adequacy is not None
    assert answer.charge == 1
    return {name: json.loads(json.dumps(one.to_dict())) for name, one in found.items()}


KINDS = ("release", "sanitized series", "ledger head")


@pytest.mark.parametrize("kind", KINDS)
def test_a_signed_record_is_read_back_from_its_file(kind, signed, keys, tmp_path):
    path = tmp_path / "signed.json"
    path.write_text(json.dumps(signed[kind], indent=1))
    found = cdp.verify(path, keys[1])
    assert found.to_dict() == signed[kind]
    assert cdp.verify(found, keys[1]).to_dict() == signed[kind]
    assert found.signature.key == public_key_id(keys[1])
    assert f"signed       with key {found.signature.key}" in repr(found)
    # blanks and the order of keys are no content
    path.write_text(json.dumps(dict(reversed(signed[kind].items()))))
    assert cdp.verify(path, keys[1]).to_dict() == signed[kind]


def changes(value: Any) -> list[Any]:
    """The value, and every part of it, replaced by something else, dropped or added to."""
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int):
        return [value + 1, float(value), str(value)]
    if isinstance(value, float):
        return [float(np.nextafter(value, np.inf)), str(value)]
    if isinstance(value, str):
        return [value + " ", value[:-1] + "~", value.upper() + "!"]
    if isinstance(value, list):
        inner = [
            [*value[:k], new, *value[k + 1 :]]
            for k, part in enumerate(value[:6])
            for new in changes(part)
        ]
        return [*inner, [*value, 0], value[:-1] if value else [None]]
    inside = [value | {name: new} for name, part in value.items() for new in changes(part)]
    fewer = [{n: v for n, v in value.items() if n != name} for name in value]
    return [*inside, *fewer, value | {"more": 1}]


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_is_refused(kind, signed, keys):
    tried = [data for data in changes(signed[kind]) if data != signed[kind] or _typed(data, signed)]
    assert len(tried) > 20
    for data in tried:
        with pytest.raises((RefusedError, InputError)) as said:
            cdp.verify(data, keys[1])
        # an input error is for what is no such record any more
        refused = isinstance(said.value, RefusedError)
        assert refused or data.get("result") != kind, said.value


def _typed(data: Any, signed: dict[str, Any]) -> bool:
    """1 and 1.0 are equal to Python, and two texts in a file."""
    return json.dumps(data) not in [json.dumps(one) for one in signed.values()]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"target": 2.0', '"target": 2.00', "2.00"),
        ('"target": 2.0', '"target": 2', "changed"),
        ('"target": 2.0', '"target": 2e0', "2e0"),
        ('"target": 2.0', '"target": 2.0, "target": 2.0', "'target' twice"),
        ('"target": 2.0', '"target": NaN', "NaN"),
        ('"target": 2.0', '"target": 2.00000000000000000001', "2.0"),
        ('"charge": 1,', '"charge": -0,', "-0"),
        ('"corrdp": 1,', '"corrdp": 1, "corrdp": 1,', "'corrdp' twice"),
        ('"signature": {', '"signature": null, "signature": {', "'signature' twice"),
        ('"key": "', '"key": "0', "signed with key 0"),
        ('"tag": "corrdp release 1"', '"tag": "corrdp ledger head 1"', "none of"),
        ('"value": "', '"value": "A', "none of"),
    ],
)
def test_numbers_are_written_in_one_way_and_keys_once(old, new, why, signed, keys, tmp_path):
    text = json.dumps(signed["release"])
    assert old in text
    path = tmp_path / "release.json"
    path.write_text(text.replace(old, new))
    with pytest.raises(RefusedError, match=why):
        cdp.verify(path, keys[1])


def test_a_signature_serves_one_record_of_one_kind(signed, keys):
    head, release = signed["ledger head"], signed["release"]
    for data in (
        release | {"signature": head["signature"]},
        release | {"signature": head["signature"] | {"tag": "corrdp release 1"}},
        signed["sanitized series"] | {"signature": release["signature"]},
        release | {"signature": None},
    ):
        with pytest.raises(RefusedError):
            cdp.verify(data, keys[1])


def test_only_the_trusted_key_counts(signed, keys, tmp_path):
    private, public = make_keys(tmp_path / "mallory.key")
    with pytest.raises(RefusedError, match="the trusted key is"):
        cdp.verify(signed["release"], public)
    again = cdp.Release.from_dict(signed["release"]).sign(private)
    with pytest.raises(RefusedError, match="the trusted key is"):
        cdp.verify(again, keys[1])
    name = signed["release"]["signature"]["key"]
    forged = again.to_dict() | {"signature": again.to_dict()["signature"] | {"key": name}}
    with pytest.raises(RefusedError, match="changed after"):
        cdp.verify(forged, keys[1])


def test_keys_are_private_and_never_written_over(keys, tmp_path):
    private, public = make_keys(tmp_path / "steward.key")
    assert private.stat().st_mode & 0o777 == 0o600
    before = private.read_bytes(), public.read_bytes()
    for name in ("steward.key", "steward.other"):
        with pytest.raises(InputError, match="no key is written over"):
            make_keys(tmp_path / name)
    with pytest.raises(InputError, match="public key"):
        make_keys(tmp_path / "other.pub")
    assert (private.read_bytes(), public.read_bytes()) == before
    assert not (tmp_path / "steward.other").exists()
    head = ledger_head(cdp.Ledger.create(tmp_path / "a.ledger", budget=1))
    with pytest.raises(InputError, match="is a public key"):
        head.sign(public)
    with pytest.raises(InputError, match="is a private key"):
        cdp.verify(head, private)
    (tmp_path / "no.key").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")
    (tmp_path / "no.key").chmod(0o600)
    with pytest.raises(InputError, match="holds no private Ed25519 key"):
        head.sign(tmp_path / "no.key")
    with pytest.raises(InputError, match="cannot read the key"):
        head.sign(tmp_path / "absent.key")
    with pytest.raises(InputError, match="path of a key"):
        cdp.verify(head, None)
    if os.name != "nt":
        private.chmod(0o640)
        with pytest.raises(RefusedError, match="chmod 600"):
            head.sign(private)


def test_no_json_no_record(keys, tmp_path):
    path = tmp_path / "a.json"
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"result": ["release"]}', b"3"):
        path.write_bytes(content)
        with pytest.raises(InputError):
            cdp.verify(path, keys[1])
    with pytest.raises(InputError, match="none of them"):
        cdp.verify({"result": "leakage"}, keys[1])
    with pytest.raises(InputError):
        cdp.verify({"result": object()}, keys[1])
    with pytest.raises(InputError):
        cdp.verify(3, keys[1])


def test_whole_levels_are_signed_as_a_file_gives_them_back(keys):
    answer = cdp.calibrate(CHAIN, 2.0, query=cdp.Count(1)).release(DATA)
    object.__setattr__(answer, "target", 2)  # as a caller might have said it
    signed = answer.sign(keys[0])
    assert cdp.verify(json.loads(json.dumps(signed.to_dict())), keys[1]).target == 2.0
    # signing again replaces the signature
    assert cdp.verify(signed.sign(keys[0]), keys[1]).value == answer.value


def test_a_head_that_was_signed_must_stay_in_the_ledger(keys, tmp_path):
    path = tmp_path / "a.ledger"
    book = cdp.Ledger.create(path, budget=1)
    book.charge(0.1, what="a count")
    older = path.read_bytes()
    book.charge(0.1, what="another")
    head = book.sign_head(keys[0])
    book.charge(0.1, what="a third")
    assert cdp.verify(head, keys[1], ledger=path).charges == 2
    path.write_bytes(older)
    with pytest.raises(RefusedError, match="no longer holds"):
        cdp.verify(head, keys[1], ledger=path)
    other = cdp.Ledger.create(tmp_path / "b.ledger", budget=1)
    with pytest.raises(RefusedError, match="the head is that of ledger"):
        cdp.verify(head, keys[1], ledger=other)
    answer = cdp.calibrate(CHAIN, 2.0, query=cdp.Count(1)).release(DATA).sign(keys[0])
    with pytest.raises(InputError, match="not for a release"):
        cdp.verify(answer, keys[1], ledger=other)


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = CHAIN.with_length(300).sample(np.random.default_rng(5)) * 40
    write_series(Path("steps.csv"), steps.tolist())
    done("fit", "steps.csv", *FIT, "-o", "model.json")
    said = done("keys", "new", "steward.key").output
    assert public_key_id("steward.pub") in said
    assert run("keys", "new", "steward.key").exit_code == 2
    asked = ("release", "steps.csv", "--model", "model.json", "--target", 1, "--query",
             "count:True")  # fmt: skip
    done("ledger", "init", "steps.ledger", "--budget", 3)
    for more in (["--sign", "steward.key"], ["--sign", "absent.key", "--json"],
                 ["--sign", "steward.pub", "--json"], ["--sign", "steward.key", "--dry-run"],
                 ["--sign", "steward.key", "-o", "steward.key"]):  # fmt: skip
        assert run(*asked, "--ledger", "steps.ledger", *more).exit_code == 2
    assert not cdp.Ledger.open("steps.ledger").history()  # nothing was paid
    done(*asked, "--ledger", "steps.ledger", "--sign", "steward.key", "-o", "r.json")
    assert "as it was signed" in done("verify", "r.json", "--key", "steward.pub").output
    text = Path("r.json").read_text()
    shown = done("verify", "r.json", "--key", "steward.pub", "--json").stdout
    assert json.loads(shown) == json.loads(text)
    done(*asked, "--public", "--sign", "steward.key", "-o", "public.json")
    assert cdp.verify("public.json", "steward.pub").digest == ""
    done("account", "r.json", "public.json")  # signed releases are totalled as others are
    plain = {name: value for name, value in json.loads(text).items() if name != "signature"}
    Path("plain.json").write_text(json.dumps(plain))
    assert "the same release" in run("account", "r.json", "plain.json").output
    assert run("verify", "plain.json", "--key", "steward.pub").exit_code == 3
    Path("r.json").write_text(text.replace('"target": 1.0', '"target": 1.5'))
    assert run("verify", "r.json", "--key", "steward.pub").exit_code == 3
    done("ledger", "head", "steps.ledger", "--sign", "steward.key", "-o", "head.json")
    kept = done("verify", "head.json", "--key", "steward.pub", "--ledger", "steps.ledger").output
    assert "1 charge" in kept
    assert "still holds it" in kept
    assert run("ledger", "head", "steps.ledger", "--sign", "steward.key").exit_code == 2
    assert json.loads(done("ledger", "head", "steps.ledger", "--json").stdout)["charges"] == 1
