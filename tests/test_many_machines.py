"""The manifests of the guide to many machines are YAML, and the commands in them are commands of fathom."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathom.cli.app import commands
from fathom.options.line import Command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "many-machines.md").read_text("utf-8")
MANIFESTS = re.findall(r"^```yaml file=(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
VARIABLES = re.compile(r"\$\(\(\w+ \+ 1\)\)|\$\w+|\$\{\w+\}")


def texts_in(value: Any) -> Iterator[str]:
    """All texts of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


def lines_of(text: str) -> Iterator[list[str]]:
    """The words of each fathom command in a script, with 1 for variables."""
    for line in VARIABLES.sub("1", text).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "fathom" in words[:-1]:
            yield words[words.index("fathom") + 1 :]


def parse(words: list[str]) -> None:
    command = commands()[words[0]]
    assert isinstance(command, Command)
    command.make_context(words[0], words[1:])


def test_the_page_has_manifests() -> None:
    assert [name for name, _ in MANIFESTS] == ["job.yaml", "rayjob.yaml", "sky.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), MANIFESTS)
def test_manifests_are_yaml_with_commands_that_parse(name: str, text: str) -> None:
    documents = list(yaml.safe_load_all(text))
    found = [words for text in texts_in(documents) for words in lines_of(text)]
    assert found, name
    for words in found:
        parse(words)
    for document in documents:
        if "apiVersion" in document:
            assert {"kind", "metadata", "spec"} <= set(document)


def test_the_script_for_slurm_parses() -> None:
    (script,) = re.findall(r"^```sh needs=system\n(#!/bin/bash\n#SBATCH.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for words in lines_of(script):
        parse(words)
    array = re.search(r"--array=1-(\d+)", script)
    assert array
    assert f"/{array[1]}" in script


def test_indices_of_the_job_are_those_of_the_shards() -> None:
    job = yaml.safe_load(dict(MANIFESTS)["job.yaml"])["spec"]
    assert job["completionMode"] == "Indexed"
    assert f"/{job['completions']}" in job["template"]["spec"]["containers"][0]["args"][0]


def test_extras_are_those_of_the_project() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for found in re.findall(r"fathom-eval\[([\w,]+)\]", PAGE):
        assert set(found.split(",")) <= set(known)
