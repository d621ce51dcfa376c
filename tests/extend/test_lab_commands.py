"""``fathom lab`` prints frequencies, maps and flags of servers."""

from __future__ import annotations

import json
import math
import shlex

import numpy as np
import pytest

from command_line import Call
from fathom import api
from fathom.extend.frequencies import frequencies
from fathom.extend.methods import CACHES, METHODS, SYSTEMS, make_method, settled
from fathom.extend.positions import MOST
from fathom.extend.servers import SERVERS, flags, method_of_command
from fathom.types import FathomError

YARN = ("frequencies", "yarn", "--head-dim", "128", "--base", "10000", "--factor", "4", "--original", "4096")


def test_frequencies_as_json_are_the_floats_themselves(call: Call) -> None:
    code, out, _ = call("lab", *YARN, "--length", "16384", "--json")
    found = json.loads(out)
    inverse, factor = frequencies(make_method("yarn", {"factor": 4, "original": 4096}), 128, 10_000)
    assert code == 0
    assert np.array_equal(np.array(found["inv_freq"], dtype=np.float32), inverse)
    assert found["attention_factor"] == factor == pytest.approx(0.1 * math.log(4) + 1)
    assert found["method"]["factor"] == 4


def test_the_factor_follows_from_the_lengths() -> None:
    given = api.lab_frequencies("yarn", factor=4, original=4096)
    assert api.lab_frequencies("yarn", original="4k", length="16k").inv_freq == given.inv_freq
    other = api.lab_frequencies("yarn", factor=4, original=4096, option={"beta_fast": 16})
    assert other.inv_freq != given.inv_freq


def test_frequencies_as_a_table(call: Call) -> None:
    code, out, _ = call("lab", *YARN)
    assert code == 0
    assert "wavelength with" in out
    assert "attention factor 1.13863" in out


def test_positions_as_json(call: Call) -> None:
    code, out, _ = call("lab", "positions", "rerope", "--window", "8", "--length", "40", "--json")
    found = json.loads(out)["map"]
    assert code == 0
    assert found[39][:33] == [8] * 32 + [7]
    assert found[0] == [0] + [None] * 39


def test_positions_as_a_picture(call: Call) -> None:
    code, out, _ = call("lab", "positions", "streaming", "--sinks", "2", "--window", "3", "--length", "8")
    assert code == 0
    assert out.splitlines()[7] == "54..3210"
    assert "keys 0 to 1: 5 to 4\n  keys 2 to 3: not seen\n  keys 4 to 7: 3 to 0" in out


def test_long_maps_are_told_in_words_and_longer_ones_refused(call: Call) -> None:
    code, out, _ = call("lab", "positions", "leaky", "--window", "8", "--k", "4", "--length", "100")
    assert code == 0
    assert out.startswith("Query 99:\n  keys 0 to 91: 30.75 to 8\n")
    code, _, error = call("lab", "positions", "none", "--length", str(MOST + 1))
    assert code == 2
    assert "at most 4,096" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("positions", "selfextend", "--window", "10", "--group", "4"), "not a multiple of group 4"),
        (("positions", "rerope", "--chunk", "8"), "no option 'chunk'"),
        (("positions", "dca"), "dca needs original"),
        (("frequencies", "yarn", "--factor", "0.5", "--original", "4096"), "expected 1 or more"),
        (("frequencies", "yarn", "--factor", "4"), "yarn needs original"),
        (("flags", "nothing"), "unknown method"),
    ],
)
def test_what_is_wrong_is_named(call: Call, words: tuple[str, ...], message: str) -> None:
    code, _, error = call("lab", *words)
    assert code == 2
    assert message in error


def test_every_method_is_listed(call: Call) -> None:
    code, out, _ = call("lab", "methods", "--json")
    assert code == 0
    assert [one["method"] for one in json.loads(out)] == [*METHODS, *CACHES, *SYSTEMS]


def test_flags_of_servers(call: Call) -> None:
    words = ("lab", "flags", "yarn", "--factor", "4", "--original", "32768", "--base", "1000000")
    code, out, _ = call(*words)
    assert code == 0
    vllm, sglang, llama = out.splitlines()
    given = shlex.split(vllm.removeprefix("vllm: "))
    assert given[::2] == ["--hf-overrides", "--max-model-len"]
    rope = json.loads(given[1])["rope_parameters"]
    assert (rope["rope_type"], rope["rope_theta"], rope["factor"]) == ("yarn", 1_000_000, 4)
    assert rope["original_max_position_embeddings"] == 32768
    assert given[3] == "131072"
    # A rope_scaling without it would lose the model's theta.
    assert "rope_theta" in sglang
    assert "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1" in sglang
    assert llama == "llamacpp: -c 131072 --rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768"


