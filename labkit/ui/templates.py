"""Files that new things start from: a kata's skeleton, and the report's page."""

from __future__ import annotations

from importlib import resources

KATA = ("kata.toml", "lesson.py", "scenario.py", "checks.py", "mutants/new_key.py")


def kata(slug: str) -> dict[str, str]:
    """The files of a new kata by name.  They lie beside this module as text, `.txt` added."""
    return {name: read(f"kata/{name}.txt").replace("{{slug}}", slug) for name in KATA}


def read(name: str) -> str:
    """The text of one template."""
    return resources.files("labkit.ui").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")
