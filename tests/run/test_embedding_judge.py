"""A model of embeddings judges summaries: its own tasks, once each, whatever happens to it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from embedding_server import EmbeddingServer, give

from engine_calls import judge
from fathom.models.embedding import Floats
from fathom.models.embedding_judge import EmbeddingClient, judge_kind, open_embedding_client
from fathom.models.protocol import Call, Settings
from fathom.rows import load, rows_from_run
from fathom.run import JudgePlan, JudgeSummary, check_judge
from fathom.runfile.judgements import judgements, judges
from fathom.score.judge import Case, UnreadableError, rubrics
from fathom.types import FathomError, Reply
from judged_runs import GOOD, Judge, install_tasks, make_run, sample
from processes import Program, start_program, until

NAME = "embed/tiny"
REFERENCES = ("The tower is old.", "An old tower.")


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def at_angle(text: str) -> list[float]:
    """References point to the right, a summary as many degrees away from them as it says."""
    degrees = float(next((word[1:] for word in text.split() if word.startswith("@")), 0))
    return [3 * float(np.cos(np.radians(degrees))), 3 * float(np.sin(np.radians(degrees)))]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(at_angle) as server:
        yield server


def summaries(folder: Path, *replies: str | Reply) -> Path:
    return make_run(folder, [(sample(at, "abstracts", references=REFERENCES), one) for at, one in enumerate(replies)])


def ask(run: Path, server: EmbeddingServer, model: str = NAME, **settings: Any) -> JudgeSummary:
    about: dict[str, Any] = {"model_base_url": server.url, "max_connections": 2, "backoff": 0.0, "retries": 2}
    return judge(run, model, **(about | settings))


def counts(summary: JudgeSummary) -> tuple[int, int, int]:
    return summary.judged, summary.unreadable, summary.missing


def scores(run: Path, rule: str = "strict", judge: str | None = None) -> list[Any]:
    return load([run], rule, judge).sort("sample")["value"].to_list()


# ----------------------------------------------------------------------------------------------------- scores


@pytest.mark.slow
def test_half_the_cosine_and_half_rouge(tmp_path: Path, server: EmbeddingServer) -> None:
    run = summaries(tmp_path / "run", "Stones @60", "@80 thoughts [Answer]\nthe tower is old. @0", "x [Answer]")
    summary = ask(run, server)
    assert counts(summary) == (3, 0, 0)
    assert summary.spent.tokens_in == sum(len(text) for texts in server.asked for text in texts)
    assert summary.spent.tokens_out == 0
    assert set(server.models) == {"tiny"}
    # Each text of a request once, folded as the released code folds it; the references once.
    assert sorted(len(texts) for texts in server.asked) == [3, 3, 4]
    assert {text for texts in server.asked for text in texts} >= {"stones @60", "the tower is old.", "an old tower."}
    first, second, third = (dict(one.parts) for one in judgements(run, NAME).values())
    by_angle = sorted((first, second, third), key=lambda parts: parts["similarity_strict"])
    nothing, far, near = by_angle
    assert (nothing["similarity_strict"], nothing["rouge_strict"]) == (0, 0)
    assert (far["similarity_official"], far["similarity_strict"]) == pytest.approx((0.5, 0.5))
    assert (near["similarity_official"], near["similarity_strict"]) == pytest.approx((np.cos(np.radians(80)), 1.0))
    assert near["rouge_official"] < near["rouge_strict"]
    strict, official = rows_from_run(run).sort("sample"), scores(run, "official")
    assert strict["value"].to_list() == pytest.approx([0.25, 0.5 + near["rouge_strict"] / 2, 0])
    assert official[:2] == pytest.approx([0.25, (np.cos(np.radians(80)) + near["rouge_official"]) / 2])
    assert set(strict["grader"]) == {"judge embed/tiny (similarity v1)"}
    assert set(strict["metric"]) == {"judge_similarity"}


@pytest.mark.parametrize(
    ("similarity", "rouge", "official", "strict"),
    [(0.8, 0.5, 0.65, 0.65), (-0.2, 0.1, 0.0, 0.05), (-0.2, 0.4, 0.1, 0.2), (1.0005, 1.0, 0.0, 1.0), (1, 1, 1, 1)],
)
def test_what_points_away_and_what_is_rounded(similarity: float, rouge: float, official: float, strict: float) -> None:
    parts = {f"{name}_{rule}": value for rule in ("official", "strict") for name, value in
             (("similarity", similarity), ("rouge", rouge))}  # fmt: skip
    found = [rubrics()["similarity"].value(parts, rule) for rule in ("official", "strict")]
    assert found == pytest.approx([official, strict])


HUGE = "1" + "0" * 400


@pytest.mark.parametrize("listed", ["", "2", "NaN", '"1"', "Infinity", "null", "[0.5]", HUGE, f"-{HUGE}"])
@pytest.mark.parametrize("reply", ['{{"cosines": [{}]}}', "[{}]", "{{}}{}", "{}", "[[[[{}"])
def test_cosines_that_cannot_be_are_not_read(reply: str, listed: str) -> None:
    steps = rubrics()["similarity"].steps(Case("Sum up.", "It is old.", REFERENCES))
    assert json.loads(next(steps).prompt)["summaries"] == ["it is old."]
    with pytest.raises(UnreadableError, match="expected 1 cosines"):
        steps.send(reply.format(listed))


def compare(client: EmbeddingClient, **texts: list[str]) -> list[float]:
    async def once() -> Reply:
        try:
            return await client.complete(json.dumps(texts), Call("a", 1, 0, 0))
        finally:
            await client.close()

    return list(json.loads(asyncio.run(once()).text)["cosines"])


def test_no_direction_is_like_nothing_and_half_letters_are_sent(server: EmbeddingServer) -> None:
    server.embed = lambda text: [0.0, 0.0] if text == "nothing" else at_angle(text)
    client = open_embedding_client(Settings(NAME, base_url=server.url))
    assert compare(client, summaries=["nothing", "@180", "\ud800"], references=["a", "b"]) == pytest.approx([0, -1, 1])
    assert server.asked == [["nothing", "@180", "?", "a", "b"]]


def test_long_replies_are_cut_and_that_is_told_once(
    tmp_path: Path, server: EmbeddingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run = summaries(tmp_path / "run", *(f"{number} {'long ' * 9000}" for number in range(3)))
    assert counts(ask(run, server)) == (3, 0, 0)
    assert {max(map(len, texts)) for texts in server.asked} == {32_000}
    assert capsys.readouterr().err.count("1 of 3 texts were truncated to 32,000 characters") == 1


# ------------------------------------------------------------------------------------------- two kinds of judges


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A judge that chats, in this process."""
    there = Judge()
    monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: there)
    return there


