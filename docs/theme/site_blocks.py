"""Code blocks as the site shows them: a label says what a block needs that the tests do not have."""

from __future__ import annotations

import re

FENCE = re.compile(r"^( *)```(\w+)((?: [^\n`]+)?)$", re.MULTILINE)
NEEDS = {
    "data": "needs published data sets",
    "docker": "needs Docker",
    "files": "needs files or runs of your own",
    "gpu": "needs a GPU",
    "install": "installs packages",
    "key": "needs an API key",
    "model": "needs a model on this machine",
    "server": "needs a server that answers",
    "stop": "runs until you stop it",
    "system": "changes this machine: needs an administrator",
    "time": "takes minutes to hours",
}
"""Words after ``needs=`` on a fence, and what the site says there."""


def labelled(markdown: str) -> str:
    """A page whose fences have a label instead of the words that tests read."""
    return FENCE.sub(_opened, markdown)


def _opened(fence: re.Match[str]) -> str:
    indent, language, rest = fence[1], fence[2], fence[3].split()
    needs = [word.removeprefix("needs=") for word in rest if word.startswith("needs=")]
    said = ", ".join(NEEDS[name] for one in needs for name in one.split(","))
    file = next((word.removeprefix("file=") for word in rest if word.startswith("file=")), "")
    title = said[:1].upper() + said[1:] if said else file
    return f"{indent}```{language}" + (f' title="{title}"' if title else "")
