"""A judge is asked for each reply once, whatever happens to it, to its server, or to the process that asks."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Act, ScriptedServer, completion, refusal

from engine_calls import judge
from fathom import api
from fathom.models.protocol import Settings
from fathom.run import JudgePlan, JudgeProgress, JudgeSummary
from fathom.run.cases.session import CaseSession
from fathom.runfile.judgements import (
    FILE,
    JudgementStore,
    case_key,
    judge_name,
    judgements,
    judges,
    replies_by_prompt,
    spent,
)
from fathom.score.judge import Ask, Case, rubrics
from fathom.types import FathomError, Reply
from judged_runs import GOOD, Judge, install_tasks, make_run, sample
from processes import Program, start_program, until

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A judge in this process, whatever its name."""
    there = Judge()
    monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: there)
    return there


def answers(folder: Path, count: int) -> Path:
    return make_run(folder, [(sample(number), f"It is {number}.") for number in range(count)])


def ask(run: Path, model: str = "lab/judge", **settings: object) -> JudgeSummary:
    return judge(run, model, **({"max_connections": 2, "backoff": 0.0} | settings))


def counts(summary: JudgeSummary) -> tuple[int, int, int]:
    return summary.judged, summary.unreadable, summary.missing


# -------------------------------------------------------------------------------------------- what is judged


def test_replies_with_text_of_tasks_with_a_rubric_are_judged_once(tmp_path: Path, here: Judge) -> None:
    run = make_run(
        tmp_path / "run",
        [
            (sample(0), "It is blue."),
            (sample(1, length=0), "It is red."),
            (sample(2), ""),
            (sample(3), "<think>No idea</think>"),
            (sample(4), Reply("incomplete", "It is")),
            (sample(5), Reply("error")),
            (sample(6, "plain"), "It is blue."),
            (sample(7, "of another package"), "It is blue."),
        ],
    )
    assert counts(ask(run)) == (3, 0, 0)
    asked = [number for number in range(8) if any(f"[sample {number}]" in prompt for prompt in here.prompts)]
    assert asked == [0, 1, 4]
    assert counts(ask(run)) == (3, 0, 0)
    assert len(here.prompts) == 3
    found = judgements(run, "lab/judge")
    assert [dict(one.parts) for one in found.values()] == [{"fluency": 1, "correctness": 2}] * 3


def test_runs_are_judged_in_units_of_a_cluster_once_all_are_confirmed(
    tmp_path: Path, here: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, done = [answers(tmp_path / name, 3) for name in ("one", "two")], list[str]()

    def engine(work: Callable[[Any], Any], units: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name in reversed(list(units)):
            done.append(name)
            yield name, work(units[name])

    monkeypatch.setattr("fathom.parallel.on_ray.in_tasks", lambda address: engine)
    said = [True, False]
    refused = api.judge(runs, "lab/judge", engine="ray", backoff=0.0, confirm=lambda plan: said.pop(0))
    assert [one.stopped for one in refused] == ["not confirmed"]
    assert (done, here.prompts) == ([], [])
    judged = api.judge(runs, "lab/judge", engine="ray", backoff=0.0, confirm=lambda plan: True)
    assert [(one.folder.name, *counts(one)) for one in judged] == [("one", 3, 0, 0), ("two", 3, 0, 0)]
    assert done == [str(runs[1]), str(runs[0])]
    assert len(here.prompts) == 6


def test_equal_replies_are_one_case_and_another_reply_is_another(tmp_path: Path, here: Judge) -> None:
    twice = [(sample(0, length=length), "It is blue.") for length in (2048, 4096)]
    run = make_run(tmp_path / "run", [*twice, (sample(1), "It is red.")])
    assert counts(ask(run)) == (3, 0, 0)
    assert len(here.prompts) == 2
    make_run(run, [(sample(1), "It is green.")])
    assert counts(ask(run)) == (3, 0, 0)
    assert len(here.prompts) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"asked": "What?"},
        {"reply": "b"},
        {"references": ("x", "y")},
        {"references": ("xy",)},
        {"references": ()},
        {"language": "zh"},
    ],
)
def test_a_judgement_stands_for_all_that_the_judge_is_shown(change: dict[str, object]) -> None:
    facts: dict[str, object] = {"asked": "Who?", "reply": "a", "references": ("x",), "language": "en"}
    first, second = (Case(**given) for given in (facts, facts | change))  # type: ignore[arg-type]  # of a test
    assert case_key(rubrics()["qa"], first) != case_key(rubrics()["qa"], second)
    assert case_key(rubrics()["qa"], first) != case_key(rubrics()["summary"], first)


