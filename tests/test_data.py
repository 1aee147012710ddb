"""The retained data are what their README says they are, and the packets still verify."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from datetime import date
from pathlib import Path

import pytest

from labkit.actions import Action
from labkit.harness.verification import verify
from labkit.learning.judge import judge

DATA = Path(__file__).parents[1] / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
PACKETS = {"packets/study-21.json": 21, "packets/budget.json": 15}


RETAINED = ("actions", "packets", "tables")  # examples/ is code: tests run it, and its text may change


def retained() -> dict[str, str]:
    """SHA-256 of every file that is kept as it is."""
    return {
        path.relative_to(DATA).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in RETAINED
        for path in sorted((DATA / folder).rglob("*"))
        if path.is_file()
    }


def test_the_readme_lists_every_file_with_its_digest() -> None:
    listed = dict(re.findall(r"^\| `([\w./-]+)` \| `([0-9a-f]{64})` \|", README, re.MULTILINE))

    assert listed == retained()


@pytest.mark.parametrize(("name", "trials"), PACKETS.items())
def test_a_retained_packet_verifies(name: str, trials: int) -> None:
    found = verify(DATA / name, judge)

    assert found.problems == ()
    assert found.trials == trials


def test_every_retained_packet_is_verified_here() -> None:
    assert {name for name in retained() if name.startswith("packets/")} == set(PACKETS)


def test_the_action_is_one_exact_order() -> None:
    action = Action.from_json(json.loads((DATA / "actions" / "charge.json").read_text(encoding="utf-8")))

    assert (action.kind, action.subject, action.amount_minor, action.currency) == (
        "charge",
        "order-42",
        4000,
        "USD",
    )


def providers() -> list[dict[str, str]]:
    """The rows of the table of providers."""
    with (DATA / "tables" / "providers.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_every_column_of_the_table_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)` \| ", README, re.MULTILINE))

    assert set(providers()[0]) <= described


@pytest.mark.parametrize("row", providers(), ids=lambda row: f"{row['provider']} {row['interface']}")
def test_every_row_has_its_sources_and_the_day_they_were_read(row: dict[str, str]) -> None:
    assert None not in row.values()
    assert row["provider"]
    assert row["interface"]
    assert row["source_url"].split()
    assert all(re.fullmatch(r"https://[\w.-]+/\S+", url) for url in row["source_url"].split())
    assert date.fromisoformat(row["read_on"]).year >= 2025
    claims = set(row) - {"provider", "interface", "key", "source_url", "read_on"}
    assert any(row[name] for name in claims)


UNITS_S = {"min": 60, "h": 3600, "days": 86400}


@pytest.mark.parametrize(
    "row", [row for row in providers() if row["retention"]], ids=lambda row: row["interface"]
)
def test_the_retention_in_seconds_is_the_one_in_words(row: dict[str, str]) -> None:
    number, unit = row["retention"].removeprefix("at least ").split()

    assert int(row["retention_s"]) == int(number) * UNITS_S[unit]


def test_the_table_has_the_providers_of_the_contract() -> None:
    assert [(row["provider"], row["interface"]) for row in providers()] == [
        ("Stripe", "API v1"),
        ("IETF draft 07", "Idempotency-Key header"),
        ("PayPal", "orders v2"),
        ("PayPal", "vault v3"),
        ("PayPal", "payouts"),
        ("PayPal", "payments v2"),
        ("Square", "payments"),
        ("AWS", "EC2"),
        ("Qonto", "API"),
        ("Checkout.com", "payments"),
        ("AWS", "SQS FIFO"),
        ("Apache Kafka", "transactional producer"),
    ]
