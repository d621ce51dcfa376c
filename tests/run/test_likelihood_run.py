"""Questions about an order, put by likelihood to a server that knows the answers, and to servers that do not behave."""

from __future__ import annotations

import json
import math
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from order_suites import WORDS, make_order_suite, story, true_order
from run_suites import make_suite
from scripted_likelihood import (
    ELSE,
    NEXT,
    SPACE,
    Answer,
    LikelihoodServer,
    answer,
    echo,
    generated_only,
    shifted,
    vllm,
    written,
)
from scripted_server import Act, refusal

from engine_calls import likelihood
from fathom.rows import load
from fathom.run import RunSummary, read_manifest, replies, status
from fathom.types import FathomError
from processes import Program, start_program, until

pytestmark = pytest.mark.slow


def go(suite: Path, server: LikelihoodServer, out: Path, **options: Any) -> RunSummary:
    arguments = {"model_base_url": server.base_url, "backoff": 0.002, "retries": 3, "timeout": 30.0}
    return likelihood(suite, "openai/scripted", out=out, **{**arguments, **options})


@pytest.mark.parametrize("answers", [echo, vllm])
@pytest.mark.parametrize("method", ["orders", "pairs"])
def test_a_model_that_knows_the_stories_finds_every_order(tmp_path: Path, answers: Answer, method: str) -> None:
    suite = make_order_suite(tmp_path, 5)
    with LikelihoodServer(answers) as server:
        summary = go(suite, server, tmp_path / "run", method=method)
    assert summary.progress is not None
    assert summary.progress.counts["ok"] == 5
    found = load([tmp_path / "run"])
    assert found["value"].to_list() == [1.0] * 5
    assert set(found["variant"]) == {f"likelihood, {method}"}
    assert found["tokens_in"].min() == found["tokens_in"].max()
    texts = [text for text, body in zip(server.texts, server.bodies, strict=True) if "w0" in text and body]
    assert len(texts) == 5 * {"orders": 24, "pairs": 20}[method]
    assert all(body["max_tokens"] == 1 and body["temperature"] == 0 for body in server.bodies)


@pytest.mark.parametrize("segments", [2, 3, 5])
def test_any_number_of_segments(tmp_path: Path, segments: int) -> None:
    suite = make_order_suite(tmp_path, 2, segments=segments)
    with LikelihoodServer() as server:
        for method in ("orders", "pairs"):
            go(suite, server, tmp_path / method, method=method)
    assert load([tmp_path / "orders", tmp_path / "pairs"])["value"].to_list() == [1.0] * 4


def test_the_figures_of_all_orders_are_kept_and_as_documented(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1)
    with LikelihoodServer() as server:
        go(suite, server, tmp_path / "run")
    (row,) = replies(tmp_path / "run")
    figures = json.loads(row.reply.reasoning)
    order = true_order(0, 4)
    assert row.reply.text == f"Answer: {list(order)}"
    assert len(figures["perplexity"]) == 24
    # All words and spaces behind ``before``: words follow each other, with a space between two.
    words = 5 * WORDS
    expected = math.exp(-(words * NEXT + (words - 1) * SPACE) / (2 * words - 1))
    assert figures["perplexity"][" ".join(map(str, order))] == pytest.approx(expected, abs=1e-6)
    assert min(figures["perplexity"].values()) == figures["perplexity"][" ".join(map(str, order))]
    # The reverse order breaks all five joins.
    broken = math.exp(-((words - 5) * NEXT + 5 * ELSE + (words - 1) * SPACE) / (2 * words - 1))
    assert figures["perplexity"][" ".join(map(str, order[::-1]))] == pytest.approx(broken, abs=1e-6)
    assert row.reply.tokens_in == 24 * (2 * 6 * WORDS - 1)
    assert row.reply.tokens_out == 0


def test_the_figures_of_all_pairs_are_kept_and_as_documented(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1)
    with LikelihoodServer() as server:
        go(suite, server, tmp_path / "run", method="pairs")
    (row,) = replies(tmp_path / "run")
    figures = json.loads(row.reply.reasoning)["logprob"]
    order = true_order(0, 4)
    inside = (WORDS - 1) * (NEXT + SPACE)
    assert len(figures) == 20
    assert figures[f"0 {order[0]}"] == pytest.approx(inside + NEXT)
    assert figures[f"{order[1]} {order[2]}"] == pytest.approx(inside + NEXT)
    assert figures[f"{order[3]} 5"] == pytest.approx(inside + NEXT)
    assert figures[f"{order[2]} {order[1]}"] == pytest.approx(inside + ELSE)


