"""Whether the learner is as right as they are sure, over the first prediction of every kata.

Feedback, never part of a grade.  A prediction's certainty counts for each of its fields.  The Brier
score is the mean of (probability - outcome) squared: 0 is perfect, and an even chance said of
everything scores 0.25 (G. W. Brier, Monthly Weather Review 78, 1950).  Few answers show nothing, so
fewer than ten of a kind get no score.

An answer counts for each belief (`beliefs.py`) that its question would show: the wrong answers that
the kata explains name them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.learning.beliefs import BELIEFS
from labkit.learning.katas import PARTS, Answer, Kata
from labkit.learning.predict import CERTAINTIES, Prediction, Sealed

ENOUGH = 10  # answers; below this nothing is concluded
# A band's limits, and the probability that it is taken for: the middle, and for the lowest an even chance.
BANDS = {"<67": (0.0, 0.67, 0.5), "67-80": (0.67, 0.80, 0.735), ">80": (0.80, 1.0, 0.9)}
Z = 1.96  # a 95 % interval


@dataclass(frozen=True, slots=True)
class Scored:
    """One field of a prediction, its kata's rows known.

    `why` explains a wrong answer and `belief` names what is behind it, each empty where the kata says
    nothing.  `beliefs` are those that some wrong answer to this field shows.
    """

    kata: str
    part: int
    field: str
    label: str
    predicted: Answer
    observed: Answer
    certainty: str
    why: str
    belief: str = ""
    beliefs: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the prediction came true; a boolean and a number are never the same."""
        return _same(self.predicted, self.observed)

    @property
    def error(self) -> float:
        """The squared distance between the probability that was said and what happened, 0 to 1."""
        return (BANDS[self.certainty][2] - self.right) ** 2


@dataclass(frozen=True, slots=True)
class Tally:
    """A group of answers.  `brier` and `says` are None on fewer than `ENOUGH` of them."""

    name: str
    answers: int
    right: int
    brier: float | None
    says: str | None = None


@dataclass(frozen=True, slots=True)
class Group(Tally):
    """The answers of one part of the series, or those that could show one belief, and their bands.

    `believed` counts the answers that showed the belief.
    """

    bands: tuple[Tally, ...] = ()
    believed: int = 0


@dataclass(frozen=True, slots=True)
class Review:
    """What the first predictions show.

    `beliefs` begin with the one that most answers showed, `wrong` and `again` with the surest errors.
    """

    overall: Tally
    bands: tuple[Tally, ...]
    parts: tuple[Group, ...]
    beliefs: tuple[Group, ...]
    wrong: tuple[Scored, ...]
    again: tuple[str, ...]

    @property
    def enough(self) -> bool:
        """Whether there are answers enough to conclude anything."""
        return self.overall.answers >= ENOUGH


def review(
    katas: Sequence[Kata], sealed: Sequence[Sealed], observed: Mapping[str, Mapping[str, Answer]]
) -> Review:
    """Score the first prediction of every kata whose rows are known.  Pure.

    `sealed` is the journal, oldest first; `observed` the rows' answers by kata and field.  A kata is to
    be asked again while its latest prediction has an error; one predicted right since is not.
    """
    first = {one.kata: one for one in reversed(sealed)}
    latest = {one.kata: one for one in sealed}
    scored = [one for kata in katas for one in _scores(kata, first.get(kata.slug), observed)]
    wrong = sorted(
        (one for one in scored if not one.right), key=lambda one: -CERTAINTIES.index(one.certainty)
    )
    open_still = {
        kata.slug
        for kata in katas
        if any(not one.right for one in _scores(kata, latest.get(kata.slug), observed))
    }
    ranked = [*(one.kata for one in wrong), *sorted(open_still)]
    return Review(
        overall=tally("all", scored),
        bands=bands(scored),
        parts=by_part(scored),
        beliefs=by_belief(scored),
        wrong=tuple(wrong),
        again=tuple(slug for slug in dict.fromkeys(ranked) if slug in open_still),
    )


def _scores(kata: Kata, sealed: Sealed | None, observed: Mapping[str, Mapping[str, Answer]]) -> list[Scored]:
    return [] if sealed is None else scores(kata, sealed.prediction, observed.get(kata.slug, {}))


def scores(kata: Kata, prediction: Prediction, true: Mapping[str, Answer]) -> list[Scored]:
    """A prediction's fields beside the rows' answers; what is asked no more, or never ran, is left out."""
    return [
        _scored(kata, field.name, prediction, true[field.name])
        for field in kata.fields
        if field.name in prediction.answers and field.name in true
    ]


def _scored(kata: Kata, field: str, prediction: Prediction, true: Answer) -> Scored:
    answer = prediction.answers[field]
    explained = [one for one in kata.misconceptions if one.field == field]
    shown = [one.belief for one in explained if _same(one.answer, answer)]
    return Scored(
        kata=kata.slug,
        part=kata.part,
        field=field,
        label=kata.field(field).label,
        predicted=answer,
        observed=true,
        certainty=prediction.certainty,
        why=kata.misconception(field, answer),
        belief=shown[0] if shown else "",
        beliefs=tuple(dict.fromkeys(one.belief for one in explained if one.belief)),
    )


def _same(one: Answer, other: Answer) -> bool:
    return type(one) is type(other) and one == other


def by_part(scored: Sequence[Scored]) -> tuple[Group, ...]:
    """The answers by part of the series, in its order."""
    found = []
    for part in sorted({one.part for one in scored}):
        its = [one for one in scored if one.part == part]
        found.append(_group(f"{part} {PARTS[part]}", its))
    return tuple(found)


def by_belief(scored: Sequence[Scored]) -> tuple[Group, ...]:
    """The answers by the belief that their question would show, what was most believed first."""
    found = []
    for belief, sentence in BELIEFS.items():
        if its := [one for one in scored if belief in one.beliefs]:
            found.append(_group(sentence, its, sum(one.belief == belief for one in its)))
    return tuple(sorted(found, key=lambda one: -one.believed))


def _group(name: str, scored: Sequence[Scored], believed: int = 0) -> Group:
    whole = tally(name, scored)
    return Group(name, whole.answers, whole.right, whole.brier, bands=bands(scored), believed=believed)


def bands(scored: Sequence[Scored]) -> tuple[Tally, ...]:
    """The answers by how sure they were, the least sure first."""
    return tuple(tally(band, [one for one in scored if one.certainty == band], band) for band in CERTAINTIES)


def tally(name: str, scored: Sequence[Scored], band: str | None = None) -> Tally:
    """One group's count, and its score and conclusion where there is enough of it."""
    count, right = len(scored), sum(one.right for one in scored)
    if count < ENOUGH:
        return Tally(name, count, right, None)
    brier = sum(one.error for one in scored) / count
    return Tally(name, count, right, brier, None if band is None else conclusion(band, count, right))


def conclusion(band: str, count: int, right: int) -> str:
    """How a band's share of right answers lies to what it claims; chance gets the benefit of the doubt."""
    low, high = wilson(count, right)
    least, most, _probability = BANDS[band]
    if high < least:
        return "surer than right"
    if low > most:
        return "righter than sure"
    return "no difference shown"


def wilson(count: int, right: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, from `count` > 0 answers (J. Am. Stat. Assoc. 22, 1927)."""
    share, spread = right / count, Z * Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return middle - half, middle + half
