"""A workflow's state and its timeline as tables for people."""

from __future__ import annotations

from typing import Any

from labkit.ui.output import print_table


def print_summary(found: dict[str, Any]) -> None:
    """One operation: a row for each thing that one of the three witnesses says."""
    authority, effect, answer = found["authority"], found["effect"], found["disposition"]
    rows = {
        **{name: value for name, value in found.items() if not isinstance(value, dict)},
        "effect": f"{effect['status']} ({effect['source']})",
        "authority": f"{authority['status']} ({authority['reason']})",
        "disposition": f"{answer['answer']} by {answer['actor']}" if answer else None,
    }
    print_table(("", "value"), rows.items(), title=f"{found['workflow_id']}: {found['phase']}")


def print_timeline(key: str, events: list[dict[str, Any]]) -> None:
    """One row an event, in order."""
    rows = ((event["sequence"], event["at_ms"], event["kind"], in_words(event["body"])) for event in events)
    print_table(("#", "at_ms", "event", "what it says"), rows, title=key)


def in_words(body: dict[str, Any]) -> str:
    """An event's content on one line, nested evidence included.

    >>> in_words({"to": "ADMITTED", "evidence": {"because": "a fresh approval"}})
    'to=ADMITTED, because=a fresh approval'
    """
    evidence = body.get("evidence")
    flat = {**body, **evidence} if isinstance(evidence, dict) else body
    return ", ".join(f"{name}={value}" for name, value in flat.items() if name != "evidence")
