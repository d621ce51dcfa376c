"""The table of models: what is in it is what the paper says, and users can extend it."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

from command_line import Call
from fathom.models import model_settings as models_module
from fathom.models.model_settings import KINDS, ModelSettings, find_settings, like_models, model_table
from fathom.types import FathomError

STATED = {"k": 1_000, "M": 1_000_000}


@pytest.fixture(autouse=True)
def _no_table_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FATHOM_MODELS", raising=False)


def window(text: str | None) -> int | None:
    """Windows and truncation lengths are decimal, as the released code takes them."""
    return None if text is None else int(text[:-1]) * STATED[text[-1]]


def reply(text: str | None) -> int | None:
    """Output lengths are binary: the released code's example of 32k is 32,768."""
    return None if text is None else int(text.removesuffix("k")) * 1024


def test_the_table_is_that_of_the_paper(shared: Path) -> None:
    published: dict[str, dict[str, str]] = defaultdict(dict)
    with (shared / "golden" / "published" / "paper_longbench_pro.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["table"] == "Table 5":
                published[row["model"]][row["metric"]] = row["value"]
    kinds = json.loads((shared / "data" / "longbench_pro" / "model_info.json").read_text("utf-8"))
    table = models_module._built_in()
    assert list(table) == list(published)
    assert len(table) == 46
    for name, cells in published.items():
        entry = table[name]
        assert entry.kind == kinds[name]["type"].lower()
        assert (entry.context, entry.longest_output, entry.truncation) == (
            window(cells.get("context_length") or cells["context_length_input"]),
            window(cells.get("context_length_output")),
            window(cells["truncation_length"]),
        )
        assert entry.output == reply(cells.get("output_length_nonthinking"))
        assert entry.output_thinking == reply(cells["output_length_thinking"])
        without = cells.get("temperature_nonthinking")
        assert entry.temperature == (None if without is None else float(without))
        assert entry.temperature_thinking == float(cells["temperature_thinking"])


def test_the_table_keeps_the_rules_of_the_paper() -> None:
    """Section 5.1 and appendix E, without the file that the table was made from."""
    longer = {"Claude-3.7-Sonnet", "DeepSeek-V3.2", "GLM-4.6", "MiniMax-M2"}
    for name, entry in model_table().items():
        assert entry.kind in KINDS
        assert entry.context
        assert entry.truncation
        assert entry.truncation <= entry.context
        assert (entry.output is None) == (entry.temperature is None) == (entry.kind == "thinking")
        assert entry.output in (None, 1_024)
        assert entry.output_thinking == (32_768 if entry.context >= 256_000 or name in longer else 8_192)
        assert entry.source.startswith("LongBench Pro, table 5")


@pytest.mark.parametrize(
    "name", ["vllm/Qwen/Qwen3-32B", "openai/qwen3-32b", "QWEN3-32B", "vllm//models/Qwen3-32B/", "hf/Qwen/qwen3-32B"]
)
def test_a_model_is_found_by_the_last_part_of_its_name(name: str) -> None:
    assert find_settings(name) == model_table()["Qwen3-32B"]


@pytest.mark.parametrize(
    "name", ["vllm/Qwen3-32B-FP8", "Qwen3-32B/other", "openai/gpt-5-2025-08-07", "fathom/guess", ""]
)
def test_other_names_are_other_models(name: str) -> None:
    assert find_settings(name) is None


def test_names_that_look_like_it_are_known() -> None:
    assert like_models("vllm/Qwen/Qwen3-32B-FP8")[0] == "Qwen3-32B"
    assert "GPT-5" in like_models("openai/gpt-5-2025-08-07")
    assert like_models("vllm/zzz") == []


def test_users_extend_and_correct_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = len(model_table())
    own = tmp_path / "mine.toml"
    own.write_text(
        '[GPT-4O]\nkind = "mixed"\n\n["vllm/lab/base"]\nkind = "instruct"\ntemperature = 1\n'
        '\n[base]\nkind = "thinking"\ncontext = 4096\nswitch = "type"\n'
    )
    monkeypatch.setenv("FATHOM_MODELS", str(own))
    assert find_settings("openai/gpt-4o") == ModelSettings("mixed")
    assert find_settings("vllm/lab/base") == ModelSettings("instruct", temperature=1)
    assert find_settings("openai/base") == ModelSettings("thinking", context=4096, switch="type")
    assert len(model_table()) == shipped + 2


def test_the_file_in_the_home_folder_counts(tmp_path: Path) -> None:
    place = tmp_path / "home" / ".config" / "fathom"
    place.mkdir(parents=True)
    (place / "models.toml").write_text('[mine]\nkind = "instruct"\n')
    assert find_settings("vllm/mine") == ModelSettings("instruct")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[m", "not valid TOML"),
        ("m = 1", r"\['m'\]: expected a table"),
        ("[m]\ncontext = 5", "kind is missing; expected one of thinking, mixed, instruct"),
        ('[m]\nkind = "reasoning"', "kind = 'reasoning', expected one of thinking, mixed, instruct"),
        ('[m]\nkind = "mixed"\nwindow = 5', "unknown field 'window'; expected one of kind, context"),
        ('[m1.5]\nkind = "mixed"', "unknown field '5'; .*quote a name that has a dot"),
        ('[m]\nkind = "mixed"\nswitch = "on"', "switch = 'on', expected one of effort"),
        ('[m]\nkind = "mixed"\ncontext = "128k"', "context = '128k', expected a positive whole number"),
        ('[m]\nkind = "mixed"\ntruncation = 0', "truncation = 0, expected a positive"),
        ('[m]\nkind = "mixed"\noutput_thinking = true', "output_thinking = True, expected a positive"),
        ('[m]\nkind = "mixed"\ncontext = 1.5', "context = 1.5, expected a positive whole"),
        ('[m]\nkind = "mixed"\ntemperature = -0.1', "temperature = -0.1, expected a number of at least 0"),
        ('[m]\nkind = "mixed"\ntemperature = nan', "temperature = nan, expected a number"),
        ('[m]\nkind = "mixed"\ntemperature_thinking = true', "expected a number of at least 0"),
        ('[m]\nkind = "mixed"\nsource = 7', "source = 7, expected a text"),
    ],
)
def test_bad_entries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(text)
    monkeypatch.setenv("FATHOM_MODELS", str(own))
    with pytest.raises(FathomError, match=f"mine.toml: .*{message}"):
        find_settings("m")


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_MODELS", str(tmp_path / "no.toml"))
    with pytest.raises(FathomError, match=r"FATHOM_MODELS=.*no.toml: no such file"):
        model_table()
    (tmp_path / "no.toml").write_bytes(b"\xff\xfe\0")
    with pytest.raises(FathomError, match="line 1 is not UTF-16-LE"):
        model_table()


@pytest.mark.slow
def test_the_settings_are_listed(call: Call) -> None:
    code, printed, _ = call("list", "settings", "--json")
    records = json.loads(printed)
    assert code == 0
    assert len(records) == 46
    assert records[0]["model"] == "Gemini-2.5-Pro"
    assert (records[0]["kind"], records[0]["truncation"]) == ("thinking", 1_000_000)
    code, printed, _ = call("list", "settings")
    assert code == 0
    assert "DeepSeek-V3.1" in printed
    assert "enable_thinking" not in printed