def one_token(request: Mapping[str, Any]) -> Act:
    """A server whose tokens are whole texts, all equally likely."""
    if "prompt_logprobs" not in request:
        return written(request)
    place = {"5": {"logprob": -2.0, "rank": 1, "decoded_token": request["prompt"]}}
    return answer({"text": " ", "logprobs": None, "prompt_logprobs": [None, place]}, 2)


@pytest.mark.parametrize("method", ["orders", "pairs"])
def test_equally_likely_orders_are_no_valid_answer_and_counted(tmp_path: Path, method: str) -> None:
    with LikelihoodServer(one_token) as server:
        summary = go(make_order_suite(tmp_path, 3), server, tmp_path / "run", method=method)
    assert any(hint.startswith("3 of 3 samples have several equally likely orders") for hint in summary.hints)
    found = load([tmp_path / "run"])
    assert found["valid"].to_list() == [False] * 3
    assert found["value"].to_list() == [0.0] * 3
    reasoning = json.loads(next(iter(replies(tmp_path / "run"))).reply.reasoning)
    assert reasoning["equal"][0] == "1 2 3 4"
    assert len(reasoning["equal"]) == 2


def test_texts_with_a_common_beginning_follow_each_other(tmp_path: Path) -> None:
    with LikelihoodServer() as server:
        go(make_order_suite(tmp_path, 2), server, tmp_path / "run", via="echo")
    texts = [text for text in server.texts if "w0" in text]
    pieces = [[text.split("w")[0] for text in one.split("\n\n")] for one in texts]
    new = sum(
        6 - next((n for n, (a, b) in enumerate(zip(x, y, strict=True)) if a != b), 6)
        for x, y in zip(pieces, [[""] * 6, *pieces], strict=False)
    )
    # before + 4 first segments + 12 second ones + 24 third ones, fourth ones and endings.
    assert new == 2 * (1 + 4 + 12 + 24 + 24 + 24)


# ---------------------------------------------------------------------------------------------- what is asked


def test_tasks_that_ask_for_no_order_are_left_out_with_a_note(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 2, others=3)
    with LikelihoodServer() as server:
        summary = go(suite, server, tmp_path / "run")
        with pytest.raises(FathomError, match=r"passkey.*tasks that do: .*tsort"):
            go(suite, server, tmp_path / "none", tasks=["passkey"])
        with pytest.raises(FathomError, match="asks for an order"):
            go(make_suite(tmp_path, 2), server, tmp_path / "none")
    assert any("passkey" in hint for hint in summary.hints)
    assert status(tmp_path / "run").finished == 2
    assert not (tmp_path / "none").exists()


def test_lengths_and_a_limit_choose_samples(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 4, lengths=(1024, 2048))
    with LikelihoodServer() as server:
        go(suite, server, tmp_path / "run", lengths=[2048], limit=3)
    assert [row.sample for row in replies(tmp_path / "run")] == [f"story{n}@2048" for n in range(3)]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_tokens_total": 10}, r"the texts have up to [\d,]+ tokens \(0 used\), more than `max_tokens_total` 10"),
        ({"max_cost": 1.0}, "`max_cost` 1: the price of 'openai/scripted' is unknown"),
    ],
)
def test_nothing_is_scored_beyond_a_limit(tmp_path: Path, limit: dict[str, Any], message: str) -> None:
    suite = make_order_suite(tmp_path, 1)
    with pytest.raises(FathomError, match=message):
        likelihood(suite, "openai/scripted", out=tmp_path / "run", model_base_url="http://127.0.0.1:9/v1", **limit)
    assert not (tmp_path / "run").exists()


