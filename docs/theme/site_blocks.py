"""Code blocks as the site shows them: a label says what a block needs that the tests do not have."""

from __future__ import annotations

import re

FENCE = re.compile(r"^( *)```(\w+)((?: [^\n`]+)?)$", re.MULTILINE)
NEEDS = {
    "data": "a published data set or your own documents",
    "docker": "Docker",
    "files": "files of your own",
    "gpu": "a GPU",
    "install": "a new environment and a connection",
    "key": "an API key",
    "model": "a model on this machine",
    "server": "a server that runs",
    "service": "the rights of an administrator",
    "time": "minutes to hours",
}
"""Words after ``needs=`` on a fence, and what the site says."""


def labelled(markdown: str) -> str:
    """A page whose fences have a label instead of the words that tests read."""
    return FENCE.sub(_opened, markdown)


def _opened(fence: re.Match[str]) -> str:
    indent, language, rest = fence[1], fence[2], fence[3].split()
    needs = [word.removeprefix("needs=") for word in rest if word.startswith("needs=")]
    said = " and ".join(NEEDS[name] for one in needs for name in one.split(","))
    file = next((word.removeprefix("file=") for word in rest if word.startswith("file=")), "")
    title = f"needs {said}" if said else file
    return f"{indent}```{language}" + (f' title="{title}"' if title else "")