def test_shared_steps_are_asked_once(tmp_path: Path, here: Judge) -> None:
    replies = [(sample(number, "summaries"), f"It is {number}.") for number in range(6)]
    plans: list[JudgePlan] = []

    def confirm(plan: JudgePlan) -> bool:
        plans.append(plan)
        return True

    assert counts(ask(make_run(tmp_path / "run", replies), max_connections=6, confirm=confirm)) == (6, 0, 0)
    # Key points of the one reference once; fluency, precision and recall of each summary.
    assert len(here.prompts) == len(set(here.prompts)) == 1 + 3 * 6
    assert here.most_in_flight == 6
    assert (plans[0].requests, plans[0].replies, plans[0].finished) == (19, 6, 0)
    assert plans[0].tokens_in == pytest.approx(sum(map(len, here.prompts)) / 4, rel=0.3)


# -------------------------------------------------------------------------------- judges that fail or differ


def test_an_unreadable_judgement_is_final_until_it_is_asked_again(tmp_path: Path, here: Judge) -> None:
    here.says = lambda prompt: "I cannot say." if "[sample 1]" in prompt else GOOD
    run = answers(tmp_path / "run", 3)
    summary = ask(run)
    assert counts(summary) == (2, 1, 0)
    assert "1 judgement could not be parsed" in " ".join(summary.hints)
    assert len(here.prompts) == 4  # the unreadable reply was asked for twice, as the rubric says
    assert counts(ask(run)) == (2, 1, 0)
    assert len(here.prompts) == 4
    here.says = lambda prompt: GOOD
    assert counts(ask(run, again=True)) == (3, 0, 0)
    assert len(here.prompts) == 5
    assert spent(run, "lab/judge").requests == 5  # what was paid for stays counted
    assert len(replies_by_prompt(run, "lab/judge")) == 3


@pytest.mark.parametrize("status", ["refused", "overflow", "incomplete"])
def test_a_judge_that_gives_no_whole_reply_has_failed(tmp_path: Path, here: Judge, status: str) -> None:
    here.says = lambda prompt: Reply(status, GOOD, error="no, said the server")  # type: ignore[arg-type]  # of a test
    run = answers(tmp_path / "run", 1)
    assert counts(ask(run)) == (0, 1, 0)
    (found,) = judgements(run, "lab/judge").values()
    assert (found.status, dict(found.parts)) == ("unreadable", {})
    assert "no, said the server" in found.detail
    here.says = lambda prompt: GOOD
    assert counts(ask(run, again=True)) == (1, 0, 0)


def test_a_sample_without_references_cannot_be_judged(tmp_path: Path, here: Judge) -> None:
    run = make_run(tmp_path / "run", [(sample(0, references=(" ",)), "It is blue.")])
    assert counts(ask(run)) == (0, 1, 0)
    assert here.prompts == []


