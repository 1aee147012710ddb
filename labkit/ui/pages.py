"""The templates of pages that stand alone: whatever is put into one is escaped and made visible."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from labkit.ui.signs import visible

TEMPLATES = Path(__file__).with_name("templates")


@cache
def template(name: str) -> jinja2.Template:
    """One of `templates/`, read once in a process."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=jinja2.FileSystemLoader(TEMPLATES),
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
    )  # fmt: skip
    return environment.get_template(name)
