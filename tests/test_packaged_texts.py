"""Texts of prompts that are TOML files beside their modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import fathom
from fathom.storage.toml import packaged_toml, read_toml

FILES = sorted((Path(fathom.__file__).parent / "benchmarks").glob("*/*prompts.toml"))


def in_two_languages(table: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The English and the Chinese texts of each table that has both."""
    if {"en", "zh"} <= table.keys():
        yield table["en"], table["zh"]
    for below in table.values():
        if isinstance(below, Mapping):
            yield from in_two_languages(below)


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_prompts_have_the_same_texts_with_the_same_gaps_in_both_languages(file: Path) -> None:
    for english, chinese in in_two_languages(read_toml(file)):
        assert list(english) == list(chinese)
        for name, text in english.items():
            assert gaps(text) == gaps(chinese[name]), name


def test_packaged_texts_begin_and_end_as_they_are_sent() -> None:
    texts = packaged_toml("fathom.benchmarks.longbench", "prompts.toml")
    assert texts["lcc"]["after"] == "\n\nThe next line:\n"
    assert texts["samsum"]["before"].endswith("on one line.\n\n")
