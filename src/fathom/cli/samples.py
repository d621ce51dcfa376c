"""Commands about what exists and about samples: list, build, show, export."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom import api
from fathom.cli.arguments import (
    AsJson,
    Lengths,
    Only,
    Quiet,
    Subset,
    depths_of,
    lengths_of,
    names_of,
    print_records,
    progress_bars,
    tell,
    where_of,
)
from fathom.printing import printable

LISTED = 30  # entries of a list that a table shows


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command("list")(list_)
    app.command()(build)
    app.command()(show)
    app.command()(export)


def list_(
    kind: Annotated[str, typer.Argument(help="suites, tasks, metrics, boards, models, settings or data.")],
    as_json: AsJson = False,
) -> None:
    """Show what exists: suites, tasks, metrics, boards, models, their settings, and data sources of suites."""
    records = api.catalogue(kind)
    if kind == "settings" and not as_json:
        print_records([_settings(record) for record in records], as_json=False)
        tell("output caps and temperatures are those without/with thinking; --json shows all settings")
        return
    shown = {"suite", "tasks", "lengths", "task", "metric", "needs", "rules", "model", "window", "input", "output"}
    shown |= {"data", "dataset", "licence", "roles", "description", "board", "title", "suites"}
    if not as_json:
        records = [{k: _short(v) for k, v in record.items() if k in shown} for record in records]
    print_records(records, as_json)


def _short(value: Any) -> Any:
    """A value for a table: of a list too long for it the two ends, and how many there are."""
    if not isinstance(value, list) or len(value) <= LISTED:
        return value
    return f"{value[0]} ... {value[-1]} ({len(value)} in all)"


def _settings(record: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one model in few columns, so that its name stays whole in a narrow terminal."""
    pairs = {name: (record[name], record[f"{name}_thinking"]) for name in ("output", "temperature")}
    return {
        "model": record["model"],
        "kind": record["kind"],
        "cut to": record["truncation"],
        **{name: "/".join("-" if one is None else str(one) for one in pair) for name, pair in pairs.items()},
    }


