"""Before the first request: counts, prices, windows, limits; and what the window does to prompts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_suites import TOKENS, make_suite

from engine_calls import run
from fathom.models import baselines as baselines_module
from fathom.models import prices as prices_module
from fathom.models.baselines import baseline_client
from fathom.models.overflow import POLICIES, Overflow, fit
from fathom.models.prices import FREE, UNKNOWN, Price, find_price, price_table
from fathom.models.protocol import Settings
from fathom.run import Preflight, Progress, RunSummary, replies
from fathom.run.preflight import REASONING_ALLOWANCE, output_caps
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import AnswerKind, FathomError

CAP = 50


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Prompts that the offline baseline ``fathom/fake`` saw; it answers with a number from its random generator."""
    prompts: list[str] = []

    def read(prompt: str, answer: AnswerKind, rng: Random, form: object) -> str:
        prompts.append(prompt)
        return str(rng.random())

    monkeypatch.setattr(baselines_module, "get_baseline", lambda name: read)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FATHOM_PRICES", raising=False)
    return prompts


def go(suite: Path, out: Path, **options: object) -> tuple[RunSummary, Preflight]:
    shown: list[Preflight] = []

    def confirm(preflight: Preflight) -> bool:
        shown.append(preflight)
        return True

    arguments: dict[str, object] = {"model": "fathom/fake", "max_output_tokens": CAP, "confirm": confirm} | options
    summary = run(suite, out=out, **arguments)  # type: ignore[arg-type]  # options of a test
    return summary, shown[0]


def words(text: str) -> int:
    return get_tokenizer("words").count(text)


def test_forecast_counts_what_is_left(tmp_path: Path, seen: list[str]) -> None:
    suite = make_suite(tmp_path, 10, lengths=(256, 512))
    _, before = go(suite, tmp_path / "run", epochs=2, lengths=[256])
    assert (before.requests, before.total, before.finished) == (10, 10, 0)
    assert (before.tokens_in, before.tokens_out) == (10 * TOKENS, 10 * CAP)
    assert (before.cost_least, before.cost_most) == (0.0, 0.0)
    assert len(seen) == 10
    _, after = go(suite, tmp_path / "run", epochs=2)
    assert (after.requests, after.total, after.finished) == (10, 20, 10)
    assert [(forecast.length, forecast.requests) for forecast in after.lengths] == [(512, 10)]
    assert len(seen) == 20


def test_nothing_is_made_where_the_user_says_no(tmp_path: Path, seen: list[str]) -> None:
    summary = run(
        make_suite(tmp_path, 3), "fathom/fake", out=tmp_path / "run", max_output_tokens=CAP, confirm=lambda plan: False
    )
    assert summary.stopped == "not confirmed"
    assert not (tmp_path / "run").exists()
    assert seen == []


@pytest.mark.parametrize("policy", POLICIES)
def test_prompts_beyond_the_window(tmp_path: Path, seen: list[str], policy: Overflow) -> None:
    suite, window = make_suite(tmp_path, 4), 150
    _, preflight = go(suite, tmp_path / "run", window=window, on_overflow=policy)
    assert preflight.beyond == 4
    assert "4 prompts exceed the window of 150 tokens" in preflight.overflow_note
    rows = list(replies(tmp_path / "run"))
    if policy == "refuse":
        assert preflight.requests == len(seen) == 0
        assert {(row.reply.status, row.prompt_hash, row.reply.truncated, row.cost) for row in rows} == {
            ("overflow", "", 0, 0.0)
        }
        return
    assert preflight.tokens_in == 4 * (window - CAP)
    assert len(seen) == 4
    # Two halves that meet in the middle of two words make one word of them.
    left = {words(prompt) for prompt in seen}
    assert left <= {window - CAP, window - CAP - (policy == "middle")}
    assert {row.reply.truncated for row in rows} == {TOKENS - tokens for tokens in left}
    assert all(("[sample" in prompt) == (policy != "left") for prompt in seen)
    assert all(("When does it" in prompt) == (policy != "right") for prompt in seen)


