"""The fault-free runs, which a sweep makes twice where nothing is known: whether it can be believed that follows them."""

from __future__ import annotations

from typing import Any

from labkit.harness import witness


def problems_of(controls: list[dict[str, Any]]) -> list[str]:
    """What makes the sweep itself unsound, whatever the verdicts say."""
    first, *again = controls
    found = [first["problem"]] if first["problem"] else []
    if first["timed_out"]:
        found.append("the fault-free run passed its deadline")
    elif first["returncode"] != 0 and not found:
        found.append(f"the fault-free run returned {first['returncode']}: {first['last_words']}")
    for second in again:
        found += differences(first, second)
    if not found and (seen := witness.problem_of(first["witness"])):
        found.append(seen)
    if first["unseen"]:
        found.append(f"written by something the sweep cannot see: {', '.join(first['unseen'])}")
    return found


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What tells two fault-free runs apart, which a sweep can only take for chance."""
    if [point["label"] for point in first["points"]] != [point["label"] for point in second["points"]]:
        return ["two fault-free runs took different paths: the handler is not deterministic"]
    if (first["recorded"], first["happened"]) != (second["recorded"], second["happened"]):
        return ["two fault-free runs left different rows: the handler is not deterministic"]
    if first["witness"] != second["witness"]:
        return ["two fault-free runs wrote different bytes: the handler is not deterministic"]
    return []
