"""The crash graph: what was explored is what is drawn, the way to a wrong end stands out, the text has it all."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from labkit.grading.sweeping import Request, sweep
from labkit.harness.pool import Pool
from labkit.harness.workers import mutant_new_key, payment
from labkit.observations import Sweep
from labkit.ui import crash_way, crashgraph, crashmap
from labkit.ui.crashgraph_layout import EDGE, WIDTH, layout
from labkit.ui.crashgraph_values import by_looks, graph_of
from labkit.ui.theme import RED

PAYMENT = f"{payment.__file__}:pay"
NEW_KEY = f"{mutant_new_key.__file__}:resume"
THIRD_TIME = Path(__file__).parents[1] / "harness" / "planted" / "third_time.py"
POINTS = ("boundary", "statement")
EXPLORED = ("right", "wrong", "third_time")

Closure = dict[str, Any]


@pytest.fixture(scope="module")
def right(pool: Pool) -> Sweep:
    return sweep(Request(PAYMENT, resume="resume", points=POINTS, depth="all"), pool)


@pytest.fixture(scope="module")
def wrong(pool: Pool) -> Sweep:
    """It pays again under a new key: one crash is enough."""
    return sweep(Request(PAYMENT, resume=NEW_KEY, points=POINTS, depth="all"), pool)


@pytest.fixture(scope="module")
def third_time(pool: Pool) -> Sweep:
    """Planted: wrong only after several crashes."""
    return sweep(Request(f"{THIRD_TIME}:handler", points=POINTS, depth="all"), pool)


@pytest.fixture
def explored(request: pytest.FixtureRequest) -> Closure:
    """The crash graph of one of the sweeps above."""
    found: Sweep = request.getfixturevalue(request.param)
    assert found.closure is not None
    return found.closure


def drawn(closure: Closure) -> ElementTree.Element:
    return ElementTree.fromstring(crashgraph.svg(closure))


def local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def words(picture: ElementTree.Element, tag: str = "text") -> list[str]:
    return ["".join(one.itertext()) for one in picture.iter() if local(one) == tag]


def test_a_right_handler_shows_every_state_and_no_wrong_one(right: Sweep) -> None:
    """A box a state, an arrow for each pair that a crash or a run connects."""
    assert right.closure is not None
    picture = drawn(right.closure)
    names = [found[1] for text in words(picture) if (found := re.match(r"state (\d+): ", text))]
    pairs = {(edge["from"], edge["to"]) for edge in right.closure["edges"] if edge["from"] != edge["to"]}

    assert sorted(map(int, names)) == [state["id"] for state in right.closure["states"]]
    assert len([one for one in picture.iter() if local(one) == "path" and "C" in one.get("d", "")]) >= len(
        pairs
    )
    assert RED not in crashgraph.svg(right.closure)
    assert "0 wrong ends; closed: no crash leads to a new state" in crashgraph.text(right.closure)


def test_the_way_to_the_wrong_end_is_marked_from_the_start(wrong: Sweep) -> None:
    """In colour and by its width in the picture, in words in the text."""
    assert wrong.closure is not None
    graph = graph_of(wrong.closure)

    assert graph.way[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(graph.way))
    assert graph.way[-1][1] in wrong.closure["bad_finals"]
    thick = [one for one in drawn(wrong.closure).iter() if one.get("stroke-width") == "3"]
    assert {one.get("stroke") for one in thick} == {RED}
    assert len([one for one in thick if local(one) == "path"]) == len(graph.way)
    text = crashgraph.text(wrong.closure)
    assert f"shortest way to a wrong end: {wrong.closure['schedule'][0]}\n" in text
    assert text.count("(on the way to the wrong end)") == len(graph.way)
    assert f"again: {wrong.closure['command']}\n" in text


def test_a_wrong_end_that_needs_several_crashes_is_the_first_thing_to_read(third_time: Sweep) -> None:
    """Every single crash passes, so that only the graph shows it."""
    assert third_time.closure is not None
    assert all(result.passed for result in third_time.results)
    crashes = len(third_time.closure["schedule"])
    end = crash_way.wrong_end(third_time)

    assert crashes > 1
    assert end is not None
    assert end.state.tone == "fail"
    assert [sign.name for sign in end.state.signs] == ["duplicate"]
    first, _, rest = crashmap.text(third_time).partition("\n")
    assert first == f"✗ It goes wrong after {crashes} crashes"
    assert rest.index("Shortest way to a wrong end: a crash before ") < rest.index("First run: ")
    assert end.because in crashmap.html_fragment(third_time)


@pytest.mark.parametrize("explored", EXPLORED, indirect=True)
def test_the_text_holds_every_state_fact_edge_and_label(explored: Closure) -> None:
    """Also those that the picture joins or leaves out."""
    text = crashgraph.text(explored)
    blocks = {
        int(found[1]): block
        for block in text.split("\n\n")[1:]
        if (found := re.match(r"(?:! )?state (\d+): ", block))
    }

    assert sorted(blocks) == [state["id"] for state in explored["states"]]
    for state in explored["states"]:
        block = blocks[state["id"]]
        assert block.startswith("! ") == (state["id"] in explored["bad_finals"])
        assert [
            f"{name}: {value}" for name, value in state["summary"].items() if f"{name}: {value}" not in block
        ] == []
        assert [name for name in (*state["verdicts"], *state["because"]) if name not in block] == []
    for edge in explored["edges"]:
        target = "same state" if edge["from"] == edge["to"] else f"to state {edge['to']}"
        [line] = [one for one in blocks[edge["from"]].splitlines() if re.search(rf": {target}\b", one)]
        labels = edge["points"] if edge["kind"] == "kill" else ["no crash"]
        assert [label for label in labels if label not in line] == []
    assert f"{len(explored['states'])} states, {explored['kills']} kills" in text


@pytest.mark.parametrize("explored", EXPLORED, indirect=True)
def test_the_picture_has_the_text_as_its_title(explored: Closure) -> None:
    """For those who hear it read out."""
    assert words(drawn(explored), "title")[0] == crashgraph.text(explored)


@pytest.mark.parametrize("explored", EXPLORED, indirect=True)
def test_the_order_in_which_runs_ended_does_not_show(explored: Closure) -> None:
    """Kills run side by side; the same graph gives the same bytes."""
    turned = {
        **explored,
        "states": explored["states"][::-1],
        "edges": [{**edge, "points": edge["points"][::-1]} for edge in explored["edges"][::-1]],
    }

    assert crashgraph.svg(turned) == crashgraph.svg(explored)
    assert crashgraph.text(turned) == crashgraph.text(explored)


@pytest.mark.parametrize("explored", EXPLORED, indirect=True)
def test_boxes_keep_apart_and_edges_run_behind_none(explored: Closure) -> None:
    """Within the picture, no box over another, and no passing edge through one."""
    graph = graph_of(explored)
    places = layout(graph, {state.number for state in graph.states})
    boxes = list(places.boxes.values())

    for index, (x, y, height) in enumerate(boxes):
        assert EDGE <= x <= places.width - WIDTH
        assert EDGE <= y <= places.height - height
        for other_x, other_y, other_height in boxes[index + 1 :]:
            assert x != other_x or y + height < other_y or other_y + other_height < y
    for route in places.routes.values():
        for place_x, place_y in route[1:-1]:
            assert not any(x <= place_x <= x + WIDTH and y <= place_y <= y + height for x, y, height in boxes)


def test_many_states_that_look_alike_are_drawn_as_one(wrong: Sweep) -> None:
    """A graph too large for a picture is drawn by its facts; the picture says what is left to the text."""
    assert wrong.closure is not None
    many = grown(wrong.closure, copies=30)
    whole = graph_of(many)
    alike = by_looks(whole)

    assert len(alike.states) == len(by_looks(graph_of(wrong.closure)).states)
    assert sorted(n for state in alike.states for n in state.alike) == [
        s.number for s in whole.states if s.signs
    ]
    assert alike.way[-1][1] in {state.number for state in alike.states if state.is_bad}
    assert (
        len(re.findall(r">states? [\d, -]+: ", crashgraph.svg(many))) <= len(alike.states) * 2
    )  # box and title
    for state in many["states"]:
        assert f"state {state['id']}: " in crashgraph.text(many)


def grown(closure: Closure, copies: int) -> Closure:
    """The graph with copies of a state that differ in nothing that is shown."""
    model = next(state for state in closure["states"] if state["verdicts"] and state["id"])
    first = max(state["id"] for state in closure["states"]) + 1
    more = [{**model, "id": first + n} for n in range(copies)]
    edges = [
        {"from": model["id"], "to": one["id"], "points": [f"{900 + n} X"], "kind": "kill"}
        for n, one in enumerate(more)
    ]
    return {**closure, "states": [*closure["states"], *more], "edges": [*closure["edges"], *edges]}


def test_an_open_graph_does_not_pass_for_a_closed_one(right: Sweep) -> None:
    """No wrong end was found, and none was ruled out: the first line and the sign say so."""
    assert right.closure is not None
    unfinished = replace(right, closure={**right.closure, "closed": False})

    assert crashmap.text(unfinished).startswith("! Still open: ")
    assert "open: new states keep appearing (bound " in crashgraph.text(unfinished.closure or {})


def test_hostile_facts_are_shown_and_not_obeyed(wrong: Sweep) -> None:
    """State names, labels and reasons come from the handler's world."""
    assert wrong.closure is not None
    bad = "<script>alert(1)</script>]]>&\x1b[2J"
    states = [{**one, "summary": {bad: bad}, "because": [bad]} for one in wrong.closure["states"]]
    edges = [
        {**one, "points": [f"{n} {bad}" for n, _ in enumerate(one["points"], 1)]}
        for one in wrong.closure["edges"]
    ]
    spoilt = {**wrong.closure, "states": states, "edges": edges, "schedule": [f"1 {bad}"], "command": bad}

    picture = drawn(spoilt)

    assert {local(one) for one in picture.iter()} <= {"svg", "title", "defs", "g", "rect", "path", "text"}
    assert "<script>alert(1)</script>" in words(picture, "title")[0]
    assert "\x1b" not in crashgraph.text(spoilt) + crashgraph.svg(spoilt)