def test_every_method_has_flags_or_a_reason_for_every_server() -> None:
    divisors = ",".join(["2"] * 64)
    for name, kind in METHODS.items():
        options = {"factor": 4, "original": 4096, "long_factor": divisors}
        known = {parameter.name for parameter in kind.parameters}
        method = settled(make_method(name, {key: one for key, one in options.items() if key in known}), None)
        for server in SERVERS:
            found = flags(method, server, 128, 10_000.0)
            assert found.words is not None or found.note, (name, server)
    # None of the three maps positions, but for the chunks of DCA in vLLM and SGLang.
    mapped = {name for name, kind in METHODS.items() if kind.family == "positions"}
    for name in mapped - {"dca"}:
        assert flags(settled(make_method(name), None), "vllm", 128, 1e4).words is None


def test_what_a_server_does_in_another_way_is_not_offered() -> None:
    dynamic = settled(make_method("dynamic", {"original": 4096}), None)
    assert "static" in flags(dynamic, "vllm", 128, 1e4).note
    untruncated = settled(make_method("yarn", {"factor": 4, "original": 4096, "truncate": False}), None)
    assert flags(untruncated, "sglang", 128, 1e4).words is None
    assert flags(untruncated, "vllm", 128, 1e4).words is not None
    with pytest.raises(FathomError, match="expected all, vllm, sglang, llamacpp"):
        api.lab_flags("yarn", server="tgi")  # type: ignore[arg-type]


SAID: dict[str, dict[str, object]] = {
    "pi": {"factor": 4, "original": 4096},
    "ntk": {"factor": 4, "original": 4096},
    "yarn": {"factor": 4, "original": 4096, "beta_fast": 40},
    "abf": {"theta": 1e6},
    "llama3": {"factor": 8, "original": 8192},
    "longrope": {"factor": 2, "original": 64, "long_factor": "1,2,3,4", "short_factor": "1,1,1,2"},
    "dca": {"original": 64, "length": 256},
}


@pytest.mark.parametrize("name", SAID)
def test_the_method_of_a_server_is_read_from_its_flags(name: str) -> None:
    method = settled(make_method(name, SAID[name]), 4096)
    found = 0
    for server in SERVERS:
        words = flags(method, server, 8, 10000.0).words
        if words is None:
            continue
        found += 1
        read = method_of_command(f"A=1 serve my-model {shlex.join(words)} --port 80")
        assert read is not None
        if name == "ntk":  # with one factor it is another base
            assert read.name == "abf"
            assert read.number("theta") == pytest.approx(10000.0 * 4 ** (8 / 6))
            continue
        unsaid = {"length"} | ({"original"} if name == "pi" else set())
        assert read.name == name
        for option, value in method.options:
            assert read[option] == (None if option in unsaid else value)
    assert found


@pytest.mark.parametrize(
    "line",
    [
        "", "vllm serve m", "serve 'unbalanced", "serve --hf-overrides", "serve --hf-overrides '{'",
        "serve --hf-overrides '[1]'", "serve --hf-overrides '{\"rope_parameters\": 1}'", "serve --rope-scaling none",
        "serve --hf-overrides '{\"rope_parameters\": {\"rope_type\": \"default\"}}'",
        "serve --rope-scaling yarn --rope-scale x", "serve --rope-scaling linear --rope-freq-scale 0",
        "serve --hf-overrides '{\"rope_parameters\": {\"rope_type\": \"mine\", \"factor\": 2}}'",
        "serve --hf-overrides '" + "[" * 100_000 + "'",
    ],
)  # fmt: skip
def test_a_command_line_without_a_method_has_none(line: str) -> None:
    assert method_of_command(line) is None


def test_a_command_line_over_several_lines_is_read() -> None:
    read = method_of_command(
        "llama-server -m m.gguf \\\n  --rope-scaling yarn --rope-scale=4 \\\n --yarn-orig-ctx 4096"
    )
    assert read is not None
    assert (read.name, read["factor"], read["original"]) == ("yarn", 4.0, 4096)
    read = method_of_command("llama-server -m m.gguf --rope-scaling linear --rope-freq-scale 0.125")
    assert read is not None
    assert (read.name, read["factor"]) == ("pi", 8.0)
