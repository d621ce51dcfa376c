"""Commands ``fathom compress study`` and ``embed``: MiniLongBench's method taken apart."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Quiet, names_of
from fathom.commands.analyze.shared import finite
from fathom.commands.terminal import print_records, tell
from fathom.printing import printable_json
from fathom.types import FathomError

LINES = 60
"""Lines of a study that are printed."""


def add_to(app: typer.Typer) -> None:
    """Add the commands to the group ``compress``."""
    app.command("study")(study)
    app.command("embed")(embed)


def study(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(api.COMPRESSION_STUDIES)}.")],
    scores: Annotated[
        list[Path],
        typer.Argument(help="Scores of models on items, see `fathom compress`."),
    ],
    budget: Annotated[int, typer.Option(help="Items to choose.")] = 237,
    known: Annotated[
        str | None,
        typer.Option(
            help="Models that items are chosen by, separated by commas; by default MiniLongBench's own for its "
            "released scores, else every other model."
        ),
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            help="FILE or NAME=FILE, an .npz file that `fathom compress embed` wrote; several for the study "
            "embeddings. By default those beside the released scores."
        ),
    ] = None,
    published: Annotated[
        Path | None,
        typer.Option(
            help="With categories, rankings and neighbours: folder of MiniLongBench's released data, for its 237 items."
        ),
    ] = None,
    use: Annotated[
        str, typer.Option(help="What embeddings are: the start of the search, or the mean of the prior.")
    ] = "start",
    dimensions: Annotated[int, typer.Option(help="Dimensions of item response theory.")] = 10,
    values: Annotated[
        str | None,
        typer.Option(help="What is tried, separated by commas: shares left out, dimensions, or numbers of models."),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Subsets or choices of models that are drawn, or seeds for each setting.")
    ] = None,
    tasks: Annotated[str | None, typer.Option(help="With neighbours: only items of these tasks.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .parquet, .csv or .jsonl file for the whole table.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="A .svg, .png, .pdf, .html or .json file for a figure.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Study MiniLongBench's method: what each of its choices does to the ranks of models."""
    frame = api.compress_study(
        kind,
        scores,
        budget=budget,
        known=names_of(known),
        embeddings=_named(embeddings),
        published=published,
        use=use,
        dimensions=dimensions,
        values=_numbers(values),
        draws=draws,
        tasks=names_of(tasks),
        seed=seed,
        out=out,
        plot=plot,
        tell=None if quiet or not sys.stderr.isatty() else tell,
    )
    if as_json:
        print(printable_json(json.dumps([finite(line) for line in frame.to_dicts()], ensure_ascii=False)))
        return
    from fathom.compress.study import summarised

    frame = summarised(frame)
    if "setting" in frame.columns and frame["category"].n_unique() > 1:
        frame = frame.filter(category="all").drop("category")
        tell("estimates of the whole score; --out FILE or --json gives those of each category too")
    shown = frame.head(LINES)
    print_records([{name: _rounded(value) for name, value in line.items()} for line in shown.to_dicts()], as_json=False)
    if len(frame) > LINES:
        tell(f"the first {LINES} of {len(frame):,} lines; --out FILE or --json gives all of them")


def embed(
    source: Annotated[
        Path,
        typer.Argument(help="A built suite, or a table with fields item and text.", metavar="SUITE_OR_TEXTS"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .npz file.")],
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="tfidf, sentence-transformers/NAME, or openai/NAME for a server."),
    ] = "tfidf",
    model_base_url: Annotated[
        str | None, typer.Option(help="Address of a server such as http://127.0.0.1:8000/v1; it needs no key.")
    ] = None,
) -> None:
    """Embed the texts of items, for the studies of MiniLongBench's method."""
    items, dimensions = api.compress_embed(source, out, model=model, base_url=model_base_url, tell=tell)
    tell(f"{out}: {items:,} items, {dimensions:,} dimensions")


def _named(given: list[str] | None) -> dict[str, Path] | None:
    """``NAME=FILE`` or ``FILE``, which is named as the file is."""
    if not given:
        return None
    found: dict[str, Path] = {}
    for one in given:
        name, equals, path = one.partition("=")
        name, path = (name, path) if equals else (Path(one).stem, one)
        if not name or not path or name in found or name == "none":
            raise FathomError(f"--embeddings {one!r}: expected FILE or NAME=FILE, each with a name of its own")
        found[name] = Path(path)
    return found


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise FathomError(f"--values {text!r}: expected numbers separated by commas") from None


def _rounded(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value
