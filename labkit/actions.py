"""The exact request, and what permits or caps it: action, mandate, budget.

Checked where it is made: a value that exists is a value that may cross a border.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, Self

from labkit import canonical
from labkit.errors import BadAction, BadOption

LARGEST_EXACT_INTEGER = 2**53 - 1  # RFC 8785 section 3.2.2.3: beyond it JSON numbers lose digits
CURRENCY_CODE = re.compile(r"[A-Z]{3}")
NO_CURRENCY = "XXX"  # ISO 4217: "no currency involved", for effects that move no money


def is_minor_units(value: object) -> bool:
    """Whether a value is an exact, non-negative integer amount.  A bool is not a number here."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_EXACT_INTEGER


def is_currency(value: object) -> bool:
    """Whether a value has the form of an ISO 4217 alphabetic code: three upper-case letters."""
    return isinstance(value, str) and CURRENCY_CODE.fullmatch(value) is not None


def is_text(value: object) -> bool:
    """Whether a value is a string that has a UTF-8 form: JSON can also spell half of a surrogate pair.

    >>> is_text("order-1001"), is_text(chr(0xD800))
    (True, False)
    """
    return isinstance(value, str) and not any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)


@dataclass(frozen=True, slots=True)
class Action:
    """The exact typed request: what one effect is asked to be.

    `subject` is the business object that the effect is about (one order), and what epochs fence.
    `details` holds further text fields as sorted (name, value) pairs.

    >>> Action("charge", "order-1001", 4000, "USD").digest[:12]
    'e214bbab9a1c'
    """

    kind: str
    subject: str
    amount_minor: int = 0
    currency: str = NO_CURRENCY
    details: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("kind", "subject"):
            value = getattr(self, name)
            if not is_text(value) or not value.strip():
                raise BadAction(f"action field `{name}` is {value!r}", "give a non-empty string")
        if not is_minor_units(self.amount_minor):
            raise BadAction(
                f"action field `amount_minor` is {self.amount_minor!r}",
                "give an integer number of minor units (cents) from 0 to 2^53-1, not a float or boolean",
            )
        if not is_currency(self.currency):
            raise BadAction(
                f"action field `currency` is {self.currency!r}", "give an ISO 4217 code such as USD"
            )
        names = [name for name, _ in self.details]
        if not all(map(is_text, sum(self.details, ()))) or names != sorted(set(names)):
            raise BadAction(f"action field `details` is {self.details!r}", "give sorted (name, text) pairs")

    @property
    def as_json(self) -> dict[str, Any]:
        """The JSON object whose canonical bytes are digested and stored."""
        return {**asdict(self), "details": dict(self.details)}

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes."""
        return _digest_of(self)

    @classmethod
    def from_json(cls, value: object, source: str = "action") -> Self:
        """Read an action; `source` names the file in errors.

        Raises:
            BadAction: not an object, a field missing or unknown, or a value of the wrong type.
        """
        if not isinstance(value, Mapping):
            raise BadAction(f"{source} is not a JSON object", "write one action as {...}")
        known = {field.name for field in fields(cls)}
        for name in ("kind", "subject", "amount_minor", "currency"):
            if name not in value:
                raise BadAction(f"{source} lacks the field `{name}`", "add it")
        if unknown := sorted(set(value) - known):
            raise BadAction(
                f"{source} has the unknown field `{unknown[0]}`", f"use only {', '.join(sorted(known))}"
            )
        details = value.get("details", {})
        if not isinstance(details, Mapping) or not all(map(is_text, (*details, *details.values()))):
            raise BadAction(f"{source} field `details` is not an object of strings", 'write {"name": "text"}')
        try:
            return cls(**{**value, "details": tuple(sorted(details.items()))})
        except BadAction as error:
            raise BadAction(f"{source}: {error.message}", error.cure) from None


@lru_cache(maxsize=4096)  # one submit asks for it several times
def _digest_of(action: Action) -> str:
    return canonical.digest(action.as_json)


@dataclass(frozen=True, slots=True)
class Mandate:
    """The provider's standing permission for one subject, amount and currency."""

    subject: str
    amount_minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """Caps fixed when a ledger is initialised.  None means no cap of that kind; zero is a cap.

    `caps_minor` holds (currency, cap) pairs; once any is set, a currency without one is refused.
    """

    max_effects: int | None = None
    caps_minor: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if self.max_effects is not None and not is_minor_units(self.max_effects):
            raise BadOption(
                f"budget `max_effects` is {self.max_effects!r}", "give an integer from 0 to 2^53-1"
            )
        for currency, cap in self.caps_minor:
            if not is_currency(currency):
                raise BadOption(f"budget currency is {currency!r}", "give an ISO 4217 code such as USD")
            if not is_minor_units(cap):
                raise BadOption(f"budget cap for {currency} is {cap!r}", "give minor units from 0 to 2^53-1")
        if len(dict(self.caps_minor)) != len(self.caps_minor):
            raise BadOption("budget caps name a currency twice", "give each currency one cap")

    @property
    def is_capped(self) -> bool:
        """Whether there is any cap at all.  A cap of zero is one."""
        return self.max_effects is not None or bool(self.caps_minor)


@dataclass(frozen=True, slots=True)
class BudgetSnapshot:
    """What committed rows have consumed and what they leave; None where nothing is capped."""

    charged_effects: int
    charged_minor: dict[str, int]
    remaining_effects: int | None
    remaining_minor: dict[str, int]
    deployment_authorized: bool = False
