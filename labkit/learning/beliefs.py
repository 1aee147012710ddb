"""What people believe who answer wrongly: a closed set, shared by all katas.

Each wrong answer that a `kata.toml` explains may name one of them, so that the same mistake is known
again in another kata.
"""

from __future__ import annotations

BELIEFS = {
    "taken_back": "what comes later takes back what was committed",
    "again": "who runs it again does it again",
    "silence": "what was not noted did not happen",
    "together": "two stores change in one commit",
    "begun": "what was begun counts before its commit",
    "moment": "a later moment, or another process, is meant",
    "flag": "one record answers more questions than its own",
    "order": "the provider knows an order again without its key",
    "key": "a known key gets the old receipt, whatever is asked under it",
    "change": "a changed request is a new order, also under the old key",
    "plan": "what was planned is allowed",
    "precedence": "today's rule is asked before what is recorded",
    "room": "a new key makes new room in an allowance",
    "exit_code": "an exit code says what happened in the world",
}
