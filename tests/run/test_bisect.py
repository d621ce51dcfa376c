"""``fathom bisect`` against pairs of servers: it finds the fault of one, names it, and says nothing of equal ones."""

from __future__ import annotations

import fcntl
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, permutations
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
from fathom.run.bisect.compare import line_of
from fathom.run.bisect.evidence import PAYS, bet, change, evidence_of, log_evidence
from fathom.run.bisect.outcomes import Answer, Ask, Item, Letter, answers_distance, numbers_distance, texts_distance
from fathom.run.bisect.prompts import BACK, distances, prompt_of, words_of
from fathom.run.bisect.search import Plan, requests_to_pass, search
from fathom.safety.secrets import remember
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
    for number in (math.nan, -math.inf, True):
        assert read_logprobs({"content": [{"token": "a", "logprob": number}]}) == ((), ())
    assert read_logprobs({"tokens": ["a"], "token_logprobs": [None]}) == read_logprobs(None) == ((), ())


# ----------------------------------------------------------------------------------------------------- comparisons


@pytest.mark.slow
@pytest.mark.parametrize("title", FAULTS)
def test_a_fault_is_found_and_named_within_200_requests(title: str) -> None:
    name, a, b = FAULTS[title]
    found = compared(a, b)
    assert (found.decision, found.named.fault) == ("FAIL", name), found
    assert found.named.side in ("", "B")
    assert found.requests <= 200
    assert found.named.because
    assert found.named.next


@pytest.mark.slow
def test_a_fault_of_a_is_one_of_a() -> None:
    found = compared(Fault(window=2048), Fault())
    assert (found.named.fault, found.named.side, found.named.layer) == ("sliding window", "A", "stack")


@pytest.mark.slow
def test_the_length_from_which_prompts_are_cut_is_between_those_that_are_shown() -> None:
    found = compared(Fault(), Fault(cut=6000))
    whole = [row.length for row in found.lengths if row.tokens_b == row.tokens_a]
    cut = [row.length for row in found.lengths if row.tokens_b == 6000]
    assert max(whole) < min(cut) < 1.3 * max(whole)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault(), Fault(sampled=0.1), Fault(logprobs=False, counts=False, salted=False)])
def test_equal_servers_pass(fault: Fault) -> None:
    with servers(fault, fault) as (_, _, urls):
        found = api.bisect("vllm/tiny", **urls, lengths="512,1k,2k", requests=1000, out="out")
    assert found is not None
    assert (found.decision, found.named.fault, found.first) == ("PASS", "", None)
    assert -0.25 < found.low <= 0 <= found.high < 0.25


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_first_token_that_differs_is_shown_with_its_log_probabilities() -> None:
    first = compared(Fault(), Fault(window=2048)).first
    assert first is not None
    assert (first.token, first.a) == (1, "1: ")
    assert first.logprob_a is not None
    assert first.logprob_b is not None


@pytest.mark.slow
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
    assert "Code words found</text>" in page
    assert ">A</text>" in page
    assert "<script" not in page


@pytest.mark.slow
def test_servers_that_answer_nothing_do_not_pass() -> None:
    with servers(Fault(refuse=300), Fault(refuse=300)) as (_, _, urls), pytest.raises(FathomError, match="maximum"):
        api.bisect("vllm/tiny", **urls, lengths="512,1k", out="short")
    with servers(Fault(refuse=1500), Fault(refuse=1500)) as (_, _, urls):
        found = api.bisect("vllm/tiny", **urls, lengths="1k,2k", requests=400, out="long")
    assert found is not None
    assert found.decision == "INCONCLUSIVE"
    assert "2k has prompts that A does not answer" in found.reason


def answered(
    reply: Callable[[Ask], Answer], *, requests: int = 900, lengths: tuple[int, ...] = (512, 2048)
) -> Bisection:
    """A comparison whose replies are made by a function."""
    asking = search(Plan(lengths, requests, raw=False))
    try:
        ask = next(asking)
        while True:
            ask = asking.send(reply(ask))
    except StopIteration as end:
        result: Bisection = end.value
        return result


@pytest.mark.slow
def test_two_models_that_never_repeat_a_text_do_not_pass() -> None:
    numbers = count()
    found = answered(lambda ask: Answer(text=f"{ask.side} {next(numbers)}", found=(False,) * 12, cached=0))
    assert found.decision == "INCONCLUSIVE"
    assert "vary too much" in found.reason
    empty = answered(lambda ask: Answer(text=" ", found=(False,) * 12, cached=0))
    assert empty.decision == "INCONCLUSIVE"


def test_a_loss_at_one_length_does_not_pass() -> None:
    def reply(ask: Ask) -> Answer:
        good = ask.side == "A" or ask.length < 2048 or ask.draw % 3 > 0
        return Answer(text="x", found=(good,) * 12, cached=0)

    assert answered(reply, lengths=(256, 512, 1024, 1536, 2048)).decision != "PASS"


def test_what_a_cache_had_is_no_evidence() -> None:
    kept: dict[tuple[object, ...], str] = {}
    numbers = count()

    def reply(ask: Ask) -> Answer:  # every fresh reply is another one, and the cache begins at 1,500 tokens
        key = ask.side, ask.length, ask.draw, ask.nonce
        cached = key in kept and ask.length >= 1500
        text = kept[key] if cached else f"{next(numbers)}"
        kept[key] = text
        return Answer(text=text, found=(True,) * 12, tokens_in=ask.length, cached=ask.length if cached else 0)

    found = answered(reply)
    assert found.decision == "PASS"
    assert any("left out" in note for note in found.notes)


