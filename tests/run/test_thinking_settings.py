"""What follows from ``--thinking``, the model's kind and what is given: rules that hold for every combination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.models.model_settings import KINDS, SWITCHES, Kind, ModelSettings
from fathom.models.overflow import POLICIES
from fathom.models.prices import TRUNCATION, UNKNOWN, Price, find_limit
from fathom.models.protocol import Settings
from fathom.models.settings import Reasoning, Sampling
from fathom.models.thinking import Thinking, ThinkingSettings, describe_thinking, doubts, switch_of, thinking_settings
from fathom.options.declare import fields_of
from fathom.run.preflight import output_caps, reasons
from fathom.types import FathomError

QWEN = ModelSettings("mixed", 128_000, None, 120_000, 1024, 8192, 0.7, 0.6)


class Windowless:
    """A client that cuts nothing, as all but baselines."""

    window = None
    policy = "refuse"


entries = st.none() | st.builds(
    ModelSettings,
    kind=st.sampled_from(KINDS),
    context=st.sampled_from([None, 128_000, 255_999, 256_000, 1_000_000]),
    truncation=st.sampled_from([None, 120_000]),
    output=st.sampled_from([None, 1024]),
    output_thinking=st.sampled_from([None, 8192, 32_768]),
    temperature=st.sampled_from([None, 0.7]),
    temperature_thinking=st.sampled_from([None, 0.0, 0.6]),
    switch=st.sampled_from([None, *SWITCHES]),
)
reasoning = st.fixed_dictionaries(
    {},
    optional={
        "reasoning_effort": st.sampled_from(["none", "low", "high"]),
        "reasoning_tokens": st.sampled_from([0, 5000]),
        "top_p": st.just(0.5),
        "extra_body": st.sampled_from(
            [
                {},
                {"top_k": 3},
                {"chat_template_kwargs": {"lang": "en"}},
                {"chat_template_kwargs": {"enable_thinking": "mine", "thinking": "mine"}},
                {"thinking": {"type": "mine", "more": 1}},
            ]
        ),
    },
)
options = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["on", "off"]),
        "model": st.sampled_from(["openai/x", "vllm/x", "anthropic/x", "google/x", "together/x", "fathom/x"]),
        "entry": entries,
        "generation": reasoning,
    },
    optional={
        "kind": st.sampled_from(KINDS),
        "switch": st.sampled_from(SWITCHES),
        "base_url": st.just("http://127.0.0.1:1/v1"),
        "chat_template": st.sampled_from(["always", "by-task", "never"]),
        "window": st.sampled_from([32_768, 256_000]),
        "known_window": st.sampled_from([None, 64_000, 400_000]),
        "on_overflow": st.sampled_from(POLICIES),
        "max_output_tokens": st.sampled_from([1, 1024, 4000]),
        "temperature": st.sampled_from([None, 0.0, 0.3, "default"]),
    },
)


def decide(**given: Any) -> ThinkingSettings:
    names = {"mode": "thinking", "kind": "model_kind", "switch": "thinking_switch", "base_url": "model_base_url"}
    own = {name: given.pop(name) for name in ("generation", "known_window") if name in given}
    model, entry = given.pop("model", "openai/x"), given.pop("entry", None)
    values = {names.get(name, name): value for name, value in {"mode": "on", **given}.items()}
    of_reasoning = {field.name for field in fields_of(Reasoning)}
    sampling = Sampling(**{name: value for name, value in values.items() if name not in of_reasoning})
    reasoning = Reasoning(**{name: value for name, value in values.items() if name in of_reasoning})
    return thinking_settings(model, entry, sampling, reasoning, **own)


@pytest.mark.slow
@settings(max_examples=500)
@given(options)
def test_every_combination_is_an_error_or_keeps_the_rules(chosen: dict[str, Any]) -> None:
    entry, mode, generation = chosen["entry"], chosen["mode"], chosen["generation"]
    kind = chosen.get("kind") or (entry and entry.kind)
    try:
        decided = decide(**chosen)
    except FathomError:
        assert may_fail(chosen, kind)
        return
    thinking = decided.thinking
    assert thinking is not None
    assert kind is not None
    assert (thinking.mode, thinking.kind) == (mode, kind)
    assert not must_fail(chosen, kind)
    # Only a model without native reasoning is asked to think, and only it shows its thoughts.
    assert (thinking.prompt == "thinking") == thinking.visible == (kind == "instruct" and mode == "on")
    assert thinking.native == (kind == "thinking" or (kind == "mixed" and mode == "on"))
    # A thinking score comes with thoughts, a non-thinking score without.
    assert bool(thinking.thoughts) == (mode == "on") == (thinking.score == "thinking")
    cap = chosen.get("max_output_tokens")
    if cap is None and mode == "on":
        window = chosen.get("window") or (entry and entry.context) or chosen.get("known_window") or 0
        cap = (entry and entry.output_thinking) or (32_768 if window >= 256_000 else 8_192)
    assert decided.max_output_tokens == cap
    if chosen.get("temperature", "default") != "default":
        assert decided.temperature == chosen["temperature"]
    else:
        own = entry and (entry.temperature_thinking if mode == "on" else entry.temperature)
        assert decided.temperature == (1.0 if own is None else own)
    assert decided.on_overflow == chosen.get("on_overflow", "middle")
    assert thinking.truncation == (None if "window" in chosen or entry is None else entry.truncation)
    check_sent(chosen, thinking, decided.generation, cap)
    # The words are of this run.
    words = describe_thinking(decided, window=None)
    assert words.startswith(f"thinking {mode}: {kind} model, {thinking.prompt} prompt, ")
    assert "mine" not in words or "mine" in str(generation)
    assert "top_k" not in words


def may_fail(chosen: Mapping[str, Any], kind: Kind | None) -> bool:
    unknown_way = chosen["model"].startswith(("together/", "openai/")) and "switch" not in chosen
    return must_fail(chosen, kind) or (unknown_way and kind == "mixed") or chosen.get("chat_template") in CUT


CUT = ("by-task", "never")


def must_fail(chosen: Mapping[str, Any], kind: Kind | None) -> bool:
    """There is no such score, or the user's reasoning options speak against the mode."""
    if kind is None or (kind == "thinking" and chosen["mode"] == "off"):
        return True
    native = kind == "thinking" or (kind == "mixed" and chosen["mode"] == "on")
    told = [chosen["generation"].get(name) for name in ("reasoning_effort", "reasoning_tokens")]
    return any((value in (0, "none")) == native for value in told if value is not None)


