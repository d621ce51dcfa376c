"""Evaluate one model on as few items as a narrow interval takes."""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.compress.shared import half_width, print_json
from fathom.commands.shared import (
    Asking,
    Backoff,
    Epochs,
    Json,
    Limits,
    OnReply,
    Reasoning,
    Recorded,
    Sampling,
    Unanswered,
)
from fathom.options.declare import arg, at_least, command, hidden, opt
from fathom.types import FathomError, Member, Subset
from fathom.types import Json as JsonValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathom.compress.adaptive import Answers, Progress
    from fathom.compress.estimates import ModelEstimate
    from fathom.compress.matrix import Floats
    from fathom.run import Preflight

SUBSET = "subset.json"


class AdaptiveOptions(Sampling, Reasoning, Limits, Recorded, Asking, Json):
    suite: Annotated[Path | str, arg("A suite folder.")]
    model: Annotated[str, opt("For instance openai/gpt-5 or vllm/NAME.", "-m", metavar="PROVIDER/NAME")]
    known: Annotated[
        Path | str, opt("Scores of known models on the suite's items: a table or a rows file.", metavar="FILE")
    ]
    out: Annotated[Path | str, opt("Folder for the rounds.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    width: Annotated[float, opt("Half-width of the 95% interval at which to stop.", check=half_width)] = 0.02
    budget: Annotated[int, opt("Most items to ask.", metavar="ITEMS", check=at_least(2))] = 500
    first: Annotated[int, opt("Items of the first round.", metavar="ITEMS", check=at_least(2))] = 100
    step: Annotated[int, opt("Items of every other round.", metavar="ITEMS", check=at_least(1))] = 20
    seed: Annotated[int, opt("Seed of the draws, and of the model.", check=at_least(0))] = 0
    epochs: Epochs = 1
    unanswered: Unanswered = "zero"
    backoff: Backoff = 1.0
    told: Annotated[
        Callable[[int, float, float], None] | None,
        hidden("Told (items asked, estimate, half-width) after every round."),
    ] = None
    confirm: Annotated[
        Callable[["Preflight"], bool] | None, hidden("Shown what is ahead before each round; False stops.")
    ] = None
    progress: OnReply = None


@dataclass(frozen=True)
class Adapted:
    """Where an adaptive evaluation ended.

    Attributes:
        subset: File of the items that were asked; ``fathom compress estimate`` takes it with the rounds.
        rounds: Run folders, one a round.
        items: Items asked.
        of: Items of the whole benchmark.
        estimate: The estimate, with its interval.
        half_width: Of the interval.
        reached: Whether it is as narrow as wanted.
        unanswered: How replies count that were not answered.
    """

    subset: Path
    rounds: Sequence[Path]
    items: int
    of: int
    estimate: "ModelEstimate"
    half_width: float
    reached: bool
    unanswered: str = "zero"


@command(AdaptiveOptions)
def adaptive(options: AdaptiveOptions) -> Adapted:
    """Evaluate one model on as few items as a narrow interval takes.

    Rounds of items are chosen by what the model has shown so far, until the 95% interval of its score on the whole
    benchmark is as narrow as wanted. Stopped or killed, the same command resumes. Limits on tokens and cost hold for
    each round.
    """
    import numpy as np

    from fathom.compress import adaptive
    from fathom.compress.design import design
    from fathom.compress.tables import read_matrix, write_sampled

    folder, width, seed = Path(options.out), options.width, options.seed
    matrix = read_matrix(options.known)
    budget = min(options.budget, len(matrix.items))
    made = design(matrix, budget, seed=seed)
    sizes: dict[str, Any] = {"width": width, "budget": budget, "first": options.first, "step": options.step}
    stretch = adaptive.stretch(made, **sizes)
    choices = {"unit": "items", "seed": seed, **sizes}
    asked: list[Path] = []
    answers: list[Answers] = []

    def ask(items: "NDArray[np.int64]") -> "Floats":
        names = [matrix.items[item] for item in items.tolist()]
        asked.append(folder / f"round-{len(asked) + 1:03d}")
        answers.append(_asked(options, names, asked[-1], choices))
        return adaptive.counted(answers, options.unanswered, str(folder))

    def watch(progress: "Progress") -> None:
        if options.told is not None and len(progress.items):
            found = adaptive.current(made, progress, stretch)
            options.told(len(progress.items), float(found.values[0, 0]), adaptive.half_width(found))

    plan = adaptive.rounds(made, stretch=stretch, rng=np.random.default_rng([seed, 3]), **sizes)
    progress = adaptive.drive(plan, ask, watch)
    half = adaptive.half_width(adaptive.current(made, progress, stretch))
    subset = adaptive.subset_of(made, progress, {**choices, "stretch": stretch})
    write_sampled(subset, matrix, folder / SUBSET)
    return Adapted(
        folder / SUBSET,
        tuple(asked),
        len(progress.items),
        len(matrix.items),
        adaptive.estimate_of(options.model, subset, made, progress, answers, options.unanswered),
        half,
        half <= width,
        options.unanswered,
    )


def _asked(options: AdaptiveOptions, names: Sequence[str], folder: Path, choices: Mapping[str, JsonValue]) -> "Answers":
    """The answers of the model to some items: the run resumes, or is finished already."""
    from fathom.commands.run import run
    from fathom.compress.adaptive import answers_of
    from fathom.compress.tables import of_rows
    from fathom.rows.runs import load
    from fathom.subsetfile import read_subset, write_subset

    members = tuple(Member(name, 1.0) for name in names)
    path = folder.with_suffix(".json")
    if not path.is_file():
        write_subset(Subset(folder.name, members, "adaptive round", choices), path)
    elif read_subset(path).members != members:
        raise FathomError(
            f"{path}: this round asked other items than it would now: the options, the known scores, the scores of "
            "an earlier round or the version of fathom have changed. Choose another --out"
        )
    settings: dict[str, Any] = options.of(Sampling, Reasoning, Limits, Recorded)
    own = {name: getattr(options, name) for name in ("seed", "epochs", "backoff", "confirm", "progress")}
    summary = run(options.suite, options.model, folder, subset=path, **settings | own)
    if summary.stopped:
        raise FathomError(f"{folder}: stopped: {summary.stopped}; the same command goes on from there")
    return answers_of(of_rows(load([folder]), str(folder), names), names)


# -------------------------------------------------------------------------------------------------------- printing


def main(line: AdaptiveOptions) -> None:
    """Print a line after each round, and the estimate."""
    from fathom.terminal import confirmed, tell

    def told(items: int, value: float, half: float) -> None:
        if not line.quiet:
            print(f"  {items:,} items: {100 * value:.2f} ± {100 * half:.2f}", file=sys.stderr)

    shown: list[Preflight] = []

    def confirm(plan: "Preflight") -> bool:
        """What is ahead is shown, and asked about, for the first round that asks anything."""
        known = bool(shown)
        shown.extend([plan] if plan.requests else [])
        return confirmed(plan, yes=line.yes or known, quiet=line.quiet or known)

    found = adaptive.body(line.but(told=told, confirm=confirm))
    if line.as_json:
        record = dataclasses.asdict(found)
        print_json({**record, "subset": str(found.subset), "rounds": list(map(str, found.rounds))})
        return
    print(
        f"{found.estimate.model}: {100 * found.estimate.overall.value:.2f} ± {100 * found.half_width:.2f} "
        f"after {found.items:,} of {found.of:,} items"
    )
    _print_outcomes(found)
    if not found.reached:
        tell(f"the interval is not as narrow as {line.width:g}: raise --budget, and the same command goes on")
    tell(f"`fathom compress estimate {found.rounds[0].parent}/round-*/ --subset {found.subset}` gives the categories")


def _print_outcomes(found: Adapted) -> None:
    """What became of the replies, where some are no whole answers."""
    from fathom.stats.outcomes import COUNTED, differ

    one = found.estimate
    counts = [f"{one.ended[name]:,} {name}" for name in COUNTED if one.ended[name]]
    if not counts:
        return
    how = "count 0" if found.unanswered == "zero" else "left out"
    other = "no estimate" if one.other is None else f"{100 * one.other:.2f}"
    both = f"; {other} where they {'are left out' if found.unanswered == 'zero' else 'count 0'}"
    print(
        f"of {one.ended['replies']:,} replies {', '.join(counts)}; those without an answer {how}"
        + (both if differ(one.overall.value, one.other) else "")
    )
