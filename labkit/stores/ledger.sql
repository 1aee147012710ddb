-- The provider's own record: the only place that knows whether an effect happened.
CREATE TABLE policy (
    only_row         INTEGER PRIMARY KEY CHECK (only_row = 1),
    name             TEXT NOT NULL,             -- payments, messages, ...
    mandate_required INTEGER NOT NULL,
    max_effects      INTEGER                    -- NULL: no cap on the number of effects
) STRICT;

CREATE TABLE currency_caps (
    currency  TEXT PRIMARY KEY,
    cap_minor INTEGER NOT NULL
) STRICT;

CREATE TABLE mandates (
    mandate_id    INTEGER PRIMARY KEY,
    subject       TEXT NOT NULL,
    amount_minor  INTEGER NOT NULL,
    currency      TEXT NOT NULL,
    granted_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
) STRICT;

CREATE TABLE fences (
    subject       TEXT PRIMARY KEY,
    highest_epoch INTEGER NOT NULL
) STRICT;

CREATE TABLE effects (
    effect_id       INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id    TEXT,                       -- NULL: the caller gave no idempotency key
    action_digest   TEXT NOT NULL,
    kind            TEXT NOT NULL,
    subject         TEXT NOT NULL,
    amount_minor    INTEGER NOT NULL,
    currency        TEXT NOT NULL,
    details         TEXT NOT NULL,              -- canonical JSON
    epoch           INTEGER NOT NULL,
    highest_epoch   INTEGER NOT NULL,           -- the highest granted for the subject before this effect
    committed_at_ms INTEGER NOT NULL,
    receipt_digest  TEXT NOT NULL
) STRICT;

-- Idempotency keys: how long an operation id is remembered is a fact of its own.
CREATE TABLE keys (
    operation_id  TEXT PRIMARY KEY,
    action_digest TEXT NOT NULL,
    effect_id     INTEGER NOT NULL REFERENCES effects (effect_id)
) STRICT;

-- Every submit that reached the provider, also the refused ones.  Evidence; nobody decides by it.
CREATE TABLE invocations (
    invocation_id INTEGER PRIMARY KEY,
    operation_id  TEXT,
    action_digest TEXT NOT NULL,
    subject       TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    status        TEXT NOT NULL,
    at_ms         INTEGER NOT NULL
) STRICT;
