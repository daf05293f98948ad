"""Signed records: who stands for a release, and that not a digit of it was changed since.

A signature is Ed25519 over ``tag, key id, canonical JSON``, each on a line of its own. The tag says
what is signed (so that no signature of a ledger passes for one of a release), the key id whose key
it is, and the JSON is that of the record without its signature: keys sorted, no blanks, numbers as
short as they can be written, ASCII alone. A key that travels with a file proves nothing: whoever
verifies brings the public key, from a source that they trust.

References
----------
S. Josefsson and I. Liusvaara, "Edwards-Curve Digital Signature Algorithm (EdDSA)", RFC 8032, 2017.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from corrdp._json import added
from corrdp._lazy import need
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.history import canonical, now
from corrdp.results import Result, verb

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from corrdp.ledgers.ledger import Ledger

RELEASE_TAG = "corrdp release 1"
HEAD_TAG = "corrdp ledger head 1"
_OTHERS = 0o077  # what a private key must not let others do


@dataclass(frozen=True)
class Signature(Result):
    """Who signed a record.

    Parameters
    ----------
    tag : str
        What was signed, and by which rule.
    key : str
        The first 32 hexadecimal digits of the SHA-256 of the public key.
    value : str
        The 64 bytes of the signature, as 128 hexadecimal digits.
    """

    tag: str
    key: str
    value: str


class Signable(Result):
    """A result that can be signed; its class has a field ``signature``, and ``tag`` names it."""

    tag: ClassVar[str] = RELEASE_TAG
    signature: Signature | None

    def sign(self, key: str | os.PathLike[str]) -> Self:
        """The same record, signed; :func:`corrdp.verify` tells whether it still is.

        Parameters
        ----------
        key : path
            Of a private key, made by ``corrdp keys new``.

        Examples
        --------
        >>> import tempfile
        >>> import corrdp as cdp
        >>> key, public = make_keys(Path(tempfile.mkdtemp()) / "steward.key")
        >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=4)
        >>> answer = cdp.calibrate(chain, 1.0, query=cdp.Count(1)).release([0, 1, 1, 0])
        >>> signed = answer.sign(key)
        >>> cdp.verify(signed, public).value == answer.value
        True
        >>> cdp.verify(answer, public)
        Traceback (most recent call last):
        ...
        corrdp.errors.RefusedError: the release is not signed
        """
        private = private_key(key)
        # as a file gives it back: 1 and 1.0 are one number to Python and two texts
        record = type(self).from_dict(self.to_dict() | {"signature": None})
        name = key_id(_raw(private.public_key()))
        value = private.sign(_message(_unsigned(record.to_dict()), self.tag, name)).hex()
        signed: Self = replace(record, signature=Signature(self.tag, name, value))  # type: ignore[type-var]
        return signed


@dataclass(frozen=True, repr=False)
class LedgerHead(Signable):
    """Where a ledger stood: what the steward signs so that no charge can be taken back later.

    Parameters
    ----------
    ledger : str
        The id of the ledger.
    charges : int
        How many there were.
    head : str
        The hash of the last of them, which holds those of all before.
    made : str
        When, as an ISO time in UTC.
    signature : Signature or None
    """

    result = "ledger head"
    tag = HEAD_TAG

    ledger: str
    charges: int
    head: str
    made: str
    signature: Signature | None = added()

    def __repr__(self) -> str:
        charges = "1 charge" if self.charges == 1 else f"{self.charges:,} charges"
        lines = [
            f"Head of ledger {self.ledger}: {charges}",
            f"  head         {self.head}",
            f"  made         {self.made}",
        ]
        return "\n".join([*lines, *signed_line(self.signature)])


def signed_line(signature: Signature | None) -> list[str]:
    """The line of a record that says who signed it."""
    return [] if signature is None else [f"  signed       with key {signature.key}"]


def ledger_head(ledger: Ledger) -> LedgerHead:
    """Where a ledger stands, after its whole history was checked; not signed yet.

    Examples
    --------
    >>> import tempfile
    >>> import corrdp as cdp
    >>> ledger = cdp.Ledger.create(Path(tempfile.mkdtemp()) / "a.ledger", budget=1)
    >>> _ = ledger.charge(.3, what="a count")
    >>> ledger_head(ledger).charges
    1
    """
    head = ledger.head
    ledger.check(head)
    number = next((c.number for c in ledger.history() if c.hash == head), 0)
    return LedgerHead(ledger.header.id, number, head, now())


def make_keys(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write a new private key, for its owner alone, and its public key beside it.

    Nothing is ever written over: what was signed with a lost key can be signed by nobody again.

    Parameters
    ----------
    path : path
        Of the private key; the public key has the ending ``.pub``.

    Returns
    -------
    private, public : Path

    Examples
    --------
    >>> import tempfile
    >>> private, public = make_keys(Path(tempfile.mkdtemp()) / "steward.key")
    >>> private.name, oct(private.stat().st_mode & 0o777), public.name
    ('steward.key', '0o600', 'steward.pub')
    """
    need("sign")
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Path(path)
    public = private.with_suffix(".pub")
    if private == public:
        raise InputError(f"{path} is the name of a public key: choose another, such as steward.key")
    for place in (private, public):
        if place.exists():
            raise InputError(f"{place} exists, and no key is written over: choose another name")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    shown = key.public_key().public_bytes(
        forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo
    )
    for place, text, mode in ((private, secret, 0o600), (public, shown, 0o644)):
        _write_new(place, text, mode)
    return private, public


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """A file that was not there before, even if another process makes one meanwhile."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise InputError(f"{path} exists, and no key is written over") from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def public_key_id(path: str | os.PathLike[str]) -> str:
    """The id of a public key in a file, by which a signature names it."""
    return key_id(_raw(_public_key(path)))


def key_id(raw: bytes) -> str:
    """The id of a public key, given as 32 bytes.

    Examples
    --------
    >>> key_id(bytes(32))
    '66687aadf862bd776c8fc18b8e9f8e20'
    """
    return hashlib.sha256(raw).hexdigest()[:32]


def verify(
    record: Any,
    key: str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> Any:
    """Refuse a record that was not signed with a key, or was changed since; else return it.

    Use what is returned: it is what was signed. A file must also be written in the one way that is
    signed: a key that stands twice, or a number with more digits than it needs, is refused, since
    another program might read it in another way.

    Parameters
    ----------
    record : path, dict, Release, Sanitized, LedgerHead or MovesRecord
        The signed record: its file, its JSON, or the record itself.
    key : path
        The public key of whoever is trusted to sign. It must not come from where the record comes
        from.
    ledger : Ledger or path, optional
        With the head of a ledger: the ledger, whose history must still hold it.

    Returns
    -------
    Release, Sanitized, LedgerHead or MovesRecord

    Raises
    ------
    RefusedError
        Where the record is not signed, is signed with another key, or was changed.

    Examples
    --------
    >>> import tempfile
    >>> import corrdp as cdp
    >>> folder = Path(tempfile.mkdtemp())
    >>> key, public = make_keys(folder / "steward.key")
    >>> ledger = cdp.Ledger.create(folder / "a.ledger", budget=1)
    >>> head = ledger.sign_head(key)
    >>> verify(head, public, ledger=ledger).charges
    0
    >>> verify(head.to_dict() | {"charges": 1}, public)
    Traceback (most recent call last):
    ...
    corrdp.errors.RefusedError: the ledger head was changed after it was signed
    """
    trusted = _public_key(key)
    if isinstance(record, Signable):
        record = record.to_dict()
    data = _plain(record) if isinstance(record, dict) else read_strictly(record)
    home = _SIGNABLE.get(str(data.get("result"))) if isinstance(data, dict) else None
    if home is None:
        raise InputError(f"only these are signed: {', '.join(_SIGNABLE)}; this is none of them")
    kind: Any = verb(home)
    _check_signature(data, kind, trusted)
    found = kind.from_dict(data)
    if ledger is not None:
        _check_ledger(found, ledger)
    return found


def _plain(record: dict[Any, Any]) -> Any:
    """As a file would say it: what is returned is made of what is verified."""
    try:
        return json.loads(canonical(record))
    except (TypeError, ValueError, RecursionError):
        raise InputError("the record is no JSON; give the file, or what was read from it") from None


# by their names in files: where each lives, so that only what is verified is imported
_SIGNABLE = {
    "release": "release.number.Release",
    "sanitized series": "release.series.Sanitized",
    "ledger head": "release.signatures.LedgerHead",
    "release of movements": "trajectories.mechanisms.publishing.MovesRecord",
}


def _check_signature(data: dict[str, Any], signed: type[Signable], trusted: Any) -> None:
    from cryptography.exceptions import InvalidSignature

    kind, tag = signed.result, signed.tag
    if data.get("signature") is None:
        raise RefusedError(f"the {kind} is not signed")
    try:
        signature = Signature.from_dict(data["signature"])
    except InputError:
        raise RefusedError(f"the signature of the {kind} was changed: it is none") from None
    if not re.fullmatch("[0-9a-f]{128}", signature.value) or signature.tag != tag:
        raise RefusedError(f"the signature of the {kind} was changed: it is none of {tag!r}")
    if signature.key != (name := key_id(_raw(trusted))):
        raise RefusedError(
            f"the {kind} says that it is signed with key {signature.key}, and the trusted key is "
            f"{name}"
        )
    try:
        message = _message(_unsigned(data), tag, signature.key)
        trusted.verify(bytes.fromhex(signature.value), message)
    except InvalidSignature:
        raise RefusedError(f"the {kind} was changed after it was signed") from None


def _check_ledger(found: Any, ledger: Any) -> None:
    from corrdp.release.charged import open_ledger

    if not isinstance(found, LedgerHead):
        raise InputError("ledger= (--ledger) is for the head of a ledger, not for a release")
    book = open_ledger(ledger)
    if book.header.id != found.ledger:
        raise RefusedError(f"the head is that of ledger {found.ledger}, this is {book.header.id}")
    try:
        book.check(found.head)
    except InputError as error:
        raise RefusedError(f"the ledger no longer holds what was signed: {error}") from None


def _unsigned(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "signature"}


def _message(data: dict[str, Any], tag: str, name: str) -> bytes:
    return f"{tag}\n{name}\n{canonical(data)}".encode()


def read_strictly(path: str | os.PathLike[str]) -> Any:
    """The JSON of a file, where it says everything once and in the one way that is signed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "release.json"
    >>> _ = path.write_text('{"value": 1, "value": 2}')
    >>> read_strictly(path)
    Traceback (most recent call last):
    ...
    corrdp.errors.RefusedError: ...release.json says 'value' twice: it was changed after it was \
