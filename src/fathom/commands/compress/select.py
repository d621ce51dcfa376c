"""Select a representative sample of items."""

from collections import Counter
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from fathom.commands.compress.shared import Embeddings, vectors_of
from fathom.commands.shared import Json
from fathom.options.declare import OptionError, arg, at_least, command, opt, unset
from fathom.options.values import ManyPaths, Names, paths_of
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.types import Subset

Selection: TypeAlias = Literal["sampled", "minilongbench"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)


class SelectOptions(Json):
    sources: Annotated[
        ManyPaths, arg("Scores of known models, as for the other commands; or a suite folder without any scores.")
    ]
    budget: Annotated[float, opt("Number of items or, with --unit cost, their total cost.")]
    out: Annotated[Path | str, opt("File of the subset, for instance small.json.", "-o", metavar="FILE")]
    _: KW_ONLY
    method: Annotated[
        Selection, opt("sampled: a probability sample, with intervals. minilongbench: as MiniLongBench does.")
    ] = "sampled"
    unit: Annotated[
        Literal["items", "cost"],
        opt("What the budget counts: items, or cost (tokens of prompts, unless a table has costs of its own)."),
    ] = "items"
    models: Annotated[Names, opt("Models to choose by, separated by commas; all by default.")] = unset
    embeddings: Embeddings = unset
    seed: Annotated[int, opt("Seed of the draw.", check=at_least(0))] = 0


@command(SelectOptions)
def compress_select(options: SelectOptions) -> "Subset":
    """Select a representative sample of items, which `fathom run --subset` asks.

    By default a probability sample: every item can be drawn, those that distinguish models more often, so that
    estimates have intervals.
    """
    from fathom.compress import design, minilongbench
    from fathom.compress.tables import read_matrix, write_sampled

    sampled, budget, out = options.method == "sampled", options.budget, Path(options.out)
    if not sampled and options.unit != "items":
        raise OptionError("unit", options.unit, "method minilongbench counts items; leave it out, or use sampled")
    known = read_matrix(paths_of(options.sources), least=0 if sampled else 2)
    if options.models is not None:
        known = known.of_models(known.numbers(options.models))
    if sampled:
        subset = design.select(known, budget, unit=options.unit, seed=options.seed)
        write_sampled(subset, known, out)
        return subset
    if not budget.is_integer():
        raise OptionError("budget", budget, "expected a whole number of items")
    vectors = vectors_of(options.embeddings, known)
    mini = minilongbench.select(known, int(budget), embeddings=vectors, seed=options.seed)
    minilongbench.write_mini(mini, out)
    return mini.subset


def main(line: SelectOptions) -> None:
    """Print how many items were chosen of each stratum."""
    from fathom.options.terminal import print_json, print_records, tell, tell_next

    subset = compress_select.body(line)
    strata = Counter(member.stratum for member in subset.members)
    if line.as_json:
        print_json(
            {"subset": str(line.out), "method": subset.method, "items": len(subset.members), "strata": dict(strata)}
        )
        return
    print_records([{"stratum": name or "-", "items": count} for name, count in strata.items()], denominator="none")
    tell(f"{line.out}: {several(len(subset.members), 'item')}, {subset.method}")
    tell_next("run", "SUITE", "--model", "PROVIDER/NAME", "--subset", line.out)
