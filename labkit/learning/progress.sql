-- How far the learner is.  Nothing here is evidence, and nothing here is graded.
CREATE TABLE hints (
    kata            TEXT NOT NULL,
    step            INTEGER NOT NULL CHECK (step >= 1),
    shown_at_ms     INTEGER NOT NULL,
    PRIMARY KEY (kata, step)
) STRICT;

CREATE TABLE checks (
    check_id        INTEGER PRIMARY KEY,
    kata            TEXT NOT NULL,
    answer_digest   TEXT NOT NULL,             -- SHA-256 of the answer's file as it was swept
    passed          INTEGER NOT NULL CHECK (passed IN (0, 1)),
    checked_at_ms   INTEGER NOT NULL
) STRICT;

-- What the rows of the kata's runs gave for each field that was predicted; the last run stands.
CREATE TABLE observed (
    kata            TEXT NOT NULL,
    field           TEXT NOT NULL,
    answer          TEXT NOT NULL,             -- JSON: a number, a boolean or a text
    observed_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (kata, field)
) STRICT;
