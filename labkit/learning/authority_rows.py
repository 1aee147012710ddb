"""What authority stood at a time, from the rows of the provider and of the approver."""

from __future__ import annotations

from labkit.learning.cases import Case
from labkit.observations import Row


def missing_authority(case: Case, at_ms: int, effect: Row | None = None) -> str | None:
    """What authority was missing at a time, for this effect or for the operation as recorded."""
    wanted = effect or case.operation
    if case.policy["mandate_required"]:
        mandates = [row for row in case.rows[case.ledger]["mandates"] if row["subject"] == case.subject]
        standing = [
            row for row in mandates
            if row["granted_at_ms"] <= at_ms and (row["revoked_at_ms"] is None or row["revoked_at_ms"] > at_ms)
        ]  # fmt: skip
        if not standing:
            return "no mandate in force"
        if effect and not any(
            (row["amount_minor"], row["currency"]) == (effect["amount_minor"], effect["currency"])
            for row in standing
        ):
            return "a mandate for another amount or currency"
    if "authority" in case.rows and wanted is not None:
        return _missing_approval(case, wanted, at_ms)
    return None


def _missing_approval(case: Case, wanted: Row, at_ms: int) -> str | None:
    authority = case.rows["authority"]
    operation_id = wanted["operation_id"]
    if operation_id is None and case.operation is not None:  # called without a key: the ledger knows no id
        operation_id = case.operation["operation_id"]
    for admission in authority["admissions"]:
        if admission["operation_id"] == operation_id and admission["admitted_at_ms"] <= at_ms:
            same = admission["action_digest"] == wanted["action_digest"]
            return None if same else "an admission of other bytes"
    used = {row["approval_id"] for row in authority["admissions"]}
    version = max(
        (row["version"] for row in authority["policy_versions"] if row["at_ms"] <= at_ms), default=0
    )
    revisions: dict[str, int] = {}
    for row in authority["subject_revisions"]:
        if row["at_ms"] <= at_ms:
            revisions[row["subject"]] = max(row["revision"], revisions.get(row["subject"], 0))
    for approval in authority["approvals"]:
        revoked = approval["revoked_at_ms"] is not None and approval["revoked_at_ms"] <= at_ms
        if (
            approval["action_digest"] == wanted["action_digest"]
            and approval["expires_at_ms"] >= at_ms
            and approval["policy_version"] == version
            and approval["subject_revision"] == revisions.get(approval["subject"], 0)
            and approval["approval_id"] not in used
            and not revoked
        ):
            return None
    return "no admission and no approval of these bytes in force"
