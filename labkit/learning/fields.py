"""Reading a TOML file field by field, so that every fault names the file, the field and the cure."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from labkit.errors import BadKata


class Section:
    """One table of a TOML file.  Each reader takes its field away; `nothing_else` refuses the rest."""

    def __init__(self, source: str, content: dict[str, Any]) -> None:
        self.source = source
        self._left = dict(content)

    @classmethod
    def of_file(cls, path: Path) -> Section:
        """The top table of a file.  Raises: BadKata where it is not TOML."""
        source = f"{path.parent.name}/{path.name}"
        try:
            return cls(source, tomllib.loads(path.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadKata(f"{source} is not TOML ({error})", "mend that line") from None

    def value(self, name: str) -> Any:
        """A field of any type.  Raises: BadKata where it is missing."""
        if name not in self._left:
            raise BadKata(f"{self.source} lacks the field `{name}`", "add it")
        return self._left.pop(name)

    def text(self, name: str) -> str:
        """A non-empty string, its white space folded.  Raises: BadKata."""
        value = self.value(name)
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(name, value, "a non-empty string")
        return " ".join(value.split())

    def texts(self, name: str) -> tuple[str, ...]:
        """A non-empty list of strings.  Raises: BadKata."""
        value = self.value(name)
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
            raise self._wrong(name, value, "a list of strings")
        return tuple(" ".join(one.split()) for one in value)

    def number(self, name: str, low: int, high: int) -> int:
        """A whole number within bounds.  Raises: BadKata."""
        value = self.value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self._wrong(name, value, f"a whole number from {low} to {high}")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of a closed set of strings.  Raises: BadKata."""
        value = self.value(name)
        if value not in choices:
            raise self._wrong(name, value, f"one of {', '.join(choices)}")
        return str(value)

    def choice_or_none(self, name: str, choices: tuple[str, ...]) -> str:
        """The same for a field that may be missing, which is empty then.  Raises: BadKata."""
        return self.choice(name, choices) if name in self._left else ""

    def table(self, name: str) -> dict[str, Any]:
        """A table, unread.  Raises: BadKata."""
        value = self.value(name)
        if not isinstance(value, dict):
            raise self._wrong(name, value, f"a table [{name}]")
        return value

    def sections(self, name: str) -> list[Section]:
        """A non-empty list of tables, each to be read in turn.  Raises: BadKata."""
        value = self.value(name)
        if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
            raise self._wrong(name, value, f"tables [[{name}]]")
        return [Section(f"{self.source} {name} {number}", one) for number, one in enumerate(value, 1)]

    def nothing_else(self) -> None:
        """Refuse what nobody read: a misspelt field must not be a silent default.  Raises: BadKata."""
        if self._left:
            raise BadKata(f"{self.source} has the unknown field `{min(self._left)}`", "remove it")

    def _wrong(self, name: str, value: object, wanted: str) -> BadKata:
        return BadKata(f"{self.source} field `{name}` is {value!r}", f"give {wanted}")