signed
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"expected the file of a record or the record, got {type(path).__name__}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise RefusedError(f"{path} says {twice!r} twice: it was changed after it was signed")
        return found

    def short(read: Callable[[str], Any]) -> Callable[[str], Any]:
        def number(text: str) -> Any:
            if repr(value := read(text)) != text:
                raise RefusedError(
                    f"{path} writes a number as {text[:40]}, where {value!r} is what is signed"
                )
            return value

        return number

    def refused(text: str) -> Any:
        raise RefusedError(f"{path} holds {text}, which nobody signed")

    try:
        return json.loads(
            Path(path).read_bytes().decode(),
            object_pairs_hook=once,
            parse_float=short(float),
            parse_int=short(int),
            parse_constant=refused,
        )
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON in UTF-8") from None


def _raw(public: Any) -> bytes:
    raw: bytes = public.public_bytes_raw()
    return raw


def _pem(path: str | os.PathLike[str]) -> bytes:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"key must be the path of a key, got {type(path).__name__}")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the key {path}: {error.strerror or error}") from None


def private_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """The private key of a file that nobody but its owner can read."""
    need("sign")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _pem(path)
    if b"PUBLIC KEY" in text:
        raise InputError(f"{path} is a public key; sign with the private one")
    if os.name != "nt" and os.stat(path).st_mode & _OTHERS:
        raise RefusedError(f"others can read the private key {path}: chmod 600 {path}")
    try:
        key = load_pem_private_key(text, password=None)
    except Exception:  # whatever a damaged file leads to: its text is a secret
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} holds no private Ed25519 key; make one with corrdp keys new")
    return key


def _public_key(path: str | os.PathLike[str]) -> Any:
    need("sign")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    text = _pem(path)
    if b"PRIVATE KEY" in text:
        raise InputError(f"{path} is a private key; verify with the public one, which ends in .pub")
    try:
        key = load_pem_public_key(text)
    except Exception:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path} holds no public Ed25519 key (a .pub file of corrdp keys new)")
    return key
