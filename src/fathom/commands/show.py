"""Show one sample: its facts, where its text comes from, or its prompt."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any

from fathom.commands.shared import Json
from fathom.options.declare import arg, command, opt
from fathom.types import FathomError


class ShowOptions(Json):
    folder: Annotated[Path | str, arg("A built suite.")]
    sample: Annotated[str, arg("Sample or item id; the first sample if left out.")] = ""
    _: KW_ONLY
    text: Annotated[bool, opt("Show the whole prompt.")] = False
    thinking: Annotated[bool, opt("The sample with the prompt that asks for thoughts before the answer.")] = False


@command(ShowOptions)
def show(options: ShowOptions) -> dict[str, Any]:
    """Show one sample: its facts and where its text comes from, or its prompt."""
    from fathom.length import render
    from fathom.length import thinking as with_thinking
    from fathom.suitefile import open_suite
    from fathom.types import Span

    suite = open_suite(Path(options.folder))
    found = suite.sample(options.sample)
    if options.thinking:
        if not found.thinking_tokens:
            raise FathomError(
                f"{options.folder}: sample {found.id!r} has no prompt that asks for thoughts; show it without "
                "--thinking"
            )
        found = with_thinking(found)
    borrowed = list(dict.fromkeys(part.doc for part in found.parts if isinstance(part, Span)))
    there = suite.documents(borrowed)
    if missing := [name for name in borrowed if name not in there]:
        raise FathomError(f"sample {found.id}: document {missing[0]} is missing; build the suite again with --force")
    documents = {name: there[name] for name in borrowed}
    facts: dict[str, Any] = {
        "id": found.id,
        "item": found.item,
        "task": found.task,
        "language": found.language,
        "length": found.length,
        "tokens": found.tokens,
        "tokenizer": suite.manifest["tokenizer"],
        "targets": list(found.targets),
        "chance": found.chance,
        "facets": dict(found.facets),
        "inputs": dict(found.inputs),
        "parts": len(found.parts),
        "documents": [f"{one.title or '-'} ({one.source})" for one in documents.values()],
    }
    if options.text:
        facts["prompt"] = render(found, {name: document.text for name, document in documents.items()})
    return facts


def main(line: ShowOptions) -> None:
    """Print the prompt, JSON, or a table of the facts."""
    from fathom.terminal import print_json, print_records

    shown = show.body(line)
    if line.text:
        print(shown["prompt"])
    elif line.as_json:
        print_json(shown)
    else:
        shown |= {field: [f"{name} {value}" for name, value in shown[field].items()] for field in ("facets", "inputs")}
        print_records([{"": key, " ": value} for key, value in shown.items()])
