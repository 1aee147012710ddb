"""One action, one sequence of bytes: RFC 8785 (JSON Canonicalization Scheme) and its SHA-256 digest.

Key order and white space do not survive canonicalisation, so two texts that mean the same order
have one digest; a changed cent gives another.  Source: https://www.rfc-editor.org/rfc/rfc8785
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

import rfc8785

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def canonical_bytes(value: Json) -> bytes:
    """The RFC 8785 bytes of a JSON value.

    Raises:
        rfc8785.CanonicalizationError: for a value that JSON cannot carry exactly.

    >>> canonical_bytes({"b": 1, "a": [True, None]})
    b'{"a":[true,null],"b":1}'
    """
    return rfc8785.dumps(value)


def digest(value: Json) -> str:
    """SHA-256 of the canonical bytes, as 64 lower-case hexadecimal digits.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    try:
        text = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        return hashlib.sha256(canonical_bytes(value)).hexdigest()  # raises the error that names the value
    return _digest_of(text)


@lru_cache(maxsize=4096)
def _digest_of(text: str) -> str:
    """The digest of a JSON text's value.  The same rows are digested again and again by a judge."""
    return hashlib.sha256(canonical_bytes(json.loads(text))).hexdigest()
