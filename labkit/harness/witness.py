"""What a run says of itself, against what was seen of it from outside.

A child announces its crash points itself and kills itself there; an answer that studies the harness
could announce one and die elsewhere, or leave a note while it dies.  Where providers are served from
outside, their server sees each statement in its ledgers, and at each of them the files that the run
has written so far.  So the fault-free run tells what the world looks like at every point, and a kill
that finds it otherwise is none.  Between two commits of its own journal, with no statement of a provider
in between, only the run itself knows how far it is: what such a point looks like is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.harness.crashpoints import WRITING

Claim = tuple[str, str, bool]  # kind, name, whether the provider passed it


@dataclass(frozen=True, slots=True)
class Witness:
    """One run from outside: a look is a digest of the files that the run could write.

    `seen` holds each statement that the providers announced with the look at that time, `let_through`
    counts those that the run then let happen.
    """

    begin: str
    seen: tuple[tuple[str, str], ...]
    let_through: int
    end: str

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Witness:
        """From a message of the launcher's."""
        seen = tuple((verb, look) for verb, look in found["seen"])
        return cls(found["begin"], seen, found["let_through"], found["end"])


def expected(claims: Sequence[Claim], witness: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a job keeps of its fault-free run, empty where nobody looked."""
    return {"claims": [list(claim) for claim in claims], "control": dict(witness)} if witness else {}


def problem_of(kept: Mapping[str, Any]) -> str:
    """What is wrong with the fault-free run's own words, empty where nothing is."""
    if not kept:
        return ""
    claims, control = claims_of(kept), Witness.from_json(kept["control"])
    if [name for _, name, there in claims if there] != [verb for verb, _ in control.seen]:
        return "the run announced other statements of its providers than they carried out"
    for number in range(len(control.seen) + 1):
        before, after = looks_around(control, number)
        if before != after and not commits(segment(claims, number)):
            return "the run's files changed where it announced no commit"
    return ""


def contradiction(kept: Mapping[str, Any], found: Mapping[str, Any] | None, at: int) -> str:
    """Why a run cannot have died at point `at` of the fault-free run, empty where it can."""
    if not kept:
        return ""
    if found is None:
        return "nobody saw the run from outside"
    claims, control = claims_of(kept), Witness.from_json(kept["control"])
    killed = Witness.from_json(found)
    passed = claims[:at]
    there = sum(claim[2] for claim in passed)
    is_theirs = bool(passed) and passed[-1][2]
    if killed.seen != control.seen[:there] or killed.let_through != there - is_theirs:
        return f"its providers were not where point {at} stands"
    allowed = looks_at(claims, control, at)
    return "" if not allowed or killed.end in allowed else f"its files are not as point {at} finds them"


def looks_at(claims: Sequence[Claim], control: Witness, at: int) -> set[str]:
    """How the run's files can look at point `at`; empty where the fault-free run does not tell."""
    passed = claims[:at]
    there = sum(claim[2] for claim in passed)
    if passed and passed[-1][2]:
        return {control.seen[there - 1][1]}
    before, after = looks_around(control, there)
    whole = segment(claims, there)
    begun = sum(1 for claim in passed[last_there(passed) + 1 : -1])
    done, of = commits(whole[:begun]), commits(whole)
    if done == 0:
        return {before}
    return {after} if done == of else set()


def last_there(claims: Sequence[Claim]) -> int:
    """The index of the last point that a provider passed, -1 where there is none."""
    return max((index for index, claim in enumerate(claims) if claim[2]), default=-1)


def segment(claims: Sequence[Claim], number: int) -> list[Claim]:
    """The run's own points between the providers' statements `number` and `number + 1`, counted from 1."""
    found: list[list[Claim]] = [[]]
    for claim in claims:
        if claim[2]:
            found.append([])
        else:
            found[-1].append(claim)
    return found[number]


def looks_around(control: Witness, number: int) -> tuple[str, str]:
    """The looks at both ends of that segment."""
    looks = [control.begin, *(look for _, look in control.seen), control.end]
    return looks[number], looks[number + 1]


def commits(claims: Sequence[Claim]) -> int:
    """How many of these points end a transaction of the run's own, or write without one."""
    count, is_open = 0, False
    for kind, name, _ in claims:
        if kind != "statement":
            continue
        ends = name in ("COMMIT", "END", "RELEASE")
        count += ends or (name in WRITING and not is_open)
        is_open = name in ("BEGIN", "SAVEPOINT") or (is_open and not ends and name != "ROLLBACK")
    return count


def claims_of(kept: Mapping[str, Any]) -> list[Claim]:
    """The fault-free run's points from a job."""
    return [(kind, name, there) for kind, name, there in kept["claims"]]