def mixed(folder: Path) -> Path:
    run = make_run(folder, [(sample(0), "It is blue."), (sample(1), "red")])
    return summaries(run, "old @60")


def test_each_kind_of_judge_has_tasks_of_its_own(tmp_path: Path, server: EmbeddingServer, chat: Judge) -> None:
    run, plans = mixed(tmp_path / "run"), list[JudgePlan]()

    def confirm(plan: JudgePlan) -> bool:
        plans.append(plan)
        return True

    summary = ask(run, server, confirm=confirm)
    assert counts(summary) == (1, 0, 0)
    assert "2 replies were skipped, for chat models" in " ".join(summary.hints)
    assert (plans[0].replies, plans[0].requests, plans[0].tokens_out) == (1, 1, 0)
    assert chat.prompts == []
    without = rows_from_run(run).sort("sample")
    assert without["grader"].to_list() == ["judge embed/tiny (similarity v1)", "equal", "equal"]
    summary = judge(run, "lab/judge", confirm=confirm)
    assert counts(summary) == (2, 0, 0)
    assert "1 reply was skipped, for embedding models" in " ".join(summary.hints)
    assert (plans[1].replies, plans[1].requests) == (2, 2)
    assert len(server.asked) == 1
    both = ["judge embed/tiny (similarity v1)", *["judge lab/judge (qa v1)"] * 2]
    for named in (None, "lab/judge", NAME, f"{NAME}, lab/judge"):
        assert load([run], judge=named).sort("sample")["grader"].to_list() == both
    assert load([run], judge="none").sort("sample")["grader"].to_list() == ["equal"] * 3
    assert scores(run, "official", "none")[0] is not None


def test_several_judges_of_a_kind_must_be_told_apart(tmp_path: Path, server: EmbeddingServer, chat: Judge) -> None:
    run = mixed(tmp_path / "run")
    for name in (NAME, "embed/other"):
        ask(run, server, name)
    judge(run, "lab/judge")
    assert judges(run) == ("embed/other", NAME, "lab/judge")
    with pytest.raises(FathomError, match="judged by embed/other, embed/tiny: choose one with `judge`"):
        rows_from_run(run)
    with pytest.raises(FathomError, match="beside lab/judge, with a comma between them"):
        rows_from_run(run, judge="lab/judge")
    with pytest.raises(FathomError, match=r"`judge` embed/third: .* judged by embed/other, embed/tiny; choose one"):
        rows_from_run(run, judge="embed/third")
    for named in ("embed/other", "lab/judge,embed/other"):
        assert "judge embed/other (similarity v1)" in set(rows_from_run(run, judge=named)["grader"])
    with pytest.raises(FathomError, match="two judges of one kind"):
        rows_from_run(run, judge="embed/other, lab/judge, embed/tiny")