def build(
    target: Annotated[
        str,
        typer.Argument(
            help="A suite, tasks separated by commas (see `fathom list`), or a .py file with them, which is run."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    lengths: Lengths = None,
    items: Annotated[
        int | None, typer.Option(help="Items per task and language, the same ones at every length.")
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Documents: world, world?seed=7, a folder, or a file: .txt, .md, .jsonl, .json, .csv, .tsv, .parquet "
            "or .arrow, also with .gz or .zst, or in a .zip; may be given more than once. Field names follow a "
            "question mark: FILE.jsonl?text=input&questions=instructions&answers=outputs."
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Folder in which the suite's data sources are looked for; may be given more than once."),
    ] = None,
    qa: Annotated[
        list[str] | None, typer.Option(help="Your documents with questions and answers; as --corpus.")
    ] = None,
    summaries: Annotated[list[str] | None, typer.Option(help="Your documents with summaries; as --corpus.")] = None,
    noise: Annotated[list[str] | None, typer.Option(help="Your documents to fill contexts with; as --corpus.")] = None,
    books: Annotated[
        list[str] | None, typer.Option(help="Novels in chapters, for TSort: a folder or file of plain text.")
    ] = None,
    threads: Annotated[
        list[str] | None,
        typer.Option(
            help="Stack Exchange threads, for BestAnswer: Posts.xml of a data dump, plain or in a .7z, or .jsonl; also "
            "FILE?tags=python,c&top=2500 for the most popular questions with these tags."
        ),
    ] = None,
    cases: Annotated[
        list[str] | None,
        typer.Option(help="Published cases of BestAnswer, which are taken as they are (.jsonl or another table)."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="What lengths are counted in: tekken, tiktoken:NAME, hf:NAME, words, chars, a path."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    depth: Annotated[
        str,
        typer.Option(
            help="Where gold text lies: random or as the suite says, or depths to sweep: front, middle, rear, or 0 to "
            "1, such as 0,0.25,1."
        ),
    ] = "random",
    language: Annotated[
        str | None, typer.Option(help="en, zh or en,zh; by default the languages of the corpus.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Fill each length to the last token (slower).")] = False,
    closed_book: Annotated[
        bool | None,
        typer.Option(
            "--closed-book/--no-closed-book",
            help="Also ask questions without any context, to tell what is known already; by default as the suite says.",
        ),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Also ask questions over their own document alone, without distractors.")
    ] = False,
    common: Annotated[
        bool,
        typer.Option("--common", help="Only items that can stand at every length: the same questions at all."),
    ] = False,
    truncate: Annotated[
        str | None,
        typer.Option(help="Also cut the longest prompts to these lengths, out of their middle, for instance 2k,4k,8k."),
    ] = None,
    prompts: Annotated[
        str,
        typer.Option(
            help="Words of published benchmarks: own, or official for their publishers' templates, which are looked "
            "for in --data (dataset2prompt.json)."
        ),
    ] = "own",
    where: Only = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on without the rows of published records that cannot be used.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another suite in the folder, or an earlier format of this one.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Build length-controlled samples from documents.

    The same command again finds the suite and does no work.
    """
    with progress_bars(quiet) as bars:
        built = api.build(
            target,
            out,
            lengths=lengths_of(lengths),
            items=items,
            corpus=corpus,
            tokenizer=tokenizer,
            seed=seed,
            depths=depths_of(depth),
            languages=names_of(language),
            exact=exact,
            data=data,
            qa=qa,
            summaries=summaries,
            noise=noise,
            books=books,
            threads=threads,
            cases=cases,
            closed_book=closed_book,
            alone=alone,
            common=common,
            truncate=lengths_of(truncate) or (),
            prompts=prompts,
            where=where_of(where),
            skip_bad=skip_bad,
            force=force,
            progress=bars("building"),
            reading=bars("reading threads", in_bytes=True),
        )
    samples = sum(built.manifest["samples"].values())
    print(
        f"{built.folder}: {samples:,} samples" if built.fresh else f"{built.folder}: already built, {samples:,} samples"
    )
    made = built.manifest
    left_out = _left_out(made["left_out"], made["left_out_in_all"], made["duplicates"])
    for note in [*made["notes"], *left_out, *made.get("unread", ())]:
        print(f"  note: {printable(note)}", file=sys.stderr)


def _left_out(problems: list[str], total: int, duplicates: int) -> list[str]:
    shown = [f"left out: {problem}" for problem in problems[:10]]
    if total > 10:
        shown.append(f"left out: {total - 10:,} more, see manifest.json")
    return shown + ([f"{duplicates} documents were duplicates and count once"] if duplicates else [])


def show(
    folder: Annotated[Path, typer.Argument(help="A built suite.")],
    sample: Annotated[str, typer.Argument(help="Sample or item id; the first sample if left out.")] = "",
    text: Annotated[bool, typer.Option("--text", help="Print the whole prompt.")] = False,
    thinking: Annotated[
        bool, typer.Option("--thinking", help="The sample with the prompt that asks for thoughts before the answer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show one sample: its facts and where its text comes from, or its prompt."""
    shown = api.show(folder, sample, text=text, thinking=thinking)
    if text:
        print(shown["prompt"])
    elif as_json:
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        shown |= {field: [f"{name} {value}" for name, value in shown[field].items()] for field in ("facets", "inputs")}
        print_records([{"": key, " ": value} for key, value in shown.items()], as_json=False)


def export(
    folder: Annotated[Path, typer.Argument(help="A built suite.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; standard output if left out.")] = None,
    format: Annotated[str, typer.Option(help="jsonl.")] = "jsonl",
    lengths: Lengths = None,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks, separated by commas.")] = None,
    subset: Subset = None,
    where: Only = None,
) -> None:
    """Write samples with their full text, one JSON object a line, for other tools."""
    count = api.export(
        folder,
        out,
        format=format,
        lengths=lengths_of(lengths),
        tasks=names_of(tasks),
        subset=subset,
        where=where_of(where),
    )
    if out:
        print(f"{out}: {count:,} samples")
