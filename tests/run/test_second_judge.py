"""A second judge, or a second prompt, on a sample of the replies: agreement, and how much the score moves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.commands.analyze import NAMES
from fathom.run import Second, judge_second
from fathom.runfile.judgements import judges, second_judges
from fathom.runfile.settings import JudgeSettings
from fathom.score.judge import Case, get_rubric
from fathom.score.second_prompt import AGAIN, request_first
from fathom.types import FathomError
from judged_runs import Judge, install_tasks, make_run, sample

NUMBER = 120


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], str]], Judge]:
    """Puts a judge in this process, whatever its name."""

    def put(says: Callable[[str], str]) -> Judge:
        judge = Judge(says)
        monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: judge)
        return judge

    return put


def mark(correctness: int) -> str:
    return json.dumps({"fluency": 2, "correctness": correctness})


def by_number(rights: Callable[[int], bool]) -> Callable[[str], str]:
    """A judge that calls the replies to some samples right."""

    def says(prompt: str) -> str:
        number = int(prompt.partition("[sample ")[2].partition("]")[0])
        return mark(3 if rights(number) else 0)

    return says


def judged(folder: Path, asked: Callable[[Callable[[str], str]], Judge]) -> Path:
    """A run of which the first judge calls three in four replies right."""
    run = make_run(folder, [(sample(number), f"It is {number}.") for number in range(NUMBER)])
    asked(by_number(lambda number: number % 4 > 0))
    api.judge([run], "lab/first")
    return run


@pytest.mark.slow
def test_a_known_shift_is_measured_and_the_score_of_the_run_stays(tmp_path: Path, asked: Callable[..., Judge]) -> None:
    run = judged(tmp_path / "run", asked)
    before = api.rows(run)["value"].mean()
    second = asked(by_number(lambda number: number % 4 > 1))  # a quarter of all replies are wrong for it alone
    judge_second(run, "lab/first", Second("lab/second", sample=80), JudgeSettings())
    assert len(second.prompts) == 80
    assert api.rows(run)["value"].mean() == before
    (shift,) = api.analyze_second_judge([run])
    assert (shift.judge, shift.second, shift.replies, shift.failed) == ("lab/first", "lab/second", 80, 0)
    assert shift.interval.low <= -0.25 <= shift.interval.high
    assert shift.shift == pytest.approx(shift.second_mean - shift.first_mean)
    assert shift.p_value < 0.001
    assert shift.kappa is not None
    assert shift.kappa_interval is not None
    assert shift.kappa_interval.low <= 0.45 <= shift.kappa_interval.high  # (.75 - .55) / .45, about
    assert 0.6 < shift.same < 0.9


def test_a_judge_that_agrees_shifts_nothing(tmp_path: Path, asked: Callable[..., Judge]) -> None:
    run = judged(tmp_path / "run", asked)
    judge_second(run, "lab/first", Second("lab/second", sample=30), JudgeSettings())
    (shift,) = api.analyze_second_judge([run])
    assert (shift.shift, shift.same, shift.kappa) == (0.0, 1.0, 1.0)
    assert shift.interval.low < 0 < shift.interval.high


@pytest.mark.slow
def test_the_same_model_is_asked_with_a_second_prompt(tmp_path: Path, asked: Callable[..., Judge]) -> None:
    run = judged(tmp_path / "run", asked)
    judge = asked(by_number(lambda number: True))
    (_, summary) = api.judge([run], "lab/first", second="lab/first", second_sample=20)
    assert (summary.judged, len(judge.prompts)) == (20, 20)
    assert "20 judged by second-prompt:lab/first" in str(summary)
    assert all(prompt.endswith(AGAIN) for prompt in judge.prompts)
    (shift,) = api.analyze_second_judge([run])
    assert shift.second == shift.judge
    assert (judges(run), second_judges(run)) == (("lab/first",), ("second-prompt:lab/first",))


@pytest.mark.slow
def test_a_second_judge_is_compared_only_with_the_first_whose_sample_it_has(
    tmp_path: Path, asked: Callable[..., Judge]
) -> None:
    run = judged(tmp_path / "run", asked)
    asked(by_number(lambda number: number % 2 > 0))
    api.judge([run], "lab/other")
    api.judge([run], "lab/other", second="lab/first", second_sample=30)
    api.judge([run], "lab/first", second="lab/first", second_sample=20)
    assert second_judges(run) == ("second-prompt:lab/first", "second:lab/other then lab/first")
    (own,) = api.analyze_second_judge([run], judge="lab/first")
    (other,) = api.analyze_second_judge([run], judge="lab/other")
    assert (own.judge, own.second, own.replies) == ("lab/first", "lab/first", 20)
    assert (other.judge, other.second, other.replies) == ("lab/other", "lab/first", 30)


@pytest.mark.slow
@pytest.mark.parametrize("study", NAMES)
def test_every_study_runs_from_the_command_line_and_says_what_it_lacks(
    study: str, tmp_path: Path, asked: Callable[..., Judge], call: Call
) -> None:
    run = judged(tmp_path / "run", asked)
    api.judge([run], "lab/first", second="lab/second", second_sample=20)
    code, out, err = call("analyze", study, run)
    assert code in (0, 1, 2), err
    assert "bug in fathom" not in out + err
    if study == "second-judge":
        assert (code, "lab/second" in out) == (0, True)


@pytest.mark.slow
def test_a_sample_is_drawn_by_its_seed_and_a_larger_one_has_the_smaller(
    tmp_path: Path, asked: Callable[..., Judge]
) -> None:
    run = judged(tmp_path / "run", asked)
    judge = asked(by_number(lambda number: True))
    judge_second(run, "lab/first", Second("lab/second", sample=10), JudgeSettings())
    judge_second(run, "lab/first", Second("lab/second", sample=10), JudgeSettings())
    assert len(judge.prompts) == 10
    judge_second(run, "lab/first", Second("lab/second", sample=25), JudgeSettings())
    assert len(judge.prompts) == 25
    judge_second(run, "lab/first", Second("lab/other", sample=10, seed=1), JudgeSettings())
    assert set(judge.prompts[25:]) != set(judge.prompts[:10])


def test_replies_that_cannot_be_judged_are_counted_and_empty_ones_are_not_in_the_shift(
    tmp_path: Path, asked: Callable[..., Judge]
) -> None:
    replies = [(sample(number), f"It is {number}." if number else "") for number in range(20)]
    run = make_run(tmp_path / "run", replies)
    asked(by_number(lambda number: True))
    api.judge([run], "lab/first")
    asked(lambda prompt: "no marks" if "[sample 3]" in prompt else mark(3))
    api.judge([run], "lab/first", second="lab/second")
    (shift,) = api.analyze_second_judge([run])
    assert (shift.replies, shift.failed, shift.shift) == (18, 1, 0.0)


def test_a_run_that_the_first_judge_has_not_judged_is_an_error(tmp_path: Path, asked: Callable[..., Judge]) -> None:
    run = make_run(tmp_path / "run", [(sample(1), "blue")])
    asked(by_number(lambda number: True))
    with pytest.raises(FathomError, match="has judged no reply"):
        judge_second(run, "lab/first", Second("lab/second"), JudgeSettings())


@pytest.mark.parametrize(("second", "why"), [("embed/bge", "no judge of the same kind"), ("none", "no judge is used")])
def test_a_second_judge_that_cannot_judge_is_refused_before_the_first_is_paid(
    second: str, why: str, tmp_path: Path, asked: Callable[..., Judge]
) -> None:
    run = make_run(tmp_path / "run", [(sample(1), "blue")])
    judge = asked(by_number(lambda number: True))
    with pytest.raises(FathomError, match=why):
        api.judge([run], "lab/first", second=second)
    assert not judge.prompts


def test_the_second_prompt_has_all_texts_once_and_the_request_before_them() -> None:
    case = Case("Which <<colour>>?", "It is\n\nblue.", ("blue", "azure"))
    prompt = next(get_rubric("qa").steps(case)).prompt
    other = request_first(prompt)
    assert other != prompt
    for text in ("It is\n\nblue.", "azure", "Which <<colour>>?"):
        assert other.count(text) == prompt.count(text)
    assert other.index("fluency, a whole number") < other.index("azure")
    assert request_first("Nothing quoted.") == "Nothing quoted."


@pytest.mark.slow
def test_a_card_shows_how_much_the_judge_moves_a_score(tmp_path: Path, asked: Callable[..., Judge]) -> None:
    run = judged(tmp_path / "run", asked)
    asked(by_number(lambda number: number % 4 > 1))
    api.judge([run], "lab/first", second="lab/second", second_sample=50)
    made = api.card("lab/m", [run])
    assert [shift.replies for shift in made.shifts] == [50]
    assert "Second judges" in made.markdown()
    assert made.numbers()["second_judges"] == made.shifts
    assert {row.how.judge for row in made.card.rows if row.kind == "measured"} == {"lab/first"}
