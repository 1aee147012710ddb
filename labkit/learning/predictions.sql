-- The learner's own record: what was expected, how surely and why, before anything ran.
CREATE TABLE predictions (
    prediction_id   INTEGER PRIMARY KEY,
    kata            TEXT NOT NULL,
    answers         TEXT NOT NULL,             -- canonical JSON: an answer by field
    certainty       TEXT NOT NULL CHECK (certainty IN ('<67', '67-80', '>80')),
    because         TEXT NOT NULL CHECK (length(trim(because)) > 0),
    sealed_at_ms    INTEGER NOT NULL,
    previous_digest TEXT NOT NULL,
    digest          TEXT NOT NULL              -- covers the row and the digest of the one before it
) STRICT;

CREATE TRIGGER predictions_never_change BEFORE UPDATE ON predictions
BEGIN SELECT RAISE(ABORT, 'predictions are append-only'); END;

CREATE TRIGGER predictions_never_go BEFORE DELETE ON predictions
BEGIN SELECT RAISE(ABORT, 'predictions are append-only'); END;