def test_prompts_within_the_window_are_left_alone(tmp_path: Path, seen: list[str]) -> None:
    _, preflight = go(make_suite(tmp_path, 2), tmp_path / "run", window=TOKENS + CAP)
    assert (preflight.beyond, preflight.overflow_note) == (0, "")
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"ok"}


def test_a_window_without_room_is_told(tmp_path: Path, seen: list[str]) -> None:
    with pytest.raises(FathomError, match="window of 50 tokens leaves no room"):
        go(make_suite(tmp_path, 1), tmp_path / "run", window=CAP, on_overflow="middle")


@pytest.mark.parametrize(("query", "status"), [("?window=256", "ok"), ("?window=256&truncate=middle", "ok")])
def test_a_baseline_with_a_window_that_holds_the_prompt(
    tmp_path: Path, seen: list[str], query: str, status: str
) -> None:
    go(make_suite(tmp_path, 1), tmp_path / "run", model=f"fathom/fake{query}")
    (row,) = replies(tmp_path / "run")
    assert (row.reply.status, row.reply.truncated, words(seen[0])) == (status, 0, TOKENS)


def test_a_baseline_behind_a_window_cuts_as_a_server_would(
    tmp_path: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The shortest real window is longer than these prompts.
    monkeypatch.setattr(baselines_module, "parse_length", lambda given, longest: int(given))
    _, preflight = go(make_suite(tmp_path, 2), tmp_path / "run", model="fathom/fake?window=100&truncate=middle")
    assert (preflight.window, preflight.window_from, preflight.on_overflow) == (100, "baseline", "middle")
    assert (preflight.beyond, preflight.tokens_in) == (2, 200)
    assert [words(prompt) for prompt in seen] == [99, 99]
    assert {row.reply.truncated for row in replies(tmp_path / "run")} == {TOKENS - 99}
    go(make_suite(tmp_path, 2), tmp_path / "refused", model="fathom/fake?window=100")
    assert {row.reply.status for row in replies(tmp_path / "refused")} == {"overflow"}
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?width=4k", "unknown option 'width'"),
        ("?window=4k&truncate=top", "unknown overflow policy 'top'"),
        ("?truncate=middle", "truncate needs a window"),
        ("?window=some", "expected a number of tokens"),
        ("?nonsense", "unknown option 'nonsense'"),
    ],
)
def test_bad_baseline_options_are_told(seen: list[str], query: str, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        baseline_client(f"fathom/fake{query}", lambda: get_tokenizer("words"))


def test_dice_depend_on_seed_sample_and_epoch_only(tmp_path: Path, seen: list[str]) -> None:
    suite = make_suite(tmp_path, 5)

    def texts(out: str, **options: object) -> dict[tuple[str, int], str]:
        go(suite, tmp_path / out, **options)
        return {(row.sample, row.epoch): row.reply.text for row in replies(tmp_path / out)}

    first = texts("a", epochs=2)
    assert texts("b", epochs=2, max_connections=1) == first
    assert len(set(first.values())) == 10
    assert not set(texts("c", epochs=2, seed=1).values()) & set(first.values())


@given(
    text=st.text(alphabet="ab 字\n", max_size=200),
    budget=st.integers(1, 60),
    policy=st.sampled_from([policy for policy in POLICIES if policy != "refuse"]),
    name=st.sampled_from(["words", "chars"]),
)
def test_a_cut_prompt_fits_and_counts_what_it_lost(text: str, budget: int, policy: Overflow, name: str) -> None:
    tokenizer = get_tokenizer(name)
    fitted = fit(text, budget, policy, tokenizer)
    assert fitted is not None
    assert tokenizer.count(fitted.prompt) == tokenizer.count(text) - fitted.removed <= budget
    if tokenizer.count(text) <= budget:
        assert fitted.prompt == text
    if policy == "right":
        assert text.startswith(fitted.prompt)
    if policy == "left":
        assert text.endswith(fitted.prompt)


def test_middle_keeps_both_ends() -> None:
    fitted = fit("abcdefghij", 5, "middle", get_tokenizer("chars"))
    assert fitted is not None
    assert (fitted.prompt, fitted.removed) == ("abcij", 5)


# ----------------------------------------------------------------------------------------- prices and limits


def test_every_built_in_price_is_dated_and_sourced(seen: list[str]) -> None:
    table = prices_module._built_in()
    assert len(table) >= 10
    for name, price in table.items():
        assert "/" in name
        assert price.source.startswith("https://"), name
        assert len(price.checked) == 7, name
        assert price.window is not None
        assert price.window >= 100_000
        assert price.cost(1_000_000, 0) is not None


def test_cost_counts_cache_and_long_prompts() -> None:
    price = Price(input=2.0, output=10.0, cached=0.2, above=1000, input_above=4.0, output_above=20.0)
    assert price.cost(1000, 100) == pytest.approx((1000 * 2 + 100 * 10) / 1e6)
    assert price.cost(1000, 100, 600) == pytest.approx((400 * 2 + 600 * 0.2 + 100 * 10) / 1e6)
    assert price.cost(1001, 100) == pytest.approx((1001 * 4 + 100 * 20) / 1e6)
    assert UNKNOWN.cost(1, 1) is None
    assert FREE.cost(10**9, 10**9) == 0.0


def test_prices_are_found_and_extended(tmp_path: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_price("openai/gpt-4o-2024-08-06") == find_price("openai/gpt-4o") != UNKNOWN
    assert find_price("openai/gpt-4o", "http://127.0.0.1:8000/v1") == UNKNOWN
    assert find_price("fathom/guess") == FREE
    assert find_price("local/model") == FREE
    assert find_price("lab/model") == UNKNOWN
    table = tmp_path / "mine.toml"
    table.write_text('["local/model"]\nwindow = 4096\ninput = 1\noutput = 2.5\n["openai/gpt-4o"]\nwindow = 5\n')
    monkeypatch.setenv("FATHOM_PRICES", str(table))
    assert find_price("local/model", "http://127.0.0.1:1/v1") == Price(window=4096, input=1, output=2.5)
    assert find_price("openai/gpt-4o") == price_table()["openai/gpt-4o"] == Price(window=5)
    assert len(price_table()) == len(prices_module._built_in()) + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "not valid TOML"),
        ("x = 1", "expected a table"),
        ("[x]\nprice = 1", "unknown field 'price'"),
        ('[x]\ninput = "1"\noutput = 2', "input = '1': expected a number"),
        ("[x]\ninput = -1\noutput = 2", "negative"),
        ("[x]\ninput = 1", "prices together"),
        ("[x]\nwindow = true", "window = True: expected a number"),
    ],
)
def test_bad_price_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    table = tmp_path / "mine.toml"
    table.write_text(text)
    monkeypatch.setenv("FATHOM_PRICES", str(table))
    with pytest.raises(FathomError, match=f"(?s)mine.toml.*{message}"):
        find_price("x")
    monkeypatch.setenv("FATHOM_PRICES", str(tmp_path / "absent.toml"))
    with pytest.raises(FathomError, match="no such file"):
        find_price("x")


