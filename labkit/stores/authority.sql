-- The approver's own record: who permitted which bytes, until when, and what has used it.
CREATE TABLE policy_versions (
    version INTEGER PRIMARY KEY,
    at_ms   INTEGER NOT NULL
) STRICT;

-- A subject that never changed has no row and is at revision 0.
CREATE TABLE subject_revisions (
    subject  TEXT NOT NULL,
    revision INTEGER NOT NULL,                 -- rises when the subject changes: consent withdrawn, case closed
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (subject, revision)
) STRICT;

CREATE TABLE approvals (
    approval_id      TEXT PRIMARY KEY,
    action_digest    TEXT NOT NULL,
    subject          TEXT NOT NULL,
    subject_revision INTEGER NOT NULL,
    actor            TEXT NOT NULL,            -- a label for the audit, not authentication
    policy_version   INTEGER NOT NULL,
    expires_at_ms    INTEGER NOT NULL,         -- inclusive
    revoked_at_ms    INTEGER
) STRICT;

-- Immutable: what entered in time may be finished later, whatever expires meanwhile.
CREATE TABLE admissions (
    operation_id   TEXT PRIMARY KEY,
    action_digest  TEXT NOT NULL,
    approval_id    TEXT NOT NULL UNIQUE REFERENCES approvals (approval_id),  -- one use
    policy_version INTEGER NOT NULL,
    admitted_at_ms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER admissions_never_change BEFORE UPDATE ON admissions
BEGIN SELECT RAISE(ABORT, 'admissions are immutable'); END;

CREATE TRIGGER admissions_never_go BEFORE DELETE ON admissions
BEGIN SELECT RAISE(ABORT, 'admissions are immutable'); END;