def test_caches_of_another_comparison_are_not_read() -> None:
    tokenizer, ask = get_tokenizer(), Ask("A", "words", 512, draw=1, nonce=3)
    assert prompt_of(0, ask, tokenizer, "one") != prompt_of(0, ask, tokenizer, "two")
    with servers(Fault(), Fault()) as (first, _, urls):
        one = {**urls, "b_base_url": first.base_url}
        for out in ("first", "second"):
            api.bisect("vllm/tiny", "vllm/tiny", **one, lengths="1k", out=out, requests=80)
            lines = [json.loads(line) for line in Path(out, "replies.jsonl").read_text("utf-8").splitlines()]
            fresh = [line["cached"] for line in lines if int(line["key"].split()[-1]) > 0]
            assert set(fresh) == {0}
            assert any(line["cached"] for line in lines)


def test_temporary_failures_stop_the_command_and_are_not_kept() -> None:
    with servers(Fault(), Fault()) as (_, second, urls):
        options: dict[str, Any] = {**urls, "lengths": "512,1k", "out": "out", "requests": 80}
        answer, asked = second.model.answer, count()

        def failing(body: dict[str, Any]) -> dict[str, Any] | None:
            if next(asked) > 8:
                raise ConnectionError
            return answer(body)

        second.model.answer = failing  # type: ignore[method-assign]
        with pytest.raises(FathomError, match="same command goes on"):
            api.bisect("vllm/tiny", **options)
        assert '"error", ' not in Path("out/replies.jsonl").read_text("utf-8")
        second.model.answer = answer  # type: ignore[method-assign]
        found = api.bisect("vllm/tiny", **options)
    assert found is not None
    assert found.decision == "INCONCLUSIVE"
    assert found.evidence < 2


def test_a_folder_is_gone_on_with_by_the_same_comparison_alone() -> None:
    Path("other").mkdir()
    Path("other/notes.txt").write_text("x", "utf-8")
    with servers(Fault(), Fault()) as (first, _, urls):
        options: dict[str, Any] = {**urls, "lengths": "512", "requests": 60}
        with pytest.raises(FathomError, match="something else"):
            api.bisect("vllm/tiny", **options, out="other")
        assert not first.model.requests
        api.bisect("vllm/tiny", **options, out="out")
        for more in ({"max_output_tokens": 8}, {"generation": {"top_p": 0.5}}):
            with pytest.raises(FathomError, match="other options"):
                api.bisect("vllm/tiny", **options, **more, out="out")
        with Path("out/replies.jsonl").open("a", encoding="utf-8") as stream:
            stream.write('5\nnull\n[]\n{"key": "x"}\n{"key": "B words 512 1 3 3", "status')
        asked = first.model.requests
        assert api.bisect("vllm/tiny", **options, out="out") is not None
        assert first.model.requests == asked
        with Path("out/.lock").open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            with pytest.raises(FathomError, match="another `fathom bisect`"):
                api.bisect("vllm/tiny", **options, out="out")


def test_a_password_of_an_address_is_not_in_the_name_of_the_folder() -> None:
    with servers(Fault(), Fault()) as (_, _, urls):
        urls["a_base_url"] = urls["a_base_url"].replace("http://", "http://user:passw0rd@")
        api.bisect("vllm/tiny", **urls, lengths="512", requests=60)
    names = [path.name for path in Path("bisected").iterdir()]
    assert len(names) == 1
    assert "passw0rd" not in names[0]


def test_a_key_that_a_server_repeats_is_not_kept() -> None:
    remember({"api_key": "sk-repeated-0123456789"})
    line = line_of("A/words", Answer(text="Bad key sk-repeated-0123456789"))
    assert json.loads(line)["text"] == "Bad key ***"


def test_replies_with_little_in_common_are_no_matter_of_precision() -> None:
    words = {"A": "one two three four", "B": "five six seven eight"}
    for truth in (True, False):
        replies = {side: Answer(text=words[side], found=(truth,) * 12, cached=0) for side in words}
        found = answered(lambda ask, replies=replies: replies[ask.side])  # type: ignore[misc]
        assert found.decision == "FAIL"
        assert "precision" not in found.named.fault


@pytest.mark.parametrize(
    "options", [{"alpha": 1.0}, {"margin": 1.5}, {"margin": math.nan}, {"chat_template": "by-task"}]
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        api.bisect("openai/gpt-5", "openai/gpt-5-mini", **options)
    with pytest.raises(FathomError, match="on_overflow"):
        api.bisect("openai/gpt-5", "openai/gpt-5-mini", on_overflow="middle")


def test_offline_baselines_can_be_compared() -> None:
    found = api.bisect("fathom/lexical", "fathom/lexical?window=2k", lengths="1k,4k", requests=60, out="out")
    assert found is not None
    assert found.requests <= 60


def test_words_are_drawn_by_seed() -> None:
    assert words_of(0, Ask("A", "words", 1024, 1)) == words_of(0, Ask("B", "words", 1024, 1))
    assert words_of(0, Ask("A", "words", 1024, 1)) != words_of(1, Ask("A", "words", 1024, 1))
