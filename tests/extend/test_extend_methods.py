"""Methods are parsed with clear errors, and their values follow from the trained window."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.extend.methods import (
    CACHES,
    FULL,
    METHODS,
    NONE,
    Method,
    evicts,
    make_method,
    reach,
    settled,
    split_name,
    stay,
)
from fathom.extend.positions import POSITIONS, Level, check_levels, levels
from fathom.types import FathomError


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("extend=yarm&factor=4", "unknown method 'yarm'; did you mean yarn"),
        ("extend=yarn&factor=0.5", "factor=0.5: expected 1 or more"),
        ("extend=yarn&factor=nan", "factor=nan: expected 1 or more"),
        ("extend=yarn&factor=inf", "factor=inf: expected 1 or more"),
        ("extend=yarn&factor=four", "factor=four: expected a number"),
        ("extend=yarn&factor=4&group=2", "method yarn has no option 'group'"),
        ("extend=yarn&factor=4&factor=8", "an option is given twice"),
        ("extend=yarn&factor=4&truncate=1", "expected true or false"),
        ("extend=yarn&factor=4&beta_fast=1", "beta_fast must be more than beta_slow"),
        ("extend=yarn&factor=4&mscale=1", "give both mscale and mscale_all_dim"),
        ("extend=ntk&factor=4&form=none", "expected one of bloc97, su and mixed"),
        ("extend=llama3&low_freq_factor=4", "high_freq_factor must be more than"),
        ("extend=longrope&factor=4", "longrope needs long_factor"),
        ("extend=selfextend&window=10&group=4", "window 10 is not a multiple of group 4"),
        ("extend=selfextend&group=2.5", "group=2.5: expected a whole number"),
        ("extend=dca&chunk=8&local=8", "local 8 must be less than chunk 8"),
        ("extend=streaming&sinks=-1", "sinks=-1: expected a number of tokens"),
        ("extend=rerope&window=0", "window=0: expected 1 or more"),
        ("extend=rerope&window=many", "expected a number of tokens"),
        ("factor=4", "expected hf/x?extend=METHOD"),
        ("", "expected hf/x?extend=METHOD"),
        ("cache=snapkw&budget=64", "unknown method 'snapkw'; did you mean snapkv"),
        ("cache=yarn&factor=4", "unknown method 'yarn'"),
        ("cache=h2o", "h2o needs a budget"),
        ("cache=h2o&budget=0", "budget=0: expected 1 or more"),
        ("cache=h2o&budget=1", "budget 1: expected 2 or more"),
        ("cache=random&budget=64&recent=64", "recent 64 must be less than budget 64"),
        ("cache=recent&budget=4", "sinks 4 must be less than budget 4"),
        ("cache=snapkv&budget=32", "window 32 must be less than budget 32"),
        ("cache=snapkv&kernel=4", "kernel 4: expected an odd number"),
        ("cache=snapkv&pooling=min", "expected one of avg and max"),
        ("cache=pyramid", "pyramid needs a budget, the tokens whose keys and values stay (budget=1024), or a ratio"),
        (
            "cache=pyramid&budget=51",
            "budget 51 less the window of 32, divided by beta 20, leaves the last layer nothing",
        ),
        ("cache=pyramid&budget=32", "window 32 must be less than budget 32"),
        ("cache=pyramid&budget=64&beta=0.5", "beta=0.5: expected 1 or more"),
        ("cache=pyramid&budget=64&kernel=4", "kernel 4: expected an odd number"),
        ("cache=h2o&budget=64&ratio=0.5", "h2o: give a budget or a ratio, not both"),
        ("cache=snapkv&ratio=1", "ratio=1: expected less than 1"),
        ("cache=snapkv&ratio=-0.5", "ratio=-0.5: expected 0 or more"),
        ("cache=full&ratio=0.5", "method full has no option 'ratio'"),
        ("cache=kvpress&ratio=0.5", "kvpress needs a press and a ratio, as in cache=kvpress&press=SnapKVPress"),
        ("cache=kvpress&press=KnormPress&budget=64", "method kvpress has no option 'budget'"),
        ("cache=snapkv&question=late", "question=late: expected one of together and apart"),
        ("cache=fp8&budget=64", "method fp8 has no option 'budget'"),
        ("cache=h2o&budget=64&budget=32", "an option is given twice"),
        ("extend=yarn&factor=4&budget=64&cache=h2o", "method yarn has no option 'budget'"),
    ],
)
def test_what_is_wrong_is_named(query: str, message: str) -> None:
    with pytest.raises(FathomError) as error:
        split_name(f"hf/x?{query}")
    assert message in str(error.value)
    assert "hf/x" in str(error.value)


def test_a_name_has_a_method_or_none() -> None:
    assert split_name("hf/a/b") == ("hf/a/b", NONE, FULL)
    name, method, cache = split_name("hf/a/b?extend=leaky&window=1k&k=4&log=false")
    assert (name, method.name) == ("hf/a/b", "leaky")
    assert (method["window"], method["group"], method["log"]) == (1024, 4.0, False)
    assert method.record()["source"] == METHODS["leaky"].source
    assert cache is FULL


def test_options_belong_to_the_method_before_them() -> None:
    extend, cache = "extend=rerope&window=64", "cache=snapkv&budget=48&window=16"
    for query in (f"{extend}&{cache}", f"{cache}&{extend}"):
        _, method, kept = split_name(f"hf/x?{query}")
        assert (method.name, method["window"]) == ("rerope", 64)
        assert (kept.name, kept["window"], kept["budget"], kept["kernel"]) == ("snapkv", 16, 48, 5)
        assert kept.kind.source == CACHES["snapkv"].source
    assert split_name(f"hf/x?{cache}")[1] is NONE


def test_values_follow_from_the_window() -> None:
    dca = settled(make_method("dca"), 4096)
    assert (dca["chunk"], dca["local"]) == (3072, 512)
    yarn = settled(make_method("yarn", {"length": "32k"}), 8192)
    assert (yarn["factor"], yarn["original"], reach(yarn)) == (4.0, 8192, 32768)
    # What the user says goes before what the configuration says.
    assert settled(make_method("yarn", {"factor": 4, "original": 2048}), 8192)["original"] == 2048


def test_reach_is_how_far_distances_stay_within_the_window() -> None:
    assert reach(settled(make_method("selfextend", {"window": 1024, "group": 8}), 4096)) == 3072 * 8 + 1024
    assert reach(settled(make_method("leaky", {"window": 512, "group": 16}), 4096)) == 3584 * 16 + 512
    assert reach(settled(make_method("rerope"), 4096)) is None
    assert reach(settled(make_method("dynamic", {"factor": 4}), 4096)) == 16384


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rerope", {"window": 8192}, "distances up to 8,192 are more than the 4,096"),
        ("dca", {"chunk": 8192}, "give a smaller chunk"),
        ("streaming", {"window": 4093}, "distances up to 4,097"),
        ("selfextend", {"length": "64k"}, "beyond its reach of 25,600 tokens"),
        ("yarn", {}, "needs a factor, or the length"),
    ],
)
def test_a_method_fits_the_window(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        settled(make_method(name, options), 4096)


def test_divisors_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "divisors.json"
    file.write_text("[1.0, 2.5]", "utf-8")
    from_file = make_method("longrope", {"long_factor": str(file), "factor": 4})
    assert from_file.numbers("long_factor") == (1.0, 2.5)
    assert from_file == make_method("longrope", {"long_factor": "1,2.5", "factor": "4"})
    with pytest.raises(FathomError, match="numbers separated by commas"):
        make_method("longrope", {"long_factor": str(tmp_path / "none.json"), "factor": 4})


def test_a_ratio_takes_the_place_of_the_budget() -> None:
    cache = split_name("hf/x?cache=snapkv&ratio=0.75")[2]
    assert (cache["budget"], cache["ratio"]) == (None, 0.75)
    assert cache.record()["ratio"] == 0.75
    assert "budget" not in cache.record()
    assert stay(cache, 1000) == 250
    assert stay(make_method("snapkv", {"budget": 250}, CACHES), 1000) == 250
    assert stay(make_method("h2o", {"ratio": 0}, CACHES), 1000) == 1000
    kept_whole = {"full", "fp8"}
    assert {
        name for name, kind in CACHES.items() if "ratio" not in {parameter.name for parameter in kind.parameters}
    } == kept_whole
    assert {name for name in CACHES if not evicts(Method(name))} == kept_whole


@pytest.mark.parametrize(
    ("name", "options", "tokens"),
    [
        ("snapkv", {"ratio": 0.9}, 329),
        ("pyramid", {"ratio": 0.9}, 519),
        ("recent", {"ratio": 0.9}, 49),
        ("random", {"ratio": 0.9}, 19),
        ("h2o", {"ratio": 0.9, "recent": 10}, 109),
        ("pyramid", {"budget": 64, "window": 32, "beta": 32}, 0),
    ],
)
def test_prompts_of_which_nothing_could_be_chosen_are_refused(
    name: str, options: dict[str, object], tokens: int
) -> None:
    cache = make_method(name, options, CACHES)
    if tokens:
        with pytest.raises(FathomError, match="nothing to choose"):
            stay(cache, tokens, 31, 32)
    assert stay(cache, tokens + 11, 31, 32) >= 1


@settings(deadline=None)
@given(
    window=st.integers(1, 64), mean=st.integers(20, 4096), beta=st.integers(1, 20), layers=st.integers(1, 100),
    more=st.integers(1, 20_000),
)  # fmt: skip
def test_budgets_of_a_pyramid_fall_on_a_line_and_have_the_mean(
    window: int, mean: int, beta: int, layers: int, more: int
) -> None:
    options = {"budget": mean + window, "window": window, "beta": beta}
    cache, tokens = make_method("pyramid", options, CACHES), mean + window + more
    found = [stay(cache, tokens, layer, layers) for layer in range(layers)]
    assert sum(found) == layers * (mean + window)
    assert found == sorted(found, reverse=True)
    assert window < found[-1] <= found[0] <= tokens
    steps = [one - two for one, two in pairwise(found)]
    assert max(steps, default=0) - min(steps, default=0) <= 2  # each end of a step is rounded
    if layers > 1 and 2 * mean - mean / beta <= tokens - window:  # the released code's rule, but for its rounding
        assert abs(found[-1] - window - mean / beta) <= 0.5
        assert abs(found[0] - window - (2 * mean - mean / beta)) <= 0.5


def test_budgets_of_a_pyramid_are_those_of_the_released_code() -> None:
    """A mean of 2,048, a window of 8, beta 20, 32 layers: 3,978 to 102 chosen tokens; its steps are 125, cut off."""
    cache = make_method("pyramid", {"budget": 2048, "window": 8}, CACHES)
    found = [stay(cache, 100_000, layer, 32) - 8 for layer in range(32)]
    assert (found[0], found[-1]) == (3978, 102)
    assert {one - two for one, two in pairwise(found)} == {125, 126}
    # A prompt that is shorter than the first layer's budget stays there whole.
    assert [stay(cache, 3000, layer, 32) for layer in (0, 31)] == [3000, 8 + 2 * 2040 - 2992]


def _is_near(i: Any, j: Any) -> Any:
    return i - j < 8


@pytest.mark.parametrize(
    ("covers", "message"),
    [
        ((_is_near, lambda i, j: i - j >= 7), "two levels cover one pair"),
        ((lambda i, j: (i - j) % 2 == 0,), "level 1 does not cover a range"),
        ((lambda i, j: j >= 20 - i,), "level 1 does not cover a range"),
        ((lambda i, j: (i != 9) | (j > 5),), "level 1 does not cover a range"),
        ((_is_near, lambda i, j: (i - j >= 8) & (i != 30)), "level 2 does not cover a range"),
    ],
)
def test_maps_that_attention_in_blocks_would_compute_wrongly_are_refused(covers: Any, message: str) -> None:
    made = tuple(Level(lambda i: i, lambda j: j, each) for each in covers)
    with pytest.raises(FathomError, match=f"method new: {message}"):
        check_levels("new", made, 8)


@pytest.mark.parametrize("name", POSITIONS)
def test_the_maps_of_all_methods_keep_the_rule(name: str) -> None:
    for window in (2048, 8192):
        assert levels(settled(make_method(name), window))
