"""The balanced design, and samples that are drawn by it."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.studio.histories import History
from fathom.studio.quotas import Design, cell_of, design_of, draw, next_drafts, progress, read_design
from fathom.studio.tasks import studio_tasks
from fathom.types import FathomError
from studio_histories import history

SMALL = Design(("T3.2 Single-Hop Fact QA", "own"), ("en", "zh"), (8192, 16384), 2)


def whole(design: Design, rounds: int = 0) -> list[History]:
    """Accepted samples of every combination."""
    cells = design.cells() * (rounds or design.each)
    return [history(f"s{number}", cell, accepted=number + 1) for number, cell in enumerate(cells)]


def test_the_papers_design_has_1500_samples() -> None:
    assert Design().total == 1500
    assert len(Design().cells()) == 300


def test_what_is_missing_of_every_combination() -> None:
    zh, short = ("own", "zh", 8192), ("own", "en", 4096)
    samples = [
        history("a"),
        history("b", state="audited"),
        history("c", state="rejected"),
        history("d", zh, state="expert_review"),
        history("e", short, state="drafted"),
        history("f", ("left", "en", 8192), state="rejected"),
    ]
    cells = {(one.task, one.language, one.bucket): one for one in progress(SMALL, samples)}
    assert sum(one.wanted for one in cells.values()) == SMALL.total
    own = cells["own", "en", 8192]
    assert (own.done, own.missing, own.states) == (2, 0, {"accepted": 1, "audited": 1, "rejected": 1})
    assert (cells[zh].done, cells[zh].under_way, cells[zh].missing, cells[zh].to_begin) == (0, 1, 2, 1)
    assert cells[short].wanted == cells[short].missing == 0
    assert list(cells)[8:] == [short]
    record = own.as_record()
    assert (record["length"], record["done"], record["accepted"], record["drafted"]) == ("8k", 2, 1, 0)


def test_drafts_are_proposed_where_most_is_to_begin_and_a_document_is_there() -> None:
    samples = [history("a", ("own", "en", 8192), state="drafted")]
    documents = {("en", 8192): 3, ("zh", 16384): 1}
    found = next_drafts(progress(SMALL, samples), documents)
    assert [" ".join(one[3:]) for one in found] == [
        "--task T3.2 --language en --bucket 8k --samples 2",
        "--task T3.2 --language zh --bucket 16k --samples 2",
        "--task own --language zh --bucket 16k --samples 2",
        "--task own --language en --bucket 8k --samples 1",
    ]
    assert next_drafts(progress(SMALL, whole(SMALL)), documents) == []


@given(st.lists(st.sampled_from(Design().cells()[:24]), max_size=120), st.integers(1, 9), st.text(max_size=5))
def test_what_is_drawn_stays_drawn_and_is_even(cells: list[tuple[str, str, int]], one_in: int, key: str) -> None:
    samples = [history(f"s{at}", cell, accepted=at + 1) for at, cell in enumerate(cells)]
    drawn = draw(samples, one_in, key)
    mixed = samples.copy()
    Random(0).shuffle(mixed)
    assert draw(mixed, one_in, key) == drawn
    some = len(samples) // 2
    waiting = [history(f"w{at}", cells[0]) for at in range(3)] if cells else []
    assert draw(samples[:some] + waiting, one_in, key) == [one for one in drawn if one.accepted <= some]
    counts = Counter(map(cell_of, drawn))
    for cell, there in Counter(cells).items():
        assert there // one_in <= counts[cell] <= -(-there // one_in), cell


@pytest.mark.slow
@given(st.text(max_size=5))
def test_the_first_samples_of_the_papers_design_are_drawn_evenly(key: str) -> None:
    one_each = draw(whole(Design(), 1), 5, key)
    assert len(one_each) == 60
    assert set(Counter(one.task for one in one_each).values()) <= {2, 3}
    assert set(Counter(one.language for one in one_each).values()) == {30}
    assert set(Counter(one.bucket for one in one_each).values()) == {10}
    assert set(Counter(map(cell_of, draw(whole(Design()), 5, key))).values()) == {1}


def test_each_sample_is_drawn_equally_often() -> None:
    samples = whole(SMALL, 5)
    counts = Counter(one.id for seed in range(2000) for one in draw(samples, 4, str(seed)))
    assert len(counts) == len(samples)
    assert min(counts.values()) > 430  # of 500 expected
    assert max(counts.values()) < 570


def test_a_draw_of_none() -> None:
    assert draw(whole(SMALL), 0, "") == []
    assert draw([history("a", state="revision")], 1, "") == []


def test_a_design_is_read_from_a_file(tmp_path: Path) -> None:
    tasks = studio_tasks(None)
    assert design_of(str(tmp_path), None, tasks) == Design()
    assert design_of("postgresql://x", None, tasks) == Design()
    file = tmp_path / "design.toml"
    file.write_text('tasks = ["T3.2", "T3.2"]\nlanguages = ["en"]\nlengths = ["16k", "8k"]\neach = 3\nhourly = 7\n')
    found = design_of(str(tmp_path), None, tasks)
    assert found == Design(("T3.2 Single-Hop Fact QA",), ("en",), (8192, 16384), 3, hourly=7.0)
    for text, words in (
        ("each = 0", "each is empty or 0"),
        ("languages = []", "languages is empty"),
        ('tasks = ["T99"]', "unknown task"),
        ('lengths = ["long"]', "expected a number of tokens"),
        ("lengths = 5", "lengths: expected a list"),
        ("raters = -1", "raters: expected a whole number"),
        ("eech = 5", "unknown field 'eech'"),
        ("each =", "not valid TOML"),
    ):
        file.write_text(text)
        with pytest.raises(FathomError, match=words) as error:
            read_design(file, tasks)
        assert str(file) in str(error.value) or "unknown task" in str(error.value)
    with pytest.raises(FathomError, match="cannot be read"):
        design_of(str(tmp_path), tmp_path / "none.toml", tasks)
