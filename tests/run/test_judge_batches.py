"""A judge in batches asks what a judge without them asks, pays for nothing twice, and goes on where it was stopped."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from batch_server import Faults, JudgeServer, OpenAIServer

from engine_calls import judge
from fathom.run import JudgePlan, JudgeProgress, JudgeSummary
from fathom.run.batches import open as opening
from fathom.run.batches.sender import Pace
from fathom.runfile import store as run_store
from fathom.runfile.batches import BatchStore, batches_of
from fathom.runfile.judgements import judgements
from fathom.types import FathomError
from judged_runs import GOOD, install_tasks, make_run, sample

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)
    (tmp_path / "prices.toml").write_text('["openai/m"]\ninput = 2.0\noutput = 10.0\nbatch = 0.5\n')
    monkeypatch.setenv("FATHOM_PRICES", str(tmp_path / "prices.toml"))
    monkeypatch.setattr(opening, "PACE", Pace(first=0.01, longest=0.05, settle=0.1, patience=5.0))


def made(folder: Path) -> Path:
    replies = [(sample(number), f"It is {number}.") for number in range(3)]
    return make_run(folder, [*replies, *((sample(number, "summaries"), f"It is {number}. Yes.") for number in (3, 4))])


def ask(run: Path, server: OpenAIServer, **options: Any) -> JudgeSummary:
    return judge(run, "openai/m", **{"model_base_url": server.url, "batch": True, "backoff": 0.01, **options})


def stop(line: str) -> None:
    raise FathomError("stop here")


def test_a_judge_in_batches_asks_and_finds_what_a_judge_without_them_does(tmp_path: Path) -> None:
    plans: list[JudgePlan] = []

    def note(plan: JudgePlan) -> bool:
        plans.append(plan)
        return True

    with JudgeServer(Faults(busy=0.3, doubled=0.3, dropped=0.3, unsure=0.3)) as server:
        summary = ask(made(tmp_path / "run"), server, retries=50, confirm=note)
        spent = server.owed(1.0, 5.0)
        assert set(server.paid.values()) == {1}
        plain = ask(made(tmp_path / "plain"), server, batch=False)
    assert (summary.judged, summary.unreadable, summary.missing) == (5, 0, 0)
    assert summary.spent.cost == pytest.approx(spent) == pytest.approx((plain.spent.cost or 0) / 2)
    batched = {json.dumps(body, sort_keys=True) for one in server.batches for _, body in one.requests}
    assert batched == {json.dumps(body, sort_keys=True) for body in server.plain}
    assert judgements(tmp_path / "run", "openai/m") == judgements(tmp_path / "plain", "openai/m")
    assert "in batches, to be answered within 24 hours" in str(plans[0])


def test_a_judge_that_is_stopped_collects_its_batches_and_nobody_asks_meanwhile(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    with JudgeServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(run, server, tell=stop)
        with pytest.raises(FathomError, match="requests are in batches at the provider"):
            ask(run, server, batch=False)
        server.faults = Faults()
        assert ask(run, server).judged == 5
        assert set(server.paid.values()) == {1}
        asked = len(server.events)
        assert ask(run, server).judged == 5
        assert len(server.events) == asked


def test_what_is_refused_is_missing_and_asked_again_by_the_next_command(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    with JudgeServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(run, server, tell=stop)
        refused = server.sample_of(server.batches[0].requests[0][1])[0]
        server.faults = Faults(refused=frozenset({refused}))
        summary = ask(run, server)
        assert (summary.judged, summary.missing) == (4, 1)
        assert "1 request failed" in summary.hints[-1]
        server.faults = Faults()
        assert ask(run, server).judged == 5
        assert set(server.paid.values()) == {1}


def test_judgements_that_cannot_be_read_are_repeated_in_batches_with_again(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "It is blue.")])
    with JudgeServer() as server:
        server.says = "I cannot say."
        assert ask(run, server).unreadable == 1
        asked = len(server.batches)
        assert ask(run, server).unreadable == 1
        assert len(server.batches) == asked
        server.says = GOOD
        assert ask(run, server, again=True).judged == 1


def test_a_limit_ends_the_judging_and_what_was_answered_is_kept(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    with JudgeServer() as server:
        with pytest.raises(FathomError, match="`max_tokens_total` is 30,000; all finished judgements are kept"):
            ask(run, server, max_tokens_total=30_000)
        assert ask(run, server).judged == 5
        assert set(server.paid.values()) == {1}


def test_one_process_sends_the_batches_of_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_store, "BUSY_SECONDS", 0.05)
    run = made(tmp_path / "run")
    other = BatchStore(run, batches_of("openai/m"), alone=True)
    with JudgeServer() as server, pytest.raises(FathomError, match="was locked by another process"):
        ask(run, server)
    other.close()


def test_a_judge_is_not_asked_plainly_when_a_batch_was_sent_before_the_answer(tmp_path: Path) -> None:
    run = made(tmp_path / "run")

    def meanwhile(plan: JudgePlan) -> bool:
        with pytest.raises(FathomError, match="stop here"):
            ask(run, server, tell=stop)
        return True

    with JudgeServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="5 requests are in batches at the provider"):
            ask(run, server, batch=False, confirm=meanwhile)
        assert not server.plain
        server.faults = Faults()
        assert ask(run, server).judged == 5
        assert set(server.paid.values()) == {1}


def test_no_batch_is_sent_while_the_judge_is_asked_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_store, "BUSY_SECONDS", 0.05)
    run = made(tmp_path / "run")
    refused: list[str] = []

    def meanwhile(state: JudgeProgress) -> None:
        if state.finished > 1:
            return
        with ThreadPoolExecutor() as pool, pytest.raises(FathomError) as error:
            pool.submit(ask, run, server).result()
        refused.append(str(error.value))

    with JudgeServer() as server:
        assert ask(run, server, batch=False, max_connections=1, progress=meanwhile).judged == 5
        assert not server.batches
    assert "was locked by another process" in refused[0]


def test_embedding_models_judge_without_batches(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0, "abstracts"), "It is blue.")])
    with pytest.raises(FathomError, match="has no batch API that fathom knows"):
        judge(run, "embed/m", batch=True)
