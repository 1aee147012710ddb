"""A kata's folder as a value: what it asks, what its wrong answers mean, and who must catch them.

`kata.toml` is read as data and checked field by field; `checks.py` and `scenario.py` are loaded by
path, each under a name of its own.  katas/README.md describes the folder for authors.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.boundaries import Boundary
from labkit.errors import BadKata, UnknownName
from labkit.learning.beliefs import BELIEFS
from labkit.learning.fields import Section
from labkit.learning.places import project_folder

PARTS = {
    1: "One boundary at a time",
    2: "Identity",
    3: "Authority",
    4: "Scarcity and competition",
    5: "More than one effect",
    6: "Proof",
}
SLUG = re.compile(r"k\d\d_[a-z0-9_]+")
FILES = ("kata.toml", "lesson.py", "scenario.py", "checks.py")
KINDS = ("integer", "boolean", "choice")
MOST = 999_999_999  # of a whole number to predict, below or above zero: what JSON carries exactly is larger

Answer = int | bool | str


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to predict.  `choices` is empty unless `kind` is `choice`."""

    name: str
    kind: str
    label: str
    choices: tuple[str, ...] = ()

    def accepts(self, answer: object) -> bool:
        """Whether an answer is of this field's kind.  A boolean is no integer here."""
        if self.kind == "integer":
            return isinstance(answer, int) and not isinstance(answer, bool) and abs(answer) <= MOST
        if self.kind == "boolean":
            return isinstance(answer, bool)
        return answer in self.choices

    @property
    def wanted(self) -> str:
        """What an answer looks like, for people."""
        if self.kind == "choice":
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        return {"integer": "a whole number", "boolean": "True or False"}[self.kind]


@dataclass(frozen=True, slots=True)
class Misconception:
    """Why somebody answers `answer` in `field`, and what is true.  `belief` is a name from BELIEFS, or empty."""

    field: str
    answer: Answer
    because: str
    belief: str = ""


@dataclass(frozen=True, slots=True)
class Kata:
    """One kata, from its folder.  `boundary` is where its kill falls, `exercise` the function to write."""

    folder: Path
    title: str
    part: int
    minutes: int
    points: int
    boundary: str
    exercise: str
    does_not_show: str
    hints: tuple[str, ...]
    fields: tuple[Field, ...]
    misconceptions: tuple[Misconception, ...]
    author: dict[str, Any]

    @property
    def slug(self) -> str:
        """The folder's name, which names the kata everywhere."""
        return self.folder.name

    @property
    def mutants(self) -> tuple[Path, ...]:
        """The wrong answers that ship with it, by name."""
        return tuple(sorted((self.folder / "mutants").glob("*.py")))

    def field(self, name: str) -> Field:
        """The prediction field of this name.  Raises: UnknownName."""
        for field in self.fields:
            if field.name == name:
                return field
        asked = ", ".join(field.name for field in self.fields)
        raise UnknownName(f"kata {self.slug} does not ask for `{name}`", f"it asks for {asked}")

    def misconception(self, field: str, answer: Answer) -> str:
        """The explanation of one wrong answer, empty where the author wrote none."""
        for one in self.misconceptions:
            if one.field == field and one.answer == answer and type(one.answer) is type(answer):
                return one.because
        return ""


def find(name: str, root: Path | None = None) -> Kata:
    """The kata of this name, or of the only name that begins with it (`k03`).

    Raises:
        UnknownName: there is none, or more than one.
        BadKata: its folder is not whole.
    """
    slugs = names(root)
    found = [slug for slug in slugs if slug == name] or [
        slug for slug in slugs if slug.startswith(f"{name}_")
    ]
    if len(found) != 1:
        raise UnknownName(f"kata {name} is not here", f"choose one of {', '.join(slugs) or 'none'}")
    return load((root or project_folder()) / "katas" / found[0])


def names(root: Path | None = None) -> list[str]:
    """The katas of a project, in order."""
    folders = (root or project_folder()).joinpath("katas").iterdir()
    return sorted(path.name for path in folders if path.is_dir() and SLUG.fullmatch(path.name))


def load(folder: Path) -> Kata:
    """Read one kata's folder.

    Raises:
        BadKata: a file is missing, or a field is missing, unknown or of another type.
    """
    for name in FILES:
        if not (folder / name).is_file():
            raise BadKata(f"{folder.name} lacks the file {name}", "write it, or start with `lab author new`")
    top = Section.of_file(folder / "kata.toml")
    fields = _fields(top)
    kata = Kata(
        folder=folder,
        title=top.text("title"),
        part=top.number("part", low=1, high=len(PARTS)),
        minutes=top.number("minutes", low=1, high=60),
        points=top.number("points", low=1, high=100),
        boundary=top.choice("boundary", tuple(boundary.value for boundary in Boundary)),
        exercise=top.text("exercise"),
        does_not_show=top.text("does_not_show"),
        hints=top.texts("hints"),
        fields=fields,
        misconceptions=tuple(_misconception(section, fields) for section in top.sections("misconceptions")),
        author=top.table("author"),
    )
    top.nothing_else()
    _require_sense(kata, top.source)
    return kata


def _require_sense(kata: Kata, source: str) -> None:
    """What no single field can tell.  Raises: BadKata."""
    if not kata.title.endswith("?"):
        raise BadKata(f"{source} field `title` is no question", "end it with a question mark")
    if not kata.exercise.isidentifier():
        raise BadKata(f"{source} field `exercise` is {kata.exercise!r}", "give the name of a function")


def _fields(top: Section) -> tuple[Field, ...]:
    fields = tuple(_field(section) for section in top.sections("fields"))
    names_of = [field.name for field in fields]
    if twice := [name for name in names_of if names_of.count(name) > 1]:
        raise BadKata(f"{top.source} names the field {twice[0]} twice", "rename one")
    return fields


def _field(section: Section) -> Field:
    kind = section.choice("type", KINDS)
    choices = section.texts("choices") if kind == "choice" else ()
    field = Field(section.text("name"), kind, section.text("label"), choices)
    if not field.name.isidentifier() or field.name in ("certainty", "because"):
        raise BadKata(f"{section.source} field `name` is {field.name!r}", "give a free Python name")
    section.nothing_else()
    return field


def _misconception(section: Section, fields: tuple[Field, ...]) -> Misconception:
    names_of = {field.name: field for field in fields}
    field = names_of[section.choice("field", tuple(names_of))]
    answer = section.value("answer")
    if not field.accepts(answer):
        raise BadKata(f"{section.source} field `answer` is {answer!r}", f"give {field.wanted}")
    because, belief = section.text("because"), section.choice_or_none("belief", tuple(BELIEFS))
    section.nothing_else()
    return Misconception(field.name, answer, because, belief)


def load_module(kata: Kata, name: str) -> ModuleType:
    """Execute one of the kata's Python files (`checks`, `scenario`) as a module of its own.

    Raises:
        BadKata: it cannot be imported.
    """
    path = kata.folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"kata_{kata.slug}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadKata(f"{kata.slug}/{name}.py cannot be imported ({error!r})", "mend it") from error
    return module
