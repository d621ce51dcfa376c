"""The demo of the studio: what is in it, that it goes on, and what it refuses."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.studio.auditing import audit
from fathom.studio.demo import DEMO, PEOPLE, open_demo
from fathom.studio.histories import Histories
from fathom.studio.offline import right_answer
from fathom.studio.people import LoginError, People
from fathom.studio.quality import rated_samples, ratings_of, study, to_rate
from fathom.studio.quotas import design_of, progress
from fathom.studio.store import Store
from fathom.studio.tasks import studio_tasks
from fathom.studio.types import STATES, Component, Content, Evidence
from fathom.types import FathomError
from processes import MAIN, start_program

pytest.importorskip("argon2")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Folder and password."""
    place = str(tmp_path_factory.mktemp("demo") / "new" / "store")
    return place, open_demo(place)


@pytest.mark.slow
def test_every_page_has_something_to_show(demo: tuple[str, str]) -> None:
    with closing(Store(demo[0])) as store:
        samples = list(store.samples())
        assert {one.state for one in samples} == set(STATES)
        assert {one.language for one in samples} == {"en", "zh"}
        assert len({one.bucket for one in samples}) == 3
        assert any(len(one.documents) > 1 for one in samples)
        assert any(len(one.content.components) > 1 for one in samples if one.state == "answer_review")
        waiting = Counter(len(one.reviews) for one in samples if one.state == "answer_review")
        assert set(waiting) == {0, 1}
        assert {one.state for one in store.documents()} == {"collected", "available", "excluded"}
        books = {one.closed_book for sample in samples for one in sample.predictions}
        assert books == {False, True}
        assert {one.person for one in store.notes(topic="rating")} == {"dan", "ada"}
        assert {one.person for one in store.log()} == {"operator", *PEOPLE}
        design = design_of(demo[0], None, studio_tasks())
        histories = Histories(store)
        assert all(one.wanted for one in progress(design, histories.all().values()))
        drawn = rated_samples(histories.all().values(), design, histories.start)
        notes = store.notes(topic="rating")
        assert study(drawn, notes, design).complete
        assert to_rate(drawn, ratings_of(drawn, notes, design), design, "ada")


@pytest.mark.slow
def test_everybody_has_something_to_do(demo: tuple[str, str]) -> None:
    with closing(Store(demo[0])) as store:
        for name in ("ann", "ben"):
            mine = store.listed(states=("answer_review", "standardised", "drafted"), waiting_for=name)
            assert {one.state for one in mine} == {"answer_review", "standardised", "drafted"}
        for_eve = store.listed(states=("expert_review", "adjudication"), waiting_for="eve")
        assert {one.state for one in for_eve} == {"expert_review", "adjudication"}


@pytest.mark.slow
def test_a_demo_goes_on_with_another_password(demo: tuple[str, str], tmp_path: Path) -> None:
    place, first = demo
    with closing(Store(place)) as store:
        before = store.counts()
    second = open_demo(place)
    with closing(Store(place)) as store:
        people = People(store)
        assert all(people.log_in(name, second, "here") for name in PEOPLE)
        with pytest.raises(LoginError):
            people.log_in("ann", first, "here")
        assert store.counts() == before
        assert len(store.notes(topic=DEMO)) == 1
        assert audit(store).problems == ()
    assert [one.name for one in Path(place).parent.iterdir()] == ["store"]


@pytest.mark.slow
def test_one_command_opens_it(tmp_path: Path) -> None:
    process = start_program(MAIN, "studio", "serve", "--demo", "--port", "0", cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    accounts, password = (process.stdout.readline().decode() for _ in range(2))
    assert all(f"{name} ({role})" in accounts for name, role in PEOPLE.items())
    said = next(line.decode() for line in process.stderr if b"the studio is at " in line)
    assert said.split()[-1].startswith("http://127.0.0.1:")
    with closing(Store(str(tmp_path / "studio-demo"))) as store:
        assert People(store).log_in("ann", password.split()[-1], "here")


def test_only_demos_and_only_this_machine(call: Call, tmp_path: Path) -> None:
    api.studio_init("other")
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    for words, expected in (
        (("--host", "0.0.0.0"), "for this machine only"),
        (("--host", "studio.example"), "for this machine only"),
        (("--proxy", "127.0.0.1"), "for this machine only"),
        (("--store", "other"), "is not a demo"),
        (("--store", "mine"), "name a folder that does not exist yet"),
        (("--store", "mine/notes.txt"), "name a folder that does not exist yet"),
        (("--store", "postgresql+psycopg://nobody@127.0.0.1:1/none"), "in a folder, not in a database"),
    ):
        code, _, err = call("studio", "serve", "--demo", *words)
        assert code == 2
        assert expected in err, words
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine", "other"]


def test_a_demo_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    def stop(words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_demo(str(tmp_path / "demo"), stop)
    assert list(tmp_path.iterdir()) == []


def test_the_right_answer_of_a_draft() -> None:
    def draft(question: str, quote: str) -> Content:
        return Content(question, (Component("?", (Evidence("d", 0, len(quote), quote),)),))

    words = "How much or how many? “The ledger of 1866 gives ____ reals, “underlined” twice.”"
    letters = f"{words}\nA. 12\nB. 4,440\nC. 21,630\nD. 194"
    quote = "The ledger of 1866 gives\n4,440 reals, “underlined” twice."
    assert right_answer(draft(words, quote)) == "4,440"
    assert right_answer(draft(letters, quote)) == "B"
    assert right_answer(draft("下面句子的空缺处是哪个数字？“____年建成。”", "1613年建成。")) == "1613"
    with pytest.raises(FathomError, match="not drafted by an offline baseline"):
        right_answer(draft("Who?", quote))
