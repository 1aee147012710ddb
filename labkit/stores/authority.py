"""The approver's store: approvals of exact bytes, policy versions, revocations, admissions.

An approval permits one operation on one digest until it expires.  An admission records that an
operation entered while that was true, and outlives the approval.  No method commits.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from labkit.errors import Conflict, UnknownName
from labkit.stores import sqlite
from labkit.values import Admission, Approval, AuthorityEvidence, AuthorityStatus

SCHEMA = sqlite.Schema("authority", 0x4C4B4131, 1, sqlite.load_sql("authority.sql"))


class Authority:
    """The authority's tables over one open connection."""

    def __init__(self, db: sqlite.StoreConnection) -> None:
        self.db = db

    @classmethod
    def create(cls, path: Path, now_ms: int = 0) -> Authority:
        """A new authority file, at policy version 1.  Raises: OutputInUse, ReadOnly, StoreUnwritable."""

        def fill(db: sqlite.StoreConnection) -> None:
            db.execute("INSERT INTO policy_versions (version, at_ms) VALUES (1, ?)", (now_ms,))

        return cls(sqlite.create(path, SCHEMA, fill))

    @classmethod
    def open(cls, path: Path, busy_timeout_s: float | None = None) -> Authority:
        """An existing authority file.  Raises: BadStore, ReadOnly, StoreLocked."""
        return cls(sqlite.open_store(path, SCHEMA, busy_timeout_s))

    # --- people and policy ------------------------------------------------------------------

    def approve(self, approval: Approval) -> None:
        """Record one decision on exact bytes.

        The same approval again changes nothing.  Raises: Conflict where its id stands for another.
        """
        known = self.db.execute(
            "SELECT * FROM approvals WHERE approval_id = ?", (approval.approval_id,)
        ).fetchone()
        if known is not None:
            if Approval(**dict(known)) != approval:
                raise Conflict(
                    f"approval {approval.approval_id} stands for another decision", "use a new approval id"
                )
            return
        row = asdict(approval)
        self.db.execute(
            f"INSERT INTO approvals ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row
        )

    def revoke(self, approval_id: str, now_ms: int) -> None:
        """Withdraw an approval.  Raises: UnknownName."""
        changed = self.db.execute(
            "UPDATE approvals SET revoked_at_ms = coalesce(revoked_at_ms, ?) WHERE approval_id = ?",
            (now_ms, approval_id),
        )
        if changed.rowcount != 1:
            raise UnknownName(f"approval {approval_id} is not known", "approve first")

    def raise_policy_version(self, now_ms: int) -> int:
        """Move to a new policy version: every approval of an older one is stale."""
        version = self.policy_version() + 1
        self.db.execute("INSERT INTO policy_versions (version, at_ms) VALUES (?, ?)", (version, now_ms))
        return version

    def revise_subject(self, subject: str, now_ms: int) -> int:
        """The subject changed under its approvals (consent withdrawn, case closed): they are stale."""
        revision = self.subject_revision(subject) + 1
        self.db.execute(
            "INSERT INTO subject_revisions (subject, revision, at_ms) VALUES (?, ?, ?)",
            (subject, revision, now_ms),
        )
        return revision

    # --- admission --------------------------------------------------------------------------

    def admit(
        self, operation_id: str, action_digest: str, approval_id: str | None, now_ms: int
    ) -> AuthorityEvidence:
        """Admit the operation if its authority is current, and say what the authority is now.

        The approval is consumed by the same commit.  An operation that was admitted before stays so.

        Raises:
            Conflict: the operation was admitted for another action or under another approval.
        """
        evidence = self.resolve(operation_id, action_digest, approval_id, now_ms)
        if evidence.status != "current" or evidence.approval is None:
            return evidence
        admission = Admission(
            operation_id, action_digest, evidence.approval.approval_id, evidence.policy_version, now_ms
        )
        self.db.execute("INSERT INTO admissions VALUES (?, ?, ?, ?, ?)", tuple(asdict(admission).values()))
        return self.resolve(operation_id, action_digest, approval_id, now_ms)

    def resolve(
        self, operation_id: str, action_digest: str, approval_id: str | None, now_ms: int
    ) -> AuthorityEvidence:
        """What authority this operation has.  Changes nothing.

        Raises:
            Conflict: the operation was admitted for another action or under another approval.
        """
        policy_version = self.policy_version()
        approval = self.approval(approval_id) if approval_id else None
        admission = self.admission(operation_id)
        if admission is not None:
            if admission.action_digest != action_digest or (
                approval_id and admission.approval_id != approval_id
            ):
                raise Conflict(
                    f"operation {operation_id} was admitted for another action or approval",
                    "use a new operation id",
                )
            admitted_under = self.approval(admission.approval_id)
            return AuthorityEvidence("admitted", "admitted_before", policy_version, admitted_under, admission)
        status, reason, other = self._judge(approval, action_digest, now_ms)
        return AuthorityEvidence(status, reason, policy_version, approval, None, other)

    def _judge(
        self, approval: Approval | None, action_digest: str, now_ms: int
    ) -> tuple[AuthorityStatus, str, str | None]:
        if approval is None:
            return "revoked", "approval_missing", None
        other = self.db.execute(
            "SELECT operation_id FROM admissions WHERE approval_id = ?", (approval.approval_id,)
        ).fetchone()
        if other is not None:
            return "consumed_elsewhere", "approval_consumed", str(other["operation_id"])
        if approval.action_digest != action_digest:
            return "revoked", "approval_of_other_bytes", None
        if approval.revoked_at_ms is not None:
            return "revoked", "approval_revoked", None
        if approval.policy_version != self.policy_version():
            return "revoked", "policy_version_moved", None
        if approval.subject_revision != self.subject_revision(approval.subject):
            return "revoked", "subject_moved", None
        if approval.expires_at_ms < now_ms:
            return "expired", "approval_expired", None
        return "current", "approval_current", None

    # --- reading ----------------------------------------------------------------------------

    def approval(self, approval_id: str) -> Approval:
        """One approval.  Raises: UnknownName."""
        row = self.db.execute("SELECT * FROM approvals WHERE approval_id = ?", (approval_id,)).fetchone()
        if row is None:
            raise UnknownName(f"approval {approval_id} is not known", "approve first")
        return Approval(**dict(row))

    def admission(self, operation_id: str) -> Admission | None:
        """The operation's admission, None where it never entered."""
        row = self.db.execute("SELECT * FROM admissions WHERE operation_id = ?", (operation_id,)).fetchone()
        return Admission(**dict(row)) if row else None

    def policy_version(self) -> int:
        """The policy version in force."""
        return int(self.db.execute("SELECT max(version) FROM policy_versions").fetchone()[0])

    def subject_revision(self, subject: str) -> int:
        """How often the subject has changed; 0 for one that never did."""
        row = self.db.execute(
            "SELECT max(revision) FROM subject_revisions WHERE subject = ?", (subject,)
        ).fetchone()
        return int(row[0] or 0)
