-- What has been graded so far: enough to write every result again, byte for byte.
CREATE TABLE marks (
    learner     TEXT NOT NULL,
    kata        TEXT NOT NULL,
    fingerprint TEXT NOT NULL,             -- of the answer, the kata, the variant and the sandbox
    mark        TEXT NOT NULL,             -- canonical JSON
    sweep       TEXT,                      -- the sweep's JSON, NULL where the answer was not run
    PRIMARY KEY (learner, kata)
) STRICT;

-- Marks that another one has replaced, because the answer or the kata is another since.
CREATE TABLE earlier (
    earlier_id  INTEGER PRIMARY KEY,
    learner     TEXT NOT NULL,
    kata        TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    mark        TEXT NOT NULL
) STRICT;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
