"""The calibration plot: it declines on few answers, shows what it says, and is the same bytes everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from labkit.learning.calibration import Review, Tally, conclusion
from labkit.ui import calibration_plot, reviewed, theme

SVG = "{http://www.w3.org/2000/svg}"


def band(name: str, answers: int, right: int) -> Tally:
    if answers < 10:
        return Tally(name, answers, right, None)
    return Tally(name, answers, right, 0.2, conclusion(name, answers, right))


FEW = (band("<67", 4, 2), band("67-80", 3, 3), band(">80", 2, 2))
MIXED = (band("<67", 7, 3), band("67-80", 20, 8), band(">80", 31, 28))
LOOK_ALONE = """
import sys
from labkit.ui import calibration_plot, reviewed
from labkit.learning.calibration import Tally
assert not {"altair", "vl_convert"} & set(sys.modules), "drawn by nobody, and imported already"
bands = (Tally("<67", 7, 3, None), Tally("67-80", 20, 8, 0.2, "surer than right"), Tally(">80", 31, 28, 0.2, "no difference shown"))
sys.stdout.write(calibration_plot.as_svg(bands))
"""


@pytest.fixture(scope="module")
def drawn() -> str:
    return calibration_plot.as_svg(MIXED)


def test_nine_answers_are_not_drawn_and_ten_are() -> None:
    assert calibration_plot.as_text(FEW) == "9 of 10 answers: too few to draw"
    assert calibration_plot.as_svg(FEW) == ""
    assert calibration_plot.declined((*FEW[:2], band(">80", 3, 2))) == ""


def test_a_line_a_band_shows_where_it_lies_and_where_it_would() -> None:
    """A cell is 4 per cent: the second dot lies left of its band, the third within."""
    assert calibration_plot.as_text(MIXED).splitlines() == [
        "certainty %  0      right, %       100  right     Brier",
        "<67          ░░░░░░░░░░●░░░░░░········  3 of 7           too few to say",
        "67-80        ··········●······░░░·····  8 of 20   0.20   surer than right",
        ">80          ····················░░●░░  28 of 31  0.20   no difference shown",
        "░ where the dot lies if you are as right as you are sure",
    ]


def test_a_band_without_an_answer_has_no_dot() -> None:
    line = calibration_plot.as_text((*MIXED[:2], band(">80", 0, 0))).splitlines()[3]

    assert line == ">80          ····················░░░░░  0 of 0"


def test_each_mark_stands_at_its_share_with_its_count_and_look(drawn: str) -> None:
    """Measured in the picture: the middle of each mark, in per cent of the square's height."""
    root = ElementTree.fromstring(drawn)
    marks = [one for one in root.iter(f"{SVG}path") if re.match(r"var|#", one.get("fill", ""))][-3:]
    places = [tuple(map(float, re.findall(r"[\d.]+", one.get("transform", "")))) for one in marks]
    side = calibration_plot.SIDE

    assert [round(100 * x / side, 1) for x, _y in places] == [50.0, 73.5, 90.0]
    assert [round(100 - 100 * y / side) for _x, y in places] == [43, 40, 90]
    assert [one.get("fill") for one in marks] == [
        "var(--jp-layout-color0, Canvas)",
        theme.RED,
        theme.GREEN,
    ]
    texts = [text for text in root.itertext() if text]
    assert {"3 of 7", "8 of 20", "28 of 31", "39 of 58 first answers right"} <= set(texts)
    assert "▼ surer than right, ● no difference shown, ○ too few to say" in texts
    assert marks[1].get("d") != marks[2].get("d")  # told apart by shape too


def test_it_reads_in_both_themes_and_aloud_and_fetches_nothing(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)

    assert {text.get("fill") for text in root.iter(f"{SVG}text")} == {"currentColor"}
    assert root.findtext(f"{SVG}title") == calibration_plot.in_words(MIXED)
    assert "67-80 % sure: 8 of 20 answers right, surer than right." in calibration_plot.in_words(MIXED)
    assert root.get("role") == "img"
    rest = re.sub(r'xmlns(:xlink)?="[^"]*"', "", drawn)
    assert not re.search(r"https?:|href|url\(|@import|<script", rest)


def test_a_file_of_its_own_takes_the_screens_theme() -> None:
    file = calibration_plot.as_file(MIXED)

    assert ElementTree.fromstring(file).findtext(f"{SVG}style")
    assert "color-scheme:light dark" in file


def test_another_process_without_fonts_draws_the_same_bytes(drawn: str) -> None:
    """And it imports the plotting libraries only to draw."""
    bare = {**os.environ, "FONTCONFIG_FILE": os.devnull, "HOME": "/nonexistent", "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", LOOK_ALONE], capture_output=True, env=bare, timeout=100)

    assert other.stderr.decode() == ""
    assert other.stdout.decode() == drawn


def test_a_notebook_shows_a_review_with_the_picture_in_it() -> None:
    """Of few answers it says why there is none."""
    overall = Tally("all", 58, 39, 0.2)
    value = Review(overall, MIXED, (), (), (), ("k03_missing_ack",))

    found = reviewed.bundle(value)

    assert "39 of 58 answers right" in found["text/plain"]
    assert calibration_plot.as_svg(MIXED) in found["text/html"]
    assert '<a href="k03_missing_ack.ipynb">' in found["text/html"]
    few = Review(Tally("all", 9, 7, None), FEW, (), (), (), ())
    assert "9 of 10 answers: too few to draw" in reviewed.bundle(few)["text/html"]
    assert "<svg" not in reviewed.bundle(few)["text/html"]
