"""Notebooks of the documentation, executed: what their cells show now, beside what is stored in them.

python tests/executed_notebooks.py NOTEBOOK OUT    # executes one in the working folder, and writes it with outputs
"""

from __future__ import annotations

import base64
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
LIMIT = 240
"""Seconds for a cell, and for all of a notebook."""
SHOWN = ("text/html", "text/plain")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_CHANGING = (
    (re.compile(r"\bseconds [\d.,]+"), "seconds ..."),
    (re.compile(r"\b\d+(?:\.\d+)? s\b"), "TIME"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "ID"),
    (re.compile(r"\bfathom(?:[ _]version)?:? \d+\.\d+\.\d+\b"), "fathom VERSION"),
)
"""What may differ from one day, machine or version to another while the text of a notebook stays true."""
_DRAWING = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_WORDS = re.compile(r"<text\b[^>]*>([^<]*)</text>")


def needed(path: Path) -> list[str]:
    """Packages that a notebook names in its metadata because most installations of fathom lack them."""
    found: list[str] = read(path)["metadata"].get("fathom", {}).get("needs", [])
    return found


def read(path: Path) -> dict[str, Any]:
    """A notebook as JSON."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def executed(path: Path, folder: Path) -> dict[str, Any]:
    """Execute a notebook in a folder, in a process of its own.

    Args:
        path: The notebook, which is not changed.
        folder: An empty folder, in which its cells read and write.

    Returns:
        The notebook with its new outputs.

    Raises:
        AssertionError: A cell ended with an error that it does not announce.
    """
    out = folder / "executed.ipynb"
    work = folder / "work"
    work.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "FORCE_COLOR")}
    environment = {**kept, "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "IPYTHONDIR": str(folder / "ipython")}
    command = [sys.executable, __file__, str(path), str(out)]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, f"{path.name}: {_COLOURS.sub('', done.stderr)[-3000:]}"
    return read(out)


def differences(stored: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What a notebook shows that is no longer so, as the lines of a diff."""
    found: list[str] = []
    for number, (before, after) in enumerate(zip(stored["cells"], new["cells"], strict=True), 1):
        names = f"cell {number}, stored", f"cell {number}, now"
        found += difflib.unified_diff(shown(before), shown(after), *names, lineterm="", n=1)
    return found


def shown(cell: Mapping[str, Any]) -> list[str]:
    """The lines that a cell shows, without what may differ."""
    texts = (text for output in cell.get("outputs", []) for text in _texts(output))
    return [_settled(line) for text in texts for line in text.split("\n")]


def _texts(output: Mapping[str, Any]) -> Iterator[str]:
    if output["output_type"] == "stream":
        yield f"{output['name']}: {_joined(output['text'])}"
    elif output["output_type"] == "error":
        yield f"{output['ename']}: " + "\n".join(output["traceback"])
    else:
        yield ", ".join(sorted(output["data"]))
        yield from (_joined(output["data"][kind]) for kind in SHOWN if kind in output["data"])


def _settled(line: str) -> str:
    line = _DRAWING.sub(_words_of_drawing, line)
    for pattern, instead in _CHANGING:
        line = pattern.sub(instead, line)
    return line


def _words_of_drawing(found: re.Match[str]) -> str:
    """The words and numbers of a drawing; its lines may differ by a pixel from one version of a library to another."""
    return " | ".join(_WORDS.findall(base64.b64decode(found[1]).decode()))


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def remake(paths: Sequence[Path], scratch: Path) -> None:
    """Execute notebooks, and store what they show.

    Args:
        paths: The notebooks.
        scratch: A folder for what they write.
    """
    for path in paths:
        folder = scratch / path.stem
        folder.mkdir(parents=True)
        executed(path, folder)
        shutil.copyfile(folder / "executed.ipynb", path)
        print(path.relative_to(ROOT))


def main(path: Path, out: Path) -> None:
    """Execute one notebook in the working folder."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=LIMIT, kernel_name="python3", record_timing=False, coalesce_streams=True).execute()
    notebook.metadata = nbformat.from_dict({**notebook.metadata, **METADATA})
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                del output.data["text/plain"]  # the same once more
    nbformat.validate(notebook)
    nbformat.write(notebook, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
