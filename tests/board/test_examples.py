"""Example prompts on the pages of tasks.

python tests/board/test_examples.py      # makes the packaged ones again
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fathom.board import examples
from fathom.board.examples import PACKAGED, SHOWN, _to_word
from fathom.suites.registry import boards, tasks


def test_an_example_is_cut_between_words() -> None:
    assert _to_word("The second cof") == "The second"
    assert _to_word("The second ") == "The second"
    without = "\u6c34" * SHOWN
    assert _to_word(without) == without


def made() -> str:
    """The examples of all tasks on boards that generated documents serve."""
    names = dict.fromkeys(task for board in boards().values() for task in board.tasks)
    own = [task for name in names if (task := tasks().get(name)) is not None and task.gold != ("record",)]
    kept = {
        task.name: {"version": task.version, "example": asdict(example) if example else None}
        for task in own
        for example in [examples.made_of_world(task)]
    }
    return json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@pytest.mark.slow
def test_packaged_examples_are_those_that_are_made() -> None:
    assert made() == Path(examples.__file__).with_name(PACKAGED).read_text("utf-8")


def test_an_example_of_another_version_of_a_task_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    name, kept = next((name, kept) for name, kept in examples.packaged().items() if kept["example"])
    assert examples.examples([name]) == {name: examples.Example(**kept["example"])}
    other = replace(tasks()[name], version=kept["version"] + 1)
    monkeypatch.setattr(examples, "tasks", lambda: {name: other})
    monkeypatch.setattr(examples, "made_of_world", lambda task: examples.Example("", "", task.version, "", 0.0))
    assert examples.examples([name])[name].tokens == other.version


if __name__ == "__main__":
    Path(examples.__file__).with_name(PACKAGED).write_text(made(), "utf-8")
