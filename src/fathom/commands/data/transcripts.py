"""Write transcripts of agents and assistants as texts, to ask questions about them."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.shared import Json
from fathom.options.declare import arg, command, opt, unset
from fathom.options.values import ManyPaths, MaybePath, paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.documents.transcripts import Message

QUESTIONS = "questions.csv"


class TranscriptsOptions(Json):
    files: Annotated[ManyPaths, arg("Sessions of Claude Code, OpenAI's messages, or logs of Inspect.", read=paths_of)]
    _: KW_ONLY
    out: Annotated[Path | str, opt("New folder for the texts.", flag="--out", short="-o", metavar="FOLDER")]
    last: Annotated[bool, opt("Only what the model saw at the end: from the summary of the last compaction on.")] = (
        False
    )
    suite: Annotated[
        MaybePath,
        opt(
            "Write questions.csv too, with the questions that a built suite asks about the item that a file is named "
            "after, as memory_facts-en-0003.jsonl.",
            metavar="FOLDER",
        ),
    ] = unset


@command(TranscriptsOptions)
def data_transcripts(options: TranscriptsOptions) -> list[dict[str, Any]]:
    """Write transcripts of agents and assistants as texts, one for each conversation.

    Build `memory_transcript` of them, with your questions in a table (docs/how-to/compaction.md). What looks like a key
    becomes ***; all else stays as it is.

    Reads sessions of Claude Code (JSONL), messages in OpenAI's form (JSON, JSONL) and logs of Inspect.
    """
    from fathom.documents.transcripts import as_text, in_context
    from fathom.storage.atomic import whole_file

    folder = Path(options.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FathomError(f"{folder}: it exists already; name a new folder")
    texts: dict[str, str] = {}
    records = []
    for path in paths_of(options.files):
        for name, messages in _conversations(path):
            seen = in_context(messages) if options.last else messages
            if name in texts:
                raise FathomError(f"{path}: another transcript is named {name} too; rename one")
            texts[name] = as_text(seen)
            compactions = sum(message.is_summary for message in messages)
            records.append({"text": f"{name}.txt", "messages": len(seen), "compactions": compactions})
    table = _questions(Path(options.suite), texts) if options.suite else ""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with whole_file(folder / f"{name}.txt") as stream:
            stream.write(text)
    if table:
        with whole_file(folder / QUESTIONS) as stream:
            stream.write(table)
    return records


def _conversations(path: Path) -> "Iterator[tuple[str, Sequence[Message]]]":
    """The conversations of a file with the names of their texts."""
    from fathom.documents.transcripts import messages_of, read_conversations
    from fathom.rows.inspect_log import conversations, recognises

    if not path.is_file():
        raise FathomError(f"{path}: no such file")
    if recognises(path):
        for name, entries in conversations(path):
            yield _safe(f"{path.stem}-{name}"), messages_of(entries)
        return
    every = read_conversations(path)
    for number, messages in enumerate(every, start=1):
        yield _safe(path.stem if len(every) == 1 else f"{path.stem}-{number}"), messages


def _safe(name: str) -> str:
    """A name of a file in its folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "transcript"


def _questions(suite: Path, texts: dict[str, str]) -> str:
    """The table of the suite's questions about the items that transcripts are named after."""
    from fathom.suites.suitefile import open_suite

    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for sample in open_suite(suite).samples():
        name, fact = _safe(sample.item), str(sample.inputs.get("fact", ""))
        if name in texts and sample.asked:
            quoted, kind = fact if fact in texts[name] else "", str(sample.facets.get("kind", ""))
            answers = json.dumps(list(sample.targets), ensure_ascii=False)
            rows[name, sample.asked] = (
                *(f"{name}.txt", sample.asked, answers, quoted, kind),
                str(sample.inputs.get("others", "")),
            )
    if not rows:
        raise FathomError(f"{suite}: no file is named after an item of it, as memory_facts-en-0003.jsonl")
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("document", "question", "answer", "evidence", "kind", "wrong"), *rows.values()])
    return stream.getvalue()


def main(line: TranscriptsOptions) -> None:
    """Write, and print a table or JSON."""
    from fathom.options.terminal import print_json, print_records

    records = data_transcripts.body(line)
    if line.as_json:
        return print_json(records)
    print_records(records, denominator="none")
    print(f"texts are in {line.out}")
