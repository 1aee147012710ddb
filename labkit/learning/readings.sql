-- What the learner read from the rows of the runs, after a prediction and before its explanation.
CREATE TABLE readings (
    reading_id      INTEGER PRIMARY KEY,
    prediction_id   INTEGER NOT NULL REFERENCES predictions,
    kata            TEXT NOT NULL,
    answers         TEXT NOT NULL,             -- canonical JSON: an answer by field
    read_at_ms      INTEGER NOT NULL,
    previous_digest TEXT NOT NULL,
    digest          TEXT NOT NULL              -- covers the row and the digest of the one before it
) STRICT;

CREATE TRIGGER readings_never_change BEFORE UPDATE ON readings
BEGIN SELECT RAISE(ABORT, 'readings are append-only'); END;

CREATE TRIGGER readings_never_go BEFORE DELETE ON readings
BEGIN SELECT RAISE(ABORT, 'readings are append-only'); END;