def test_a_judge_of_the_wrong_kind_is_told_which_is_needed(tmp_path: Path, server: EmbeddingServer) -> None:
    run = summaries(tmp_path / "run", "old")
    with pytest.raises(
        FathomError, match=r"judge lab/judge: this run has no replies for .*1 replies need embedding models"
    ):
        judge(run, "lab/judge")
    chatty = make_run(tmp_path / "chatty", [(sample(0), "blue")])
    with pytest.raises(
        FathomError, match=r"judge embed/tiny: this run has no replies for .*1 replies need chat models"
    ):
        ask(chatty, server)
    assert server.asked == []


def test_only_the_papers_model_gives_the_papers_scores(tmp_path: Path, server: EmbeddingServer) -> None:
    run = summaries(tmp_path / "run", "old")
    assert "not the scores of LongBench Pro's paper" in " ".join(ask(run, server).hints)
    assert ask(run, server, "embed/Qwen/Qwen3-Embedding-8B").hints == ()


def test_a_score_beyond_1_counts_as_0(tmp_path: Path) -> None:
    twice = ("a", "a", "b")
    run = make_run(tmp_path / "run", [(sample(0, "orders", references=twice), "a\nb")])
    row = load([run], "official").row(0, named=True)
    assert (row["value"], row["detail"]) == (0.0, "the official metric gives 2, which counts as 0")


# ------------------------------------------------------------------------------------------------------ faults


def test_a_server_that_stumbles_is_asked_again(tmp_path: Path, server: EmbeddingServer) -> None:
    server.script = [500, 429]
    run = summaries(tmp_path / "run", "one", "two")
    assert counts(ask(run, server, max_connections=1)) == (2, 0, 0)
    assert len(server.keys) == 4


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (give([1.0, 0.0]), "1 vectors for 3 texts"),
        (give([1.0], [1.0, 0.0], [1.0]), "dimensions"),
        (give([1.0, float("nan")], [1.0, 0.0], [1.0, 0.0]), "finite numbers"),
        (give([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]), "has no direction"),
        (give([], [], []), "has no direction"),
        (give([1e200, 1e200], [1e200, 1e200], [1e200, 1e200]), "has no direction"),
        (400, "not now"),
    ],
)
def test_what_cannot_be_used_is_missing_and_asked_again(
    tmp_path: Path, server: EmbeddingServer, act: object, complaint: str
) -> None:
    run = summaries(tmp_path / "run", "one", "two")
    server.script = [200, act]
    assert counts(ask(run, server, max_connections=1)) == (1, 0, 1)
    details = " ".join(load([run])["detail"])
    assert "not judged yet" in details
    assert complaint in details
    asked = len(server.asked)
    assert counts(ask(run, server)) == (2, 0, 0)
    assert len(server.asked) == asked + 1
    assert scores(run) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_denies_ends_it(tmp_path: Path, server: EmbeddingServer, status: int) -> None:
    server.script = [status] * 9
    with pytest.raises(FathomError, match="judge embed/tiny: the server denies the requests"):
        ask(summaries(tmp_path / "run", "one", "two", "three"), server)


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    with EmbeddingServer() as gone:
        pass
    with pytest.raises(FathomError, match=r"judge embed/tiny: (the server does not answer|no request was answered)"):
        ask(summaries(tmp_path / "run", "one", "two", "three"), gone, retries=0)


PROGRAM = """
import sys
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from fathom.suites import registry
from fathom.run import judge
from fathom.runfile.settings import JudgeSettings
from judged_runs import TASKS
registry.tasks = lambda: TASKS
judge(Path(sys.argv[1]), "embed/tiny", JudgeSettings(model_base_url=sys.argv[2], max_connections=4))
"""


def start(run: Path, server: EmbeddingServer) -> Program:
    here = str(Path(__file__).parents[1])
    return start_program(PROGRAM, run, server.url, here)