def check_sent(chosen: Mapping[str, Any], thinking: Thinking, sent: Mapping[str, Any], cap: int | None) -> None:
    """What is sent to switch reasoning, besides what the user sends, which always comes through."""
    users = chosen["generation"]
    budget = {name: value for name, value in sent.items() if name.startswith("reasoning_")}
    if "switch" not in chosen and thinking.kind != "mixed":
        assert thinking.switch == "none"
    if thinking.switch == "none":
        assert sent == users
        return
    assert chosen.get("chat_template", "always") == "always"
    assert all(sent[name] == value for name, value in users.items() if name != "extra_body")
    told = {name: value for name, value in users.items() if name.startswith("reasoning_")}
    body, own = sent.get("extra_body", {}), users.get("extra_body", {})
    if thinking.switch in ("effort", "tokens"):
        assert body == own
        if told:
            assert budget == told
        elif thinking.switch == "effort":
            assert budget == {"reasoning_effort": "medium" if thinking.native else "none"}
        elif thinking.native:
            assert list(budget) == ["reasoning_tokens"]
            assert 0 < budget["reasoning_tokens"] <= max(1, cap or 0)
        else:
            assert budget == ({} if chosen["model"].startswith("anthropic/") else {"reasoning_tokens": 0})
        return
    assert budget == told
    if thinking.switch == "type":
        wanted = own.get("thinking", {}).get("type", "enabled" if thinking.native else "disabled")
        assert body["thinking"] == {**own.get("thinking", {}), "type": wanted}
    else:
        users_own = own.get("chat_template_kwargs", {})
        assert body["chat_template_kwargs"] == {thinking.switch: thinking.native, **users_own}
    assert {name: value for name, value in body.items() if name == "top_k"} == ({"top_k": 3} if "top_k" in own else {})