def test_many_orders_are_asked_only_where_that_is_said(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1, segments=6)
    with LikelihoodServer() as server:
        with pytest.raises(FathomError, match="720 orders, more than `most_orders` 120; use `method` pairs"):
            go(suite, server, tmp_path / "run")
        assert not server.texts
        go(suite, server, tmp_path / "run", most_orders=720)
        assert len([text for text in server.texts if "w0" in text]) == 720


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "guess"}, "method='guess'"),
        ({"via": "chat"}, "via='chat'"),
        ({"model_base_url": None}, "`model_base_url`"),
        ({"most_orders": 0}, "most_orders=0"),
        ({"limit": 0}, "limit=0"),
        ({"timeout": 0.0}, "timeout=0.0"),
        ({"lengths": [4096]}, "`lengths` 4k"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with LikelihoodServer() as server, pytest.raises(FathomError, match=said):
        go(make_order_suite(tmp_path, 1), server, tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("model", ["scripted", "openai/", "hf/no/such/folder"])
def test_a_model_that_is_none_leaves_no_folder(tmp_path: Path, model: str) -> None:
    with pytest.raises(FathomError, match="model"):
        likelihood(make_order_suite(tmp_path, 1), model, out=tmp_path / "run", model_base_url="http://127.0.0.1:9/v1")
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------------------------------------- run folders


def test_the_folder_tells_how_it_was_asked_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    suite = make_order_suite(tmp_path, 1)
    with LikelihoodServer() as server:
        go(suite, server, tmp_path / "run")
        assert all("authorization: bearer sk-very-secret" in head.lower() for head in server.headers)
        with pytest.raises(FathomError, match=r"likelihood = 'orders'.*'pairs'"):
            go(suite, server, tmp_path / "run", method="pairs")
    manifest = read_manifest(tmp_path / "run")
    assert (manifest["model"], manifest["variant"]) == ("openai/scripted", "likelihood, orders")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert b"sk-very-secret" not in stored


def test_without_a_key_none_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LikelihoodServer() as server:
        go(make_order_suite(tmp_path, 1), server, tmp_path / "run")
    assert status(tmp_path / "run").finished == 1


PROGRAM = """
import sys
from pathlib import Path
from fathom.run import likelihood
from fathom.runfile.settings import LikelihoodSettings
suite, out, url = sys.argv[1:]
settings = LikelihoodSettings(model_base_url=url, method="pairs", via="echo")
likelihood(Path(suite), "openai/scripted", settings, out=Path(out))
"""


def start(suite: Path, out: Path, server: LikelihoodServer) -> Program:
    return start_program(PROGRAM, suite, out, server.base_url, stderr=None)


@pytest.mark.long
def test_kill_9_repeats_no_finished_sample(tmp_path: Path) -> None:
    suite, out = make_order_suite(tmp_path, 12), tmp_path / "run"
    with LikelihoodServer(fault=lambda request, before: Act(body=echo(request).body, delay=0.003)) as server:
        process = start(suite, out, server)
        until(lambda: len(server.texts) > 100 and status(out).finished >= 3, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = {row.item for row in replies(out)}
        asked = len(server.texts)
        assert 3 <= len(finished) < 12
        go(suite, server, out, method="pairs", via="echo")
        again = {f"story{text.split('p')[0][1:]}" for text in server.texts[asked:] if "w0" in text}
    assert not again & finished
    assert len(list(replies(out))) == 12
    assert load([out])["value"].to_list() == [1.0] * 12


def test_two_processes_share_a_run(tmp_path: Path) -> None:
    suite, out = make_order_suite(tmp_path, 16), tmp_path / "run"
    with LikelihoodServer() as server:
        both = [start(suite, out, server) for _ in range(2)]
        assert [process.wait() for process in both] == [0, 0]
        asked = Counter(text for text in server.texts if "w0" in text)
    assert set(asked.values()) == {1}
    assert len(asked) == 16 * 20
    assert load([out])["value"].to_list() == [1.0] * 16


# ---------------------------------------------------------------------------------------------- bad servers


@pytest.mark.parametrize(
    ("answers", "via", "said"),
    [
        (
            generated_only,
            "auto",
            "prompt_logprobs: the response has no prompt_logprobs; echo: the response has 1 tokens",
        ),
        (generated_only, "echo", "1 tokens, which are not those of the prompt.*llama-cpp-python.*llama-server"),
        (shifted, "auto", "belong to other tokens"),
        (vllm, "echo", "not those of the prompt"),
        (echo, "prompt_logprobs", "no prompt_logprobs"),
        (lambda request: refusal(400, "Only no echo is supported"), "auto", "Only no echo is supported.*vLLM"),
        (lambda request: Act(body={"foo": 1}), "auto", "no log-probabilities of the prompt"),
        (lambda request: Act(body=[]), "auto", "no log-probabilities of the prompt"),
    ],
)
def test_a_server_that_says_too_little_is_never_scored(tmp_path: Path, answers: Answer, via: str, said: str) -> None:
    with LikelihoodServer(answers) as server, pytest.raises(FathomError, match=f"(?s)cannot score texts.*{said}"):
        go(make_order_suite(tmp_path, 2), server, tmp_path / "run", via=via)
    assert not list(replies(tmp_path / "run"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [
        refusal(429, "slow", headers={"Retry-After-Ms": "5"}),
        refusal(500, "oops"),
        refusal(503, "busy"),
        Act(body={"x": "y" * 500}, cut=True),
        Act(body="<html>"),
        Act(hang=True),
    ],
    ids=["429", "500", "503", "cut", "garbage", "hang"],
)
def test_failures_that_pass_are_waited_out(tmp_path: Path, act: Act) -> None:
    failed, many = Counter[str](), 2 if act.hang else 6  # each that hangs is waited for

    def fault(request: Any, before: int) -> Act | None:
        if "w0" in request["prompt"] and not failed[request["prompt"]] and sum(failed.values()) < many:
            failed[request["prompt"]] += 1
            return act
        return None

    suite = make_order_suite(tmp_path, 2)
    with LikelihoodServer(fault=fault) as server:
        go(suite, server, tmp_path / "run", method="pairs", timeout=0.5 if act.hang else 30.0)
        # Only what failed was asked again, not the whole sample.
        assert len([text for text in server.texts if "w0" in text]) == 2 * 20 + many
    assert load([tmp_path / "run"])["value"].to_list() == [1.0, 1.0]


def test_one_sample_that_fails_is_an_error_and_asked_again(tmp_path: Path) -> None:
    ill = True

    def fault(request: Any, before: int) -> Act | None:
        return refusal(500, "oops") if ill and "s1p2" in request["prompt"] else None

    suite = make_order_suite(tmp_path, 3)
    with LikelihoodServer(fault=fault) as server:
        summary = go(suite, server, tmp_path / "run", retries=1)
        assert summary.progress is not None
        assert {name: n for name, n in summary.progress.counts.items() if n} == {"ok": 2, "error": 1}
        ill = False
        go(suite, server, tmp_path / "run", retries=1)
    assert [row.reply.status for row in replies(tmp_path / "run")] == ["ok"] * 3


def test_a_text_beyond_the_window_is_an_overflow_and_one_without_numbers_an_error(tmp_path: Path) -> None:
    long = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"

    def fault(request: Any, before: int) -> Act | None:
        if "s0p1" in request["prompt"]:
            return refusal(400, long)
        return written(request) if "s1p1" in request["prompt"] else None

    with LikelihoodServer(fault=fault) as server:
        go(make_order_suite(tmp_path, 3), server, tmp_path / "run")
    found = list(replies(tmp_path / "run"))
    assert [row.reply.status for row in found] == ["overflow", "error", "ok"]
    assert "not those of the prompt" in found[1].reply.error


def test_a_server_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    with LikelihoodServer() as server:
        url = server.base_url
    with pytest.raises(FathomError, match=r"does not answer.*run the same command again"):
        likelihood(
            make_order_suite(tmp_path, 9), "openai/scripted", out=tmp_path / "run", model_base_url=url, retries=1,
            backoff=0.002,
        )  # fmt: skip


def test_a_server_that_denies_ends_the_run(tmp_path: Path) -> None:
    with (
        LikelihoodServer(lambda request: refusal(401, "wrong key")) as server,
        pytest.raises(FathomError, match=r"denies the requests.*wrong key"),
    ):
        go(make_order_suite(tmp_path, 9), server, tmp_path / "run")


def test_stories_share_no_word() -> None:
    words = [word for piece in story(3, 4) for word in piece.split()]
    assert len(set(words)) == len(words) == 6 * WORDS
