-- Where the learner's kill stood last, by kata: a crash point of the answer with these bytes, 0 for no kill.
CREATE TABLE looked_at (
    kata            TEXT PRIMARY KEY,
    answer_digest   TEXT NOT NULL,             -- SHA-256 of the answer's file as it was swept
    crash_point     INTEGER NOT NULL CHECK (crash_point >= 0),
    looked_at_ms    INTEGER NOT NULL
) STRICT;
