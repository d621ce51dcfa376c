"""Methods are parsed with clear errors, and their values follow from the trained window."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.extend.methods import METHODS, NONE, make_method, reach, settled, split_name
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
    ],
)
def test_what_is_wrong_is_named(query: str, message: str) -> None:
    with pytest.raises(FathomError) as error:
        split_name(f"hf/x?{query}")
    assert message in str(error.value)
    assert "hf/x" in str(error.value)


def test_a_name_has_a_method_or_none() -> None:
    assert split_name("hf/a/b") == ("hf/a/b", NONE)
    name, method = split_name("hf/a/b?extend=leaky&window=1k&k=4&log=false")
    assert (name, method.name) == ("hf/a/b", "leaky")
    assert (method["window"], method["group"], method["log"]) == (1024, 4.0, False)
    assert method.record()["source"] == METHODS["leaky"].source


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