@pytest.mark.slow
@pytest.mark.long
def test_kill_9_embeds_nothing_twice(tmp_path: Path) -> None:
    run = summaries(tmp_path / "run", *(f"old @{degrees}" for degrees in range(24)))
    with EmbeddingServer(at_angle, delay=0.03) as server:
        process = start(run, server)
        until(lambda: len(server.asked) >= 12, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = len(judgements(run, NAME))
        assert 6 <= done < 24
        process = start(run, server)
        assert process.communicate()[1] == b""
        assert len(server.asked) <= 24 + 4  # those under way
    assert {one.status for one in judgements(run, NAME).values()} == {"ok"}
    assert len(judgements(run, NAME)) == 24


# ------------------------------------------------------------------------------------------------ local models


class Library:
    """Stands for the class of sentence-transformers."""

    loaded: ClassVar[list[tuple[str, dict[str, object]]]] = []

    def __init__(self, name: str, **options: object) -> None:
        if name == "absent":
            raise OSError("no such model")
        self.loaded.append((name, options))

    def encode(self, texts: list[str], **options: object) -> Floats:
        if any("@1000" in text for text in texts):
            raise RuntimeError("out of memory")
        return np.array([at_angle(text) for text in texts], dtype=np.float32)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> type[Library]:
    module = types.ModuleType("sentence_transformers")
    module.__spec__ = types.SimpleNamespace(name="sentence_transformers")  # type: ignore[assignment]  # of a test
    module.SentenceTransformer = Library  # type: ignore[attr-defined]  # of a test
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    Library.loaded.clear()
    return Library


def test_a_local_model_is_loaded_once_and_costs_nothing(tmp_path: Path, library: type[Library]) -> None:
    run, plans = summaries(tmp_path / "run", *(f"old @{degrees}" for degrees in (0, 60, 1000))), list[JudgePlan]()

    def confirm(plan: JudgePlan) -> bool:
        assert library.loaded == []
        plans.append(plan)
        return True

    summary = judge(run, "embed-local/Qwen/Qwen3-Embedding-8B", confirm=confirm)
    assert counts(summary) == (2, 0, 1)
    assert (summary.spent.cost, plans[0].cost_most) == (0, 0)
    assert library.loaded == [("Qwen/Qwen3-Embedding-8B", {"tokenizer_kwargs": {"padding_side": "left"}})]
    assert "out of memory" in " ".join(load([run])["detail"])
    judge(run, "embed-local/some/bert")
    assert library.loaded[1:] == [("some/bert", {})]


@pytest.mark.usefixtures("library")
def test_a_local_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="absent: not a sentence-transformers model"):
        judge(summaries(tmp_path / "run", "old"), "embed-local/absent")


@pytest.mark.parametrize(
    ("model", "settings", "complaint"),
    [
        ("embed/x", {}, "OPENAI_API_KEY"),
        ("embed/", {"base_url": "http://127.0.0.1:1/v1"}, "name the model"),
        ("embed-local/x", {"base_url": "http://127.0.0.1:1/v1"}, "takes no `model_base_url`"),
        ("embed-local/x", {"temperature": 0.5}, "leave out `temperature`"),
        ("embed-local/x", {"max_output_tokens": 5}, "leave out `max_output_tokens`"),
        ("embed-local/x", {"generation": {"top_p": 1}}, "leave out `generation`"),
        ("embed-local/x", {"model_args": {"a": 1}}, "leave out `model_args`"),
    ],
)
@pytest.mark.usefixtures("library")
def test_settings_that_make_no_sense_are_refused(model: str, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FathomError, match=complaint):
        open_embedding_client(Settings(model, **settings))


def test_a_judge_is_checked_before_there_is_anything_to_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    check_judge("embed/x", "http://127.0.0.1:1/v1")
    with pytest.raises(FathomError, match="OPENAI_API_KEY"):
        check_judge("embed/x")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FathomError, match=r"pip install 'fathom-eval\[embed\]'"):
        check_judge("embed-local/x")


def test_kinds_go_by_name() -> None:
    names = ("embed/a", "embed-local/a", "openai/embed", "embedding/a", "embed")
    assert [judge_kind(name) for name in names] == ["embedding", "embedding", "chat", "chat", "chat"]


def test_the_command(tmp_path: Path, server: EmbeddingServer, call: Callable[..., tuple[int, str, str]]) -> None:
    run = summaries(tmp_path / "run", "old @60")
    code, out, err = call("judge", run, "--judge", NAME, "--judge-base-url", server.url, "--yes")
    assert code == 0, err
    assert "1 replies to be judged by embed/tiny: about 1 requests" in err
    assert "1 judged, 0 unreadable, 0 missing" in out
    code, _, err = call("judge", run, "--judge", "embed/tiny", "--temperature", "0.5", "--yes")
    assert (code, GOOD in err) == (2, False)
    code, _, err = call("judge", run, "--judge", "fathom/guess", "--yes")
    assert code == 2
    assert "need embedding models (embed/NAME or embed-local/NAME)" in err