def test_whatever_fails_around_one_judgement_is_its_error(
    tmp_path: Path, here: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = CaseSession._reply

    async def odd(session: CaseSession, key: tuple[str, int], ask: Ask) -> Reply:
        if "[sample 1]" in ask.prompt:
            raise ZeroDivisionError("odd")
        return await reply(session, key, ask)

    monkeypatch.setattr(CaseSession, "_reply", odd)
    run = answers(tmp_path / "run", 3)
    assert counts(ask(run)) == (2, 0, 1)
    failed = [one for one in judgements(run, "lab/judge").values() if one.status == "error"]
    assert [one.detail for one in failed] == ["unexpected, please report it: ZeroDivisionError: odd"]


def test_two_judges_share_a_folder(tmp_path: Path, here: Judge) -> None:
    run = answers(tmp_path / "run", 2)
    ask(run)
    ask(run, "lab/other")
    ask(run, temperature=0.5, model_args={"api_key": "sk-1"})
    assert judges(run) == ("lab/judge", "lab/judge temperature=0.5", "lab/other")
    assert len(here.prompts) == 6
    assert b"sk-1" not in (run / FILE).read_bytes()


def test_a_judge_is_named_by_what_shapes_its_replies() -> None:
    settings = Settings(
        "lab/judge", temperature=None, max_output_tokens=9, base_url="http://x/v1",
        generation={"top_p": 0.9, "reasoning_effort": "low"}, model_args={"api_key": "sk-1", "emulate_tools": True},
    )  # fmt: skip
    assert judge_name(settings) == "lab/judge emulate_tools=true reasoning_effort=low temperature=null top_p=0.9"


def test_a_judge_of_itself_is_told(tmp_path: Path, here: Judge) -> None:
    (hint,) = ask(answers(tmp_path / "run", 1), "lab/m").hints
    assert "prefer their own" in hint
    (hint,) = ask(make_run(tmp_path / "plain", [(sample(0, "plain"), "5")])).hints
    assert "no reply of this run needs a judge" in hint


def test_a_failed_judgement_never_replaces_a_good_one(tmp_path: Path) -> None:
    from fathom.runfile.judgements import Judgement

    store = JudgementStore(tmp_path, "lab/judge")
    good, bad = Judgement("ok", {"fluency": 2}), Judgement("unreadable", {}, "what?")
    for one in (bad, good, bad):
        store.finish("key", rubrics()["qa"], one)
    assert store.judgement("key") == good
    store.close()


# ------------------------------------------------------------------------------------------- before and after


def test_nothing_is_sent_or_written_before_it_is_confirmed(tmp_path: Path, here: Judge) -> None:
    run = answers(tmp_path / "run", 2)
    summary = ask(run, confirm=lambda plan: False)
    assert (summary.stopped, counts(summary)) == ("not confirmed", (0, 0, 2))
    assert here.prompts == []
    assert not (run / FILE).exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens_total": 10}, "more than `max_tokens_total` 10; nothing was sent"),
        ({"max_cost": 1.0}, "the price of 'lab/judge' is unknown"),
        ({"model": "openai/gpt-4o-mini", "max_cost": 0.0}, "more than `max_cost`"),
        ({"generation": {"temperature": 1}}, "use `temperature`"),
        ({"max_connections": 0}, "max_connections=0"),
    ],
)
def test_limits_and_settings_are_checked_first(
    tmp_path: Path, here: Judge, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(FathomError, match=message):
        ask(answers(tmp_path / "run", 2), **settings)  # type: ignore[arg-type]  # of a test
    assert here.prompts == []


def test_a_limit_stops_and_keeps_what_came(tmp_path: Path, here: Judge) -> None:
    run = answers(tmp_path / "run", 9)
    here.says = lambda prompt: Reply("ok", GOOD, tokens_in=4000, tokens_out=1000)
    with pytest.raises(FathomError, match=r"judge lab/judge: stopped: [12]\d,000 tokens used.*are kept"):
        ask(run, max_tokens_total=12_000)
    assert 3 <= len(judgements(run, "lab/judge")) <= 4  # those under way are not thrown away
    assert counts(ask(run)) == (9, 0, 0)
    assert len(here.prompts) == 9


def test_tokens_and_cost_are_the_judges_own(tmp_path: Path, here: Judge) -> None:
    run = answers(tmp_path / "run", 4)
    states: list[JudgeProgress] = []
    summary = ask(run, "openai/gpt-4o-mini", progress=states.append)
    assert [state.finished for state in states] == [1, 2, 3, 4]
    assert (summary.spent.requests, summary.spent.tokens_in, summary.spent.tokens_out) == (4, 400, 40)
    assert summary.spent.cost == pytest.approx(4 * (100 * 0.15 + 10 * 0.60) / 1e6)
    assert spent(run, "openai/gpt-4o-mini") == summary.spent
    assert ask(run).spent.cost is None


# ---------------------------------------------------------------------------------------- servers and processes


@pytest.mark.slow
def test_a_server_that_stumbles(tmp_path: Path) -> None:
    def script(number: int, before: int) -> Act:
        if number == 0 and before == 0:
            return refusal(500, "oops")
        if number == 1:
            return refusal(500, "oops")
        return completion("Hm.") if number == 2 else completion(f"Well.\n{GOOD}", tokens_in=70, tokens_out=7)

    run = answers(tmp_path / "run", 6)
    with ScriptedServer(script) as server:
        settings = {"model_base_url": server.base_url, "retries": 1}
        summary = ask(run, "openai/scripted", **settings)
        assert counts(summary) == (4, 1, 1)
        assert "1 request failed" in " ".join(summary.hints)
        assert server.prompts == {0: 2, 1: 2, 2: 2, 3: 1, 4: 1, 5: 1}
        server.script = lambda number, before: completion(GOOD)
        assert counts(ask(run, "openai/scripted", **settings)) == (5, 1, 0)
        assert server.prompts == {0: 2, 1: 3, 2: 2, 3: 1, 4: 1, 5: 1}
        assert {request["temperature"] for request in server.requests} == {0.0}
        assert {request["max_tokens"] for request in server.requests} == {1024}


@pytest.mark.slow
def test_a_server_that_goes_away_in_the_middle(tmp_path: Path) -> None:
    run = answers(tmp_path / "run", 40)
    with ExitStack() as life:
        first = life.enter_context(ScriptedServer(lambda number, before: completion(GOOD)))

        def end_it(state: JudgeProgress) -> None:
            if state.finished == 20:
                life.close()

        with pytest.raises(FathomError, match=r"judge openai/scripted: the server does not answer.*`judge_base_url`"):
            ask(run, "openai/scripted", model_base_url=first.base_url, retries=1, progress=end_it)
    done = set(first.answered)
    assert len(judgements(run, "openai/scripted")) >= 20
    assert len(done) <= 22
    with ScriptedServer(lambda number, before: completion(GOOD)) as second:
        assert counts(ask(run, "openai/scripted", model_base_url=second.base_url)) == (40, 0, 0)
    assert set(second.prompts) == set(range(40)) - done
    assert set(second.prompts.values()) == {1}


PROGRAM = """
import json, os, sys, urllib.request
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from typing import Any
from fathom.models import baselines
from fathom.run import judge
from fathom.runfile.settings import JudgeSettings
from fathom.suites import registry
from judged_runs import TASKS
registry.tasks = lambda: TASKS
def read(prompt, answer, rng, form):
    body = json.dumps({"messages": [{"content": prompt}]}).encode()
    with urllib.request.urlopen(sys.argv[2] + "/chat/completions", body) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
baselines.get_baseline = lambda name: read
judge(Path(sys.argv[1]), "fathom/ask", JudgeSettings(max_connections=4))
"""


def start(run: Path, server: ScriptedServer) -> Program:
    here = str(Path(__file__).parents[1])
    return start_program(PROGRAM, run, server.base_url, here)


@pytest.fixture
def slow() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda number, before: Act(body=completion(GOOD).body, delay=0.02)) as server:
        yield server


