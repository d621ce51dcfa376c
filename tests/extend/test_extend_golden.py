"""Frequencies and maps are those that the published code of each method gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathom.extend.frequencies import frequencies, plain_frequencies
from fathom.extend.methods import NONE, Method, make_method
from fathom.extend.positions import relative_positions
from fathom.types import FathomError

GENTLE = make_method("selfextend", {"window": 8, "group": 4})


@pytest.fixture
def golden(shared: Path) -> Path:
    folder = shared / "golden" / "extension"
    if not folder.is_dir():
        pytest.skip("the golden arrays are not in the shared data")
    return folder


def method_of(entry: dict[str, Any]) -> tuple[Method, int | None]:
    """The method of a golden array, and the length of its request."""
    kind = entry["method"]
    trained: Any = entry.get("original_max_position_embeddings") or entry.get("max_position_embeddings")
    options = {"factor": entry.get("factor") or entry.get("alpha") or entry.get("k"), "original": trained}
    if kind == "default":
        return NONE, None
    if kind in ("linear", "ntk_fixed"):
        return make_method({"linear": "pi", "ntk_fixed": "ntk"}[kind], options), None
    if kind == "ntk_mixed":
        return make_method("ntk", {**options, "form": "mixed"}), None
    if kind in ("dynamic", "dynamic_ntk"):
        return make_method("dynamic", options), entry["seq_len"]
    if kind == "longrope":
        ratio = entry["max_position_embeddings"] / trained
        lists = {name: entry.get(name) for name in ("long_factor", "short_factor")}
        made = make_method("longrope", {**options, "factor": entry.get("factor") or ratio, **lists})
        return made, entry.get("seq_len", trained + 1)
    more = {name: entry.get(name) for name in ("truncate", "low_freq_factor", "high_freq_factor")}
    return make_method(kind, {**options, **{name: one for name, one in more.items() if one is not None}}), None


@pytest.mark.slow
def test_every_inverse_frequency_and_attention_factor(golden: Path) -> None:
    index = json.loads((golden / "inv_freq_index.json").read_text("utf-8"))
    arrays = np.load(golden / "inv_freq.npz", allow_pickle=False)
    assert len(index) == 3534
    for entry in index:
        method, length = method_of(entry)
        inverse, factor = frequencies(method, entry["head_dim"], entry["base"], length)
        assert inverse.dtype == np.float32
        np.testing.assert_allclose(inverse, arrays[entry["key"]], rtol=1e-6, atol=0, err_msg=str(entry["key"]))
        assert factor == pytest.approx(entry["attention_factor"], abs=1e-12)


@pytest.mark.parametrize(
    ("file", "name", "method"),
    [
        ("rerope_streaming", "rerope", make_method("rerope", {"window": 8})),
        ("rerope_streaming", "leaky", make_method("leaky", {"window": 8, "k": 4})),
        ("rerope_streaming", "streaming", make_method("streaming", {"sinks": 4, "window": 12})),
        ("selfextend_dca", "selfextend_g4w8", GENTLE),
        # Where the group does not divide the window, which users cannot ask for, the map is that of the eager branch.
        ("selfextend_dca", "selfextend_g4w10", GENTLE.but(window=10)),
        ("selfextend_dca", "dca_pre16", make_method("dca", {"chunk": 12, "local": 2})),
    ],
)
def test_every_map(golden: Path, file: str, name: str, method: Method) -> None:
    arrays = np.load(golden / f"attention_{file}.npz", allow_pickle=False)
    maps = [arrays[key] for key in arrays.files if key.startswith(f"{name}_map")]
    assert maps
    for expected in maps:
        np.testing.assert_allclose(relative_positions(method, len(expected)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["pi", "ntk", "yarn", "llama3", "dynamic"])
def test_a_factor_of_1_changes_no_frequency(name: str) -> None:
    inverse, factor = frequencies(make_method(name, {"factor": 1, "original": 4096}), 64, 1e4, 4096)
    np.testing.assert_allclose(inverse, plain_frequencies(64, 1e4), rtol=3e-7)  # the last digit of a float32
    assert factor == 1


@pytest.mark.parametrize("form", ["su", "mixed"])
def test_a_factor_of_1_changes_no_frequency_in_any_form(form: str) -> None:
    inverse, _ = frequencies(make_method("ntk", {"factor": 1, "form": form}), 64, 1e4)
    np.testing.assert_array_equal(inverse, plain_frequencies(64, 1e4))


@pytest.mark.parametrize(
    "method",
    [
        make_method("leaky", {"window": 8, "group": 1}),
        make_method("selfextend", {"window": 8, "group": 1}),
        make_method("rerope", {"window": 40}),
        make_method("dca", {"chunk": 42, "local": 2}),
        make_method("streaming", {"sinks": 4, "window": 36}),
        make_method("streaming", {"sinks": 0, "window": 39}),
    ],
    ids=str,
)
def test_within_the_window_and_without_groups_nothing_changes(method: Method) -> None:
    np.testing.assert_array_equal(relative_positions(method, 40), relative_positions(NONE, 40))


def test_leaky_with_huge_groups_is_rerope() -> None:
    leaky = relative_positions(make_method("leaky", {"window": 8, "group": 1e12}), 40)
    np.testing.assert_allclose(leaky, relative_positions(make_method("rerope", {"window": 8}), 40), atol=1e-9)


def test_longrope_and_dynamic_depend_on_the_request() -> None:
    longrope = make_method("longrope", {"long_factor": [2.0] * 4, "factor": 4, "original": 100})
    within, beyond = (frequencies(longrope, 8, 1e4, length) for length in (100, 101))
    np.testing.assert_array_equal(within[0], plain_frequencies(8, 1e4))
    np.testing.assert_allclose(beyond[0], plain_frequencies(8, 1e4) / 2, rtol=1e-6)
    assert within[1] == beyond[1] > 1
    dynamic = make_method("dynamic", {"original": 100})
    bases = [frequencies(dynamic, 8, 1e4, length)[0][-1] for length in (50, 100, 200, 400)]
    assert bases[0] == bases[1] > bases[2] > bases[3]


@pytest.mark.parametrize(
    ("head_dim", "base", "message"), [(3, 1e4, "even number"), (64, 1.0, "above 1"), (64, float("inf"), "above 1")]
)
def test_impossible_models_are_refused(head_dim: int, base: float, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        frequencies(NONE, head_dim, base)


def test_divisors_are_as_many_as_frequencies() -> None:
    method = make_method("longrope", {"long_factor": [2.0] * 3, "factor": 4, "original": 100})
    with pytest.raises(FathomError, match="long_factor has 3 numbers, but heads of 8 have 4"):
        frequencies(method, 8, 1e4)