def test_a_forecast_beyond_a_limit_refuses_to_start(
    tmp_path: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, most = make_suite(tmp_path, 10), 10 * (TOKENS + CAP)
    with pytest.raises(FathomError, match=f"{most:,} tokens.*`max_tokens_total` {most - 1:,}; nothing was sent"):
        go(suite, tmp_path / "run", max_tokens_total=most - 1)
    priced = Price(input=1000.0, output=1000.0)
    monkeypatch.setattr("fathom.run.chosen.find_price", lambda model, base_url: priced)
    with pytest.raises(FathomError, match=r"cost up to \$2.57.*`max_cost` \$2.00; nothing was sent"):
        go(suite, tmp_path / "run", max_cost=2.0)
    monkeypatch.setattr("fathom.run.chosen.find_price", lambda model, base_url: UNKNOWN)
    with pytest.raises(FathomError, match="the price of 'fathom/fake' is unknown"):
        go(suite, tmp_path / "run", max_cost=2.0)
    assert not (tmp_path / "run").exists()
    go(suite, tmp_path / "run", max_tokens_total=most)
    assert len(seen) == 10


def test_reasoning_gets_room_unless_the_user_caps() -> None:
    def cap(settings: Settings, price: Price = UNKNOWN) -> int:
        return output_caps(settings, price, lambda task: 30)("passkey")

    assert cap(Settings("x")) == 30
    assert cap(Settings("x", max_output_tokens=7), Price(reasons=True)) == 7
    assert cap(Settings("x"), Price(reasons=True)) == 30 + REASONING_ALLOWANCE
    assert cap(Settings("x", generation={"reasoning_effort": "none"}), Price(reasons=True)) == 30
    assert cap(Settings("x", generation={"reasoning_effort": "low"})) == 30 + REASONING_ALLOWANCE
    assert cap(Settings("x", generation={"reasoning_tokens": 1000})) == 1030


def test_a_notebook_has_a_loop_already(tmp_path: Path, seen: list[str]) -> None:
    async def cell() -> RunSummary:
        return go(make_suite(tmp_path, 2), tmp_path / "run")[0]

    summary = asyncio.run(cell())
    assert summary.progress is not None
    assert summary.progress.finished == 2


def test_progress_is_told_after_every_reply(tmp_path: Path, seen: list[str]) -> None:
    states: list[Progress] = []
    go(make_suite(tmp_path, 6), tmp_path / "run", progress=states.append)
    assert [state.finished for state in states] == [1, 2, 3, 4, 5, 6]
    assert {state.total for state in states} == {6}
    assert states[-1].counts["ok"] == 6


@pytest.mark.parametrize("option", ["epochs", "limit", "max_connections", "max_output_tokens", "window"])
def test_impossible_numbers_are_told(tmp_path: Path, seen: list[str], option: str) -> None:
    with pytest.raises(FathomError, match=f"{option}=0: .*expected"):
        go(make_suite(tmp_path, 1), tmp_path / "run", **{option: 0})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("retries", -1),
        ("timeout", 0),
        ("timeout", -5.0),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("seed", -1),
        ("seed", 2**63),
        ("reasoning_tokens", -1),
        ("backoff", -1.0),
        ("max_cost", float("nan")),
        ("max_cost", -1.0),
        ("max_tokens_total", 0),
    ],
)
def test_other_impossible_numbers_are_told_too(tmp_path: Path, seen: list[str], option: str, value: float) -> None:
    with pytest.raises(FathomError, match=f"{option}=.*: expected"):
        go(make_suite(tmp_path, 1), tmp_path / "run", **{option: value})
    assert not seen


def test_unknown_things_are_told(tmp_path: Path, seen: list[str]) -> None:
    suite = make_suite(tmp_path, 1)
    with pytest.raises(FathomError, match="on_overflow='top': expected refuse, middle"):
        go(suite, tmp_path / "run", on_overflow="top")
    with pytest.raises(FathomError, match=r"`lengths` 999: suite 'tiny' was built at 256; choose among these"):
        go(suite, tmp_path / "run", lengths=[256, 999])
    with pytest.raises(
        FathomError, match=r"`tasks` paskey: suite 'tiny' has the tasks passkey.*; did you mean passkey\?"
    ):
        go(suite, tmp_path / "run", tasks=["passkey", "paskey"])
    with pytest.raises(FathomError, match=r"`tasks` nope: suite 'tiny' has the tasks passkey"):
        go(suite, tmp_path / "run", tasks=["nope"])
    with pytest.raises(FathomError, match="not a built suite"):
        go(tmp_path, tmp_path / "run")


@pytest.mark.slow
def test_importing_the_room_loads_no_model_layer() -> None:
    heavy = ("inspect_ai", "openai", "pyarrow", "tiktoken")
    code = f"import sys, fathom.run; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