@pytest.mark.slow
@given(options)
def test_without_a_mode_nothing_changes(chosen: dict[str, Any]) -> None:
    chosen |= {"mode": None, "kind": None, "switch": None}
    decided = decide(**chosen)
    given_temperature = chosen.get("temperature", "default")
    assert decided == ThinkingSettings(
        None,
        chosen.get("max_output_tokens"),
        0.0 if given_temperature == "default" else given_temperature,
        chosen.get("on_overflow", "refuse"),
        chosen["generation"],
    )
    assert describe_thinking(decided, window=5) == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "maybe", "kind": "mixed"}, "thinking='maybe': expected on, off"),
        ({"kind": "hybrid"}, "model_kind='hybrid': expected thinking, mixed, instruct"),
        ({"kind": "mixed", "switch": "button"}, "thinking_switch='button': expected effort, tokens"),
        ({"kind": "thinking", "mode": "off"}, "x always reasons, and so has no non-thinking score"),
        ({}, r"openai/x is not in the table of models \(`fathom list settings`\). Use `model_kind`"),
        ({"model": "vllm/Qwen3-32B-AWQ"}, "vllm/Qwen3-32B-AWQ is not in the table .* Similar names: Qwen3-32B"),
        ({"kind": "mixed", "model": "together/x"}, "how together switches .* give `thinking_switch`"),
        ({"kind": "mixed", "chat_template": "never"}, "`chat_template` never: reasoning cannot be switched"),
        ({"kind": "mixed", "on_overflow": "squeeze"}, "on_overflow='squeeze': expected refuse, middle"),
        (
            {"kind": "instruct", "generation": {"reasoning_effort": "low"}},
            "`reasoning_effort` low: .* is off in a model",
        ),
        ({"kind": "mixed", "generation": {"reasoning_tokens": 0}}, "`reasoning_tokens` 0: .* is on in a model of kind"),
        ({"mode": None, "kind": "hybrid"}, "model_kind='hybrid': expected thinking, mixed, instruct"),
        ({"mode": None, "switch": "type"}, "`thinking_switch` type: needs `thinking`"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        decide(**given)


@pytest.mark.parametrize(
    ("model", "base_url", "switch"),
    [
        ("openai/gpt-9", None, "effort"),
        ("openai/mine", "http://x/v1", "enable_thinking"),
        ("vllm/mine", None, "enable_thinking"),
        ("sglang/mine", None, "enable_thinking"),
        ("openai-api/zai/glm", None, "enable_thinking"),
        ("anthropic/claude", "http://x", "tokens"),
        ("google/gemini", None, "tokens"),
        ("deepseek/deepseek-chat", None, "type"),
        ("fathom/guess", None, "none"),
    ],
)
def test_providers_switch_in_their_own_way(model: str, base_url: str | None, switch: str) -> None:
    assert switch_of(model, base_url) == switch


def test_an_entry_may_name_its_own_switch_and_the_user_another() -> None:
    entry = ModelSettings("mixed", switch="thinking")
    body = decide(model="vllm/d", entry=entry).generation["extra_body"]
    assert body == {"chat_template_kwargs": {"thinking": True}}
    body = decide(model="vllm/d", entry=entry, switch="type", mode="off").generation["extra_body"]
    assert body == {"thinking": {"type": "disabled"}}


def test_the_line_says_all_that_was_decided() -> None:
    words = describe_thinking(decide(model="vllm/q", entry=QWEN), window=120_000)
    assert words == (
        "thinking on: mixed model, plain prompt, at most 8,192 output tokens, temperature 0.6, prompts beyond 120,000 "
        "tokens lose their middle, chat_template_kwargs.enable_thinking=true"
    )
    words = describe_thinking(
        decide(mode="off", kind="instruct", temperature=None, window=9000, on_overflow="refuse"), window=9000
    )
    assert words == (
        "thinking off: instruct model, plain prompt, each task's own output cap, the provider's temperature, "
        "prompts that, with their reply, exceed 9,000 tokens are not sent"
    )
    words = describe_thinking(decide(kind="mixed", model="google/g", max_output_tokens=9000), window=None)
    assert words.endswith("at most 9,000 output tokens, temperature 1, reasoning_tokens=7976")


def test_what_was_decided_rules_caps_windows_and_reasoning() -> None:
    def ruled(price: Price, **given: Any) -> tuple[int, bool, int | None]:
        decided = decide(model="vllm/q", entry=QWEN, **given)
        asked = Settings(
            "vllm/q",
            max_output_tokens=decided.max_output_tokens,
            window=given.get("window"),
            on_overflow=decided.on_overflow,
            generation=decided.generation,
            thinking=decided.thinking,
        )
        limit = find_limit(asked, Windowless(), price)  # type: ignore[arg-type]  # all of a client that is looked at
        cap = output_caps(asked, price, lambda task: 1024)("any")
        assert (limit.source == TRUNCATION) == ("window" not in given)
        return cap, reasons(asked, price), limit.budget(cap)

    thinks = Price(window=50_000, reasons=True)
    # The truncation length is of the prompt alone, whatever the task's cap; a model known to reason is told not to.
    assert ruled(UNKNOWN, mode="off") == ruled(thinks, mode="off") == (1024, False, 120_000)
    assert ruled(UNKNOWN, mode="on") == ruled(thinks, mode="on") == (8192, True, 120_000)
    assert ruled(thinks, mode="on", window=32_768) == (8192, True, 32_768 - 8192)
    assert ruled(thinks, mode="off", window=32_768) == (1024, False, 32_768 - 1024)
    assert ruled(thinks, mode="off", kind="instruct", switch="effort") == (1024, False, 120_000)


def test_a_window_of_the_table_rules_where_it_has_no_truncation_length() -> None:
    def budget(entry: ModelSettings, **given: int) -> int | None:
        decided = decide(model="vllm/q", entry=entry, mode="on", **given)
        asked = Settings("vllm/q", window=given.get("window"), on_overflow="middle", thinking=decided.thinking)
        limit = find_limit(asked, Windowless(), Price(window=50_000), entry.context)  # type: ignore[arg-type]  # as above
        return limit.budget(1000)

    # The table of models goes before that of prices; prompt and reply share its window, unless replies have their own.
    assert budget(ModelSettings("mixed", context=32_000)) == 31_000
    assert budget(ModelSettings("mixed", context=32_000, longest_output=8000)) == 32_000
    assert budget(ModelSettings("mixed", context=32_000, truncation=20_000)) == 20_000
    assert budget(ModelSettings("mixed", context=32_000, longest_output=8000), window=9000) == 8000
    assert budget(ModelSettings("mixed")) == 49_000


@pytest.mark.parametrize(
    ("kind", "mode", "reasoned", "doubt"),
    [
        ("mixed", "on", 0, "should be on, but none of 9 replies"),
        ("thinking", "on", 0, "should be on"),
        ("mixed", "on", 1, ""),
        ("mixed", "off", 2, "should be off, but 2 of 9 replies"),
        ("mixed", "off", 0, ""),
        ("instruct", "on", 9, "should be off, but 9 of 9"),
        ("instruct", "on", 0, ""),
    ],
)
def test_a_switch_that_was_not_obeyed_is_seen(kind: Kind, mode: str, reasoned: int, doubt: str) -> None:
    thinking = decide(mode=mode, kind=kind, model="vllm/x").thinking
    assert thinking is not None
    found = doubts(thinking, replies=9, reasoned=reasoned)
    assert doubt in found
    assert bool(found) == bool(doubt)
    assert doubts(thinking, replies=0, reasoned=0) == ""


def test_kinds_and_switches_have_rules() -> None:
    """A kind or a switch that is added needs its row in the tests above."""
    assert set(KINDS) == {"thinking", "mixed", "instruct"}
    assert set(SWITCHES) == {"effort", "tokens", "enable_thinking", "thinking", "type", "none"}
    assert set(get_args(Kind)) == set(KINDS)
