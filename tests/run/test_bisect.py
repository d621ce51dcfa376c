"""``fathom bisect`` against pairs of servers: it finds the fault of one, names it, and says nothing of equal ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from bisect_faults import faults, lengths_of
from bisect_server import BisectServer, Fault
from bisect_simulated import NOISES, simulated

from command_line import Call
from fathom import api
from fathom.options.declare import OptionError
from fathom.run.bisect import Bisection
from fathom.run.bisect.asking import read_logprobs
from fathom.run.bisect.evidence import PAYS, bet, change, evidence_of, log_evidence
from fathom.run.bisect.outcomes import Answer, Ask, Item, Letter, answers_distance, numbers_distance, texts_distance
from fathom.run.bisect.prompts import BACK, distances, prompt_of, words_of
from fathom.run.bisect.search import requests_to_pass
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError

LONGEST = 16_384
FAULTS = faults(LONGEST)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key of the machine, and a folder for what is written."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


@contextmanager
def servers(a: Fault, b: Fault) -> Iterator[tuple[BisectServer, BisectServer, dict[str, Any]]]:
    """Two servers, and the options that name them."""
    with BisectServer(a) as first, BisectServer(b, 1) as second:
        yield first, second, {"a_base_url": first.base_url, "b_base_url": second.base_url, "backoff": 0.0, "retries": 0}


def compared(a: Fault, b: Fault, **options: Any) -> Bisection:
    with servers(a, b) as (_, _, urls):
        found = api.bisect("vllm/tiny", **urls, lengths=lengths_of(LONGEST), out="out", **options)
    assert found is not None
    return found


def item(*texts: str, warm: tuple[str, str] | None = None) -> Item:
    a1, a2, b1, b2 = (Answer(text=text) for text in texts)
    repeated: dict[Letter, Answer] = {}
    if warm is not None:
        repeated = {"A": Answer(text=warm[0]), "B": Answer(text=warm[1])}
    return Item(1024, 1, True, {"A": (a1, a2), "B": (b1, b2)}, repeated)


# ------------------------------------------------------------------------------------------------------- evidence


@pytest.mark.parametrize("texts", ["aabb", "aaab", "aabc", "abcd", "aaaa"])
def test_a_bet_is_fair_if_the_four_replies_are_exchangeable(texts: str) -> None:
    paid = [bet(item(*order), texts_distance) for order in permutations(texts)]
    assert sum(paid) / len(paid) == pytest.approx(1.0)


def test_a_bet_pays_where_each_side_repeats_itself_and_the_sides_differ() -> None:
    assert bet(item("x", "x", "y", "y"), texts_distance) == PAYS[0]
    assert bet(item("x", "y", "x", "y"), texts_distance) < 1
    assert bet(item("x", "x", "x", "x"), texts_distance) == pytest.approx(1.0)
    assert bet(item("x", "x", "y", "y"), numbers_distance) == 1.0  # there are no log-probabilities


def test_a_repetition_counts_for_the_side_that_it_changes() -> None:
    same = ("x", "x", "x", "x")
    assert [change(item(*same, warm=warm)) for warm in (("x", "y"), ("y", "x"), ("y", "z"), ("x", "x"))] == [
        -1,
        1,
        0,
        0,
    ]
    assert change(item(*same)) == 0


def test_evidence_grows_with_prompts_that_differ_and_with_no_others() -> None:
    few, many = ([item("x", "x", "y", "y")] * number for number in (2, 9))
    assert evidence_of(many, 5) > math.log(100) > evidence_of(few, 5) > 0
    assert evidence_of([item("x", "x", "x", "x")] * 9, 5) == pytest.approx(0)
    assert log_evidence([item("x", "x", "x", "x", warm=("x", "y"))] * 9)["repeats"] > math.log(100)


def test_distances_count_words_ends_and_log_probabilities() -> None:
    one, other = Answer(found=(True, True, False)), Answer(found=(True, False, False), ended=False)
    assert answers_distance(one, other) == 0.5
    assert answers_distance(one, Answer("overflow")) == 1
    first, second = Answer(tokens=("a", "b"), logprobs=(-1.0, -2.0)), Answer(tokens=("a", "c"), logprobs=(-1.5, -9.0))
    assert numbers_distance(first, second) == 0.5  # of the token that both have


@pytest.mark.parametrize("noise", NOISES)
def test_equal_sides_that_are_noisy_are_not_said_to_differ(noise: str) -> None:
    assert [simulated(NOISES[noise], seed, requests=120).decision for seed in range(4)].count("FAIL") == 0


# -------------------------------------------------------------------------------------------------------- prompts


def test_code_words_are_at_the_stated_distances_from_the_end() -> None:
    tokenizer, ask = get_tokenizer(), Ask("A", "words", 4096, draw=3, nonce=7)
    prompt = prompt_of(0, ask, tokenizer)
    assert abs(tokenizer.count(prompt) - 4096) < 60
    words = words_of(0, ask)
    assert len(words) == len(BACK) == len(set(words))
    for word, back in zip(words, distances(4096), strict=True):
        assert prompt.count(word) == 1
        assert abs(tokenizer.count(prompt[prompt.index(word) :]) - back) < 400
    other = prompt_of(0, Ask("B", "words", 4096, draw=3, nonce=8), tokenizer)
    assert prompt.partition("\n\n")[2] == other.partition("\n\n")[2]
    assert prompt != other


def test_log_probabilities_are_read_of_chats_and_of_texts() -> None:
    assert read_logprobs({"content": [{"token": "a", "logprob": -1}]}) == (("a",), (-1.0,))
    assert read_logprobs({"tokens": ["a"], "token_logprobs": [-1.5]}) == (("a",), (-1.5,))
    assert read_logprobs({"tokens": ["a"], "token_logprobs": [None]}) == read_logprobs(None) == ((), ())


# ----------------------------------------------------------------------------------------------------- comparisons


@pytest.mark.parametrize("title", FAULTS)
def test_a_fault_is_found_and_named_within_200_requests(title: str) -> None:
    name, a, b = FAULTS[title]
    found = compared(a, b)
    assert (found.decision, found.named.fault) == ("FAIL", name), found
    assert found.named.side in ("", "B")
    assert found.requests <= 200
    assert found.named.because
    assert found.named.next


def test_a_fault_of_a_is_one_of_a() -> None:
    found = compared(Fault(window=2048), Fault())
    assert (found.named.fault, found.named.side, found.named.layer) == ("sliding window", "A", "stack")


def test_the_length_from_which_prompts_are_cut_is_between_those_that_are_shown() -> None:
    found = compared(Fault(), Fault(cut=6000))
    whole = [row.length for row in found.lengths if row.tokens_b == row.tokens_a]
    cut = [row.length for row in found.lengths if row.tokens_b == 6000]
    assert max(whole) < min(cut) < 1.3 * max(whole)


@pytest.mark.parametrize("fault", [Fault(), Fault(sampled=0.1), Fault(logprobs=False, counts=False, salted=False)])
def test_equal_servers_pass(fault: Fault) -> None:
    with servers(fault, fault) as (_, _, urls):
        found = api.bisect("vllm/tiny", **urls, lengths="512,1k,2k", requests=1000, out="out")
    assert found is not None
    assert (found.decision, found.named.fault, found.first) == ("PASS", "", None)
    assert -0.25 < found.low <= 0 <= found.high < 0.25


def test_equal_servers_pass_after_the_stated_number_of_requests_and_not_before() -> None:
    least = requests_to_pass(2, 0.01, 0.25)
    with servers(Fault(), Fault()) as (_, _, urls):
        options = {**urls, "lengths": "512,1k", "out": "out"}
        few, enough = (api.bisect("vllm/tiny", **options, requests=most) for most in (least - 1, least))
    assert few is not None
    assert enough is not None
    assert few.decision == "INCONCLUSIVE"
    assert f"at least {least}" in few.named.next[0]
    assert enough.decision == "PASS"


def test_few_requests_decide_nothing() -> None:
    found = compared(Fault(), Fault(), requests=60)
    assert found.decision == "INCONCLUSIVE"
    assert found.requests <= 60


def test_the_first_token_that_differs_is_shown_with_its_log_probabilities() -> None:
    first = compared(Fault(), Fault(window=2048)).first
    assert first is not None
    assert (first.token, first.a) == (1, "1: ")
    assert first.logprob_a is not None
    assert first.logprob_b is not None


def test_a_comparison_resumes_without_asking_again() -> None:
    with servers(Fault(), Fault(window=2048)) as (first, second, urls):
        api.bisect("vllm/tiny", **urls, lengths=lengths_of(LONGEST), out="out")
        asked = first.model.requests, second.model.requests
        lines = Path("out/replies.jsonl").read_text("utf-8").splitlines(keepends=True)
        Path("out/replies.jsonl").write_text("".join(lines[:-4]) + lines[-4][:30], "utf-8")
        again = api.bisect("vllm/tiny", **urls, lengths=lengths_of(LONGEST), out="out")
        assert again is not None
        assert again.named.fault == "sliding window"
        assert (first.model.requests + second.model.requests) - sum(asked) == 4
        with pytest.raises(FathomError, match="other options"):
            api.bisect("vllm/tiny", **urls, lengths="1k,2k", out="out")


def test_a_server_that_is_not_there_is_named() -> None:
    with servers(Fault(), Fault()) as (_, _, urls):
        urls["b_base_url"] = "http://127.0.0.1:9/v1"
        with pytest.raises(FathomError, match=r"B \(vllm/tiny\)"):
            api.bisect("vllm/tiny", **urls, lengths="1k,2k", out="out")
    with pytest.raises(FathomError, match="same model on the same server"):
        api.bisect("openai/gpt-5")
    with pytest.raises(OptionError, match="requests=5"):
        api.bisect("openai/gpt-5", "openai/gpt-5-mini", requests=5)


def test_the_command_prints_the_name_and_writes_three_files(call: Call) -> None:
    with servers(Fault(), Fault(cut=6000)) as (_, _, urls):
        words = ["bisect", "vllm/tiny", "--a-base-url", urls["a_base_url"], "--b-base-url", urls["b_base_url"]]
        words += ["--lengths", "1k,4k,16k", "--out", "out"]
        code, out, _ = call(*words, "--forecast")
        assert code == 0
        assert "at most 200 requests" in out
        assert "unknown price" in out
        assert not Path("out").exists()
        code, out, err = call(*words, "--yes")
    assert code == 1
    assert out.startswith("FAIL: A and B differ: cut prompt of B")
    assert "the stack, not the harness or the model" in out
    assert "of at most 200: B, words" in err
    assert json.loads(Path("out/bisect.json").read_text("utf-8"))["named"]["fault"] == "cut prompt"
    assert "| 16k |" in Path("out/bisect.md").read_text("utf-8")
    page = Path("out/bisect.html").read_text("utf-8")
    assert "cut prompt of B" in page
    assert "<svg" in page
    assert "<script" not in page


def test_offline_baselines_can_be_compared() -> None:
    found = api.bisect("fathom/lexical", "fathom/lexical?window=2k", lengths="1k,4k", requests=60, out="out")
    assert found is not None
    assert found.requests <= 60


def test_words_are_drawn_by_seed() -> None:
    assert words_of(0, Ask("A", "words", 1024, 1)) == words_of(0, Ask("B", "words", 1024, 1))
    assert words_of(0, Ask("A", "words", 1024, 1)) != words_of(1, Ask("A", "words", 1024, 1))
