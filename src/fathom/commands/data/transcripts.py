"""Write transcripts of agents and assistants as texts, to ask questions about them."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.shared import Json
from fathom.options.declare import arg, command, opt, unset
from fathom.options.values import ManyPaths, MaybePath, paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.documents.transcripts import Usage

QUESTIONS = "questions.csv"
MAKERS = ("", "anthropic/", "openai/")
"""What names of models in transcripts lack."""


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
    from fathom.documents.transcripts import as_text, in_context, messages_of, usage_of
    from fathom.models.prices import total_cost
    from fathom.storage.atomic import whole_file

    folder = Path(options.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FathomError(f"{folder}: it exists already; name a new folder")
    texts: dict[str, str] = {}
    used: dict[str, tuple[int | None, float | None]] = {}
    records = []
    for path in paths_of(options.files):
        for name, entries in _conversations(path):
            messages, taken = messages_of(entries), usage_of(entries)
            seen = in_context(messages) if options.last else messages
            if name in texts:
                raise FathomError(f"{path}: another transcript is named {name} too; rename one")
            texts[name] = as_text(seen)
            compactions = sum(message.is_summary for message in messages)
            tokens = sum(each.tokens_in + each.tokens_out for each in taken)
            used[name] = (tokens, total_cost(map(_dollars, taken))) if taken else (None, None)
            facts = {"text": f"{name}.txt", "messages": len(seen), "compactions": compactions}
            records.append({**facts, "session_tokens": used[name][0], "session_dollars": used[name][1]})
    table = _questions(Path(options.suite), texts, used) if options.suite else ""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with whole_file(folder / f"{name}.txt") as stream:
            stream.write(text)
    if table:
        with whole_file(folder / QUESTIONS) as stream:
            stream.write(table)
    return records


def _dollars(usage: "Usage") -> float | None:
    """The price of requests to a model by the price table; None if it has none. Long prompts cost as others do."""
    from fathom.models.prices import find_price

    price = next((known for maker in MAKERS if (known := find_price(f"{maker}{usage.model}")).input is not None), None)
    if price is None:
        return None
    counts = usage.tokens_in, usage.tokens_out, usage.tokens_cached
    return price.cost(*counts, longest=0, tokens_written=usage.tokens_written)


def _conversations(path: Path) -> "Iterator[tuple[str, Sequence[Mapping[str, object]]]]":
    """The conversations of a file with the names of their texts."""
    from fathom.documents.transcripts import read_conversations
    from fathom.rows.inspect_log import conversations, recognises

    if not path.is_file():
        raise FathomError(f"{path}: no such file")
    if recognises(path):
        for name, entries in conversations(path):
            yield _safe(f"{path.stem}-{name}"), entries
        return
    every = read_conversations(path)
    for number, own in enumerate(every, start=1):
        yield _safe(path.stem if len(every) == 1 else f"{path.stem}-{number}"), own


def _safe(name: str) -> str:
    """A name of a file in its folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "transcript"


def _questions(suite: Path, texts: dict[str, str], used: Mapping[str, tuple[int | None, float | None]]) -> str:
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
                *("" if amount is None else str(amount) for amount in used[name]),
            )
    if not rows:
        raise FathomError(f"{suite}: no file is named after an item of it, as memory_facts-en-0003.jsonl")
    stream = io.StringIO(newline="")
    columns = ("document", "question", "answer", "evidence", "kind", "wrong", "session_tokens", "session_dollars")
    csv.writer(stream).writerows([columns, *rows.values()])
    return stream.getvalue()


def main(line: TranscriptsOptions) -> None:
    """Write, and print a table or JSON."""
    from fathom.options.terminal import print_json, print_records

    records = data_transcripts.body(line)
    if line.as_json:
        return print_json(records)
    print_records(records, denominator="none")
    print(f"texts are in {line.out}")
