"""Set the difficulty of accepted samples from runs of models."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json, Sources
from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import command, opt

if TYPE_CHECKING:
    from fathom.studio.difficulties import Difficulty


class DifficultyOptions(Json):
    sources: Sources
    store: Store = STORE
    _: KW_ONLY
    tiers: Annotated[
        Path | str, opt("TOML file with three lists of models: high, middle (or mid) and low.", metavar="FILE")
    ]


@command(DifficultyOptions)
def studio_difficulty(options: DifficultyOptions) -> "tuple[dict[str, Difficulty], dict[str, str]]":
    """Set the difficulty of accepted samples from runs of models.

    Extreme: at most one model of the high tier is right; else Hard: at most one of the middle tier; else Moderate: at
    most one of the low tier; else Easy. Returns the difficulties by sample, each with its stability (how often the same
    models would give the same label, given their repetitions), and why others have none.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.difficulties import read_tiers
        from fathom.studio.work import set_difficulties
    from fathom.rows import load

    tiers = read_tiers(Path(options.tiers))
    sources = [options.sources] if isinstance(options.sources, Path | str) else options.sources
    rows = load([Path(source) for source in sources])
    with opened(options.store) as store:
        return set_difficulties(store, rows, tiers)


def main(line: DifficultyOptions) -> None:
    """Print a table."""
    from fathom.options.terminal import print_json, print_records, tell

    difficulties, failed = studio_difficulty.body(line)
    for id, why in failed.items():
        tell(f"sample {id}: {why}")
    records = [
        {
            "sample": id,
            "difficulty": difficulty.label,
            "stability": round(difficulty.stability, 2),
            **{f"{tier} right": f"{difficulty.right[tier]} of {difficulty.models[tier]}" for tier in difficulty.right},
        }
        for id, difficulty in difficulties.items()
    ]
    print_json(records) if line.as_json else print_records(records, denominator="shared")
