-- The workflow's own record: what it meant to do, how far it believes it came, who moved it last.
CREATE TABLE workflows (
    workflow_id   TEXT PRIMARY KEY,
    code_path     TEXT NOT NULL,               -- which code wrote this history, e.g. charge/1
    version       INTEGER NOT NULL DEFAULT 0,  -- compare-and-swap: rises with every claim
    epoch         INTEGER NOT NULL DEFAULT 0,  -- fencing number: rises with every claim
    owner         TEXT,                        -- NULL: nobody has claimed it yet
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE operations (
    operation_id         TEXT PRIMARY KEY,     -- the idempotency key, chosen before the first execution
    workflow_id          TEXT NOT NULL REFERENCES workflows (workflow_id),
    step                 TEXT NOT NULL,
    ledger               TEXT NOT NULL,        -- whose effect it is
    action               TEXT NOT NULL,        -- canonical JSON
    action_digest        TEXT NOT NULL,
    state                TEXT NOT NULL,
    approval_id          TEXT,
    idempotent           INTEGER NOT NULL DEFAULT 1,  -- 0: the provider takes no key and answers no readback
    retries              INTEGER NOT NULL DEFAULT 0,
    max_retries          INTEGER NOT NULL DEFAULT 3,
    last_observed_status TEXT,                 -- a belief, with its time and source beside it
    observed_at_ms       INTEGER,
    source               TEXT,
    UNIQUE (workflow_id, step)
) STRICT;

CREATE TABLE attempts (
    attempt_id    INTEGER PRIMARY KEY,
    operation_id  TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL,
    outcome       TEXT                         -- NULL: no answer was heard
) STRICT;

CREATE TABLE checkpoints (
    checkpoint_id  INTEGER PRIMARY KEY,
    workflow_id    TEXT NOT NULL,
    step           TEXT NOT NULL,
    operation_id   TEXT NOT NULL,
    effect_id      INTEGER,                    -- NULL: claimed without a receipt
    receipt_digest TEXT,
    at_ms          INTEGER NOT NULL
) STRICT;

CREATE TABLE recovery_receipts (
    recovery_id     INTEGER PRIMARY KEY,
    workflow_id     TEXT NOT NULL,
    version_claimed INTEGER NOT NULL,
    receipt         TEXT NOT NULL,             -- canonical JSON of values.RecoveryReceipt
    digest          TEXT NOT NULL,
    at_ms           INTEGER NOT NULL
) STRICT;

-- Append-only and hash-chained: each event's digest covers the one before it.
CREATE TABLE events (
    sequence        INTEGER PRIMARY KEY AUTOINCREMENT,  -- SQLite remembers the highest, also of a lost tail
    workflow_id     TEXT NOT NULL,
    kind            TEXT NOT NULL,
    body            TEXT NOT NULL,             -- canonical JSON
    at_ms           INTEGER NOT NULL,
    previous_digest TEXT NOT NULL,
    digest          TEXT NOT NULL
) STRICT;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
