"""The lines of the README that a newcomer types; ``make newcomer`` types them (``bare_newcomer.py``)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh ([^\n]+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def typed() -> list[str]:
    """Every line of the blocks of commands, without comments."""
    lines = [line.partition("  #")[0].strip() for _, text in BLOCKS for line in text.splitlines()]
    return [line for line in lines if line]


def test_each_line_that_is_no_command_of_fathom_prepares_one() -> None:
    others = [line for line in typed() if not line.startswith("fathom ")]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in others:
        words = line.split("  ")[0].split()
        if words[0] == "make":
            assert words[1] in targets
        elif words[:2] == ["pip", "install"]:
            assert words[2].strip("'.[]") in extras
        else:
            assert line in ("python3 -m venv .venv && source .venv/bin/activate", "export OPENAI_API_KEY=...")
    # An environment comes before what is installed into it.
    assert others.index("python3 -m venv .venv && source .venv/bin/activate") < others.index("pip install '.[inspect]'")
