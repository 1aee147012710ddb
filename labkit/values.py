"""Frozen values that cross every border: what is asked for, what its owner answers, what is decided.

Money is an integer in minor units (`amount_minor`; USD cents).  Times are integers in milliseconds
(`..._at_ms`); labkit's lower layers never read a clock, so every time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from labkit import canonical
from labkit.actions import LARGEST_EXACT_INTEGER as LARGEST_EXACT_INTEGER
from labkit.actions import NO_CURRENCY as NO_CURRENCY
from labkit.actions import Action as Action
from labkit.actions import BudgetPolicy as BudgetPolicy
from labkit.actions import BudgetSnapshot as BudgetSnapshot
from labkit.actions import Mandate as Mandate
from labkit.actions import is_currency as is_currency
from labkit.actions import is_minor_units as is_minor_units

Progress = Literal["none", "intent", "admitted", "effect_recorded", "complete"]
EffectStatus = Literal["absent", "pending", "committed", "failed_retryable", "failed_exhausted", "unknown"]
AuthorityStatus = Literal["current", "admitted", "expired", "revoked", "consumed_elsewhere"]
DecisionKind = Literal["complete", "execute", "compensate", "reauthorise", "reconcile", "abandon"]
SubmitStatus = Literal[
    "committed",
    "already_committed",
    "key_conflict",
    "stale_epoch",
    "mandate_missing",
    "mandate_revoked",
    "mandate_mismatch",
    "budget_action_limit",
    "budget_currency_limit",
    "budget_currency_unknown",
]
AUTHORITY_REFUSALS = frozenset({"mandate_missing", "mandate_revoked", "mandate_mismatch"})


@dataclass(frozen=True, slots=True)
class Receipt:
    """Evidence of one effect, from the effect's owner.  `digest` covers every other field."""

    ledger: str
    effect_id: int
    operation_id: str | None
    action_digest: str
    kind: str
    subject: str
    amount_minor: int
    currency: str
    epoch: int
    committed_at_ms: int
    digest: str

    @property
    def is_intact(self) -> bool:
        """Whether the fields still have the digest that the owner gave them."""
        return receipt_digest(asdict(self)) == self.digest


def receipt_digest(row: Mapping[str, Any]) -> str:
    """The digest that a receipt with these fields must carry; a `digest` field is left out."""
    return canonical.digest({name: value for name, value in row.items() if name != "digest"})


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """The provider's answer to one submit.  `receipt` is None exactly when the request was refused."""

    status: SubmitStatus
    receipt: Receipt | None = None

    @property
    def replayed(self) -> bool:
        """Whether this is the original receipt of an earlier call."""
        return self.status == "already_committed"


@dataclass(frozen=True, slots=True)
class Reading:
    """A readback: what the effect's owner says of one operation.  It changed nothing."""

    status: EffectStatus
    receipt: Receipt | None
    source: str
    observed_at_ms: int


@dataclass(frozen=True, slots=True)
class Postcondition:
    """The business fact the effect was for, read back independently of any receipt."""

    holds: bool
    statement: str
    source: str
    observed_at_ms: int


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's decision on exact bytes: one use, an expiry (inclusive), one policy version."""

    approval_id: str
    action_digest: str
    subject: str
    subject_revision: int
    actor: str
    policy_version: int
    expires_at_ms: int
    revoked_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """The immutable record that one operation entered under valid authority."""

    operation_id: str
    action_digest: str
    approval_id: str
    policy_version: int
    admitted_at_ms: int


@dataclass(frozen=True, slots=True)
class AuthorityEvidence:
    """What the approver's store says of one operation, and which row says so."""

    status: AuthorityStatus
    reason: str
    policy_version: int
    approval: Approval | None = None
    admission: Admission | None = None
    other_operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What recovery does next, and the row of the decision table that says so."""

    kind: DecisionKind
    because: str


@dataclass(frozen=True, slots=True)
class Operation:
    """The journal's record of one operation: an identity, an exact action, and beliefs about it."""

    operation_id: str
    workflow_id: str
    step: str
    ledger: str
    action: Action
    action_digest: str
    state: str
    approval_id: str | None
    idempotent: bool
    retries: int
    max_retries: int
    checkpointed: bool
    last_observed_status: str | None
    observed_at_ms: int | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Workflow:
    """The journal's record of one workflow.  `version` rises with every claim, and so does `epoch`."""

    workflow_id: str
    code_path: str
    version: int
    epoch: int
    owner: str | None
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class RecoveryReceipt:
    """What one recovery saw, under which authority it acted, and what stays uncertain."""

    workflow_id: str
    version_claimed: int
    epoch: int
    operation_id: str
    action_digest: str
    actor: str
    represented_subject: str
    purpose: str
    authority: str
    approval_id: str | None
    policy_version: int | None
    expires_at_ms: int | None
    readback_source: str
    readback_status: str
    readback_at_ms: int
    decision: DecisionKind
    because: str
    effect_receipt_digest: str | None
    postcondition_holds: bool | None
    remaining_uncertainty: str | None
    uncertainty_owner: str | None
    release_condition: str | None
