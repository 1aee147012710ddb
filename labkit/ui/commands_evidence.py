"""`lab demo`, `lab study`, `lab doctor`: runs that leave evidence, and looking at what was left."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Put these commands on the application."""
