"""What people believe who answer wrongly: a closed set, shared by all katas.

Each wrong answer that a `kata.toml` explains may name one of them, so that the same mistake is known
again in another kata.
"""

from __future__ import annotations

BELIEFS = {
    "taken_back": "what comes later takes back a commit",
    "again": "running it again does it again",
    "silence": "what nobody noted did not happen",
    "together": "two stores change in one commit",
    "begun": "what was begun counts before its commit",
    "moment": "one moment or process taken for another",
    "flag": "one record answers other questions too",
    "order": "an order is known again without its key",
    "key": "a known key gets the old receipt, always",
    "change": "a changed order is a new one, key or not",
    "plan": "what was planned is allowed",
    "precedence": "today's rule goes before the record",
    "room": "a new key makes new room",
    "exit_code": "an exit code tells of the effect",
}  # at most 40 characters each: they head the rows of a table