@pytest.mark.slow
def test_kill_9_judges_nothing_twice(tmp_path: Path, slow: ScriptedServer) -> None:
    run = answers(tmp_path / "run", 60)
    process = start(run, slow)
    until(lambda: sum(slow.answered.values()) >= 20, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = len(judgements(run, "fathom/ask"))
    assert 15 <= done < 60
    process = start(run, slow)
    assert process.communicate()[1] == b""
    assert {one.status for one in judgements(run, "fathom/ask").values()} == {"ok"}
    assert len(judgements(run, "fathom/ask")) == 60
    assert sum(slow.prompts.values()) <= 60 + 1  # a reader asks one at a time: that one was under way


@pytest.mark.slow
def test_two_processes_at_once(tmp_path: Path, slow: ScriptedServer) -> None:
    run = answers(tmp_path / "run", 60)
    both = [start(run, slow) for _ in range(2)]
    errors = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    assert len(judgements(run, "fathom/ask")) == 60
    assert sum(slow.prompts.values()) < 90  # not everything twice


def test_ctrl_c_keeps_judgements_and_says_how_to_go_on(tmp_path: Path, here: Judge) -> None:
    run = answers(tmp_path / "run", 20)

    def interrupt(state: JudgeProgress) -> None:
        if state.finished == 10:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(FathomError, match=r"interrupted.*Run the same command again"):
        ask(run, progress=interrupt)
    assert len(judgements(run, "lab/judge")) >= 10
    assert counts(ask(run)) == (20, 0, 0)
    assert len(here.prompts) <= 22


def test_a_damaged_store_is_named(tmp_path: Path, here: Judge) -> None:
    run = answers(tmp_path / "run", 1)
    (run / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(FathomError, match=rf"{FILE} is damaged"):
        ask(run)
