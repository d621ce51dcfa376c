"""Show one sample: its facts, where its text comes from, or its prompt."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any

from fathom.commands.shared import Json
from fathom.options.declare import arg, command, opt


class ShowOptions(Json):
    folder: Annotated[Path | str, arg("A built suite.")]
    sample: Annotated[str, arg("Sample or item id; the first sample if left out.")] = ""
    _: KW_ONLY
    text: Annotated[bool, opt("Show the whole prompt.")] = False
    thinking: Annotated[bool, opt("Show the prompt that asks for thoughts before the answer.")] = False


@command(ShowOptions)
def show(options: ShowOptions) -> dict[str, Any]:
    """Show one sample: its facts and where its text comes from, or its prompt."""
    from fathom.suitefile import open_suite
    from fathom.suitefile.records import facts_of

    suite = open_suite(Path(options.folder))
    return facts_of(suite, options.sample, text=options.text, thoughts=options.thinking)


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
