"""Files that the commands of the docs take for granted: documents, questions, a suite and runs, all made and small."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from fathom import api
from made import make_document

DOCUMENTS = ("my-documents", "contracts", "folder")
SITE = re.compile(r"(old-|new-)?site")
SUITE = re.compile(r"suite|(suites|builds)/[\w-]+")
RUN = re.compile(r"runs/[\w-]+(?:/[\w-]+)?|lexical|guess")


def make(folder: Path) -> None:
    """Make everything once."""
    texts = folder / "documents"
    texts.mkdir(parents=True)
    made = [make_document(seed) for seed in range(40)]
    for number, document in enumerate(made):
        (texts / f"document-{number}.txt").write_text(document.text, "utf-8")
    questions = [
        f'document-{number}.txt,"{document.questions[0].text}","{document.questions[0].answers[0]}"'
        for number, document in enumerate(made)
    ]
    (folder / "questions.csv").write_text("\n".join(["document,question,answer", *questions]) + "\n", "utf-8")
    api.build("passkey,kv_retrieval", folder / "suite", lengths=[1024, 2048], items=25)
    for name in ("lexical", "guess"):
        api.run(folder / "suite", f"fathom/{name}", folder / name)
        api.board_build([folder / name], out=folder / f"{name}-site", published=False)
    api.studio_init(str(folder / "studio-store"), administrator="ada")


def give(made: Path, words: Sequence[str]) -> None:
    """Put what a command reads into the working folder, where it is not there already.

    Args:
        made: The folder of ``make``.
        words: A command.
    """
    for name, source in _read(words):
        if not Path(name).exists():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            whole = shutil.copytree if (made / source).is_dir() else shutil.copy
            whole(made / source, name)


def _read(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    if words[1:2] == ["studio"] and words[2] not in ("init", "serve", "restore"):
        yield "studio-store", "studio-store"
    for before, word in zip(["", *words], words, strict=False):
        name = word.rstrip("/")
        if before in ("--out", "--model", "-m"):
            continue
        if name in DOCUMENTS:
            yield name, "documents"
        elif name == "questions.csv":
            yield name, name
        elif SUITE.fullmatch(name):
            yield name, "suite"
        elif SITE.fullmatch(name):
            yield name, "guess-site" if name.startswith("old") else "lexical-site"
        elif RUN.fullmatch(name):
            yield name, "guess" if name.endswith(("guess", "old", "baseline")) else "lexical"
