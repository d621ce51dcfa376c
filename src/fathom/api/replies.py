"""Replies of models, and what judges say of them: ``run``, ``likelihood``, ``judge`` and ``status``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.api.samples import build
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.run import JudgePlan, JudgeProgress, JudgeSummary, Preflight, Progress, RunStatus, RunSummary


def run(
    suite: Path | str,
    model: str,
    out: Path | str | None = None,
    *,
    lengths: Sequence[int] | None = None,
    tasks: Sequence[str] | None = None,
    items: int | None = None,
    corpus: Sequence[str] | None = None,
    tokenizer: str | None = None,
    languages: Sequence[str] | None = None,
    depths: Sequence[float] = (),
    exact: bool = False,
    seed: int = 0,
    subset: Path | str | None = None,
    confirm: Callable[[Preflight], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
    building: Callable[[int, int], None] | None = None,
    thinking: str | None = None,
    **settings: Any,
) -> RunSummary:
    """Put a suite to a model and keep every reply (command ``fathom run``).

    Args:
        suite: A folder that ``build`` wrote; or the name of a suite or of tasks, which is then built first.
        model: ``PROVIDER/NAME`` as Inspect's model layer takes it, or a reader such as ``fathom/lexical?window=4k``.
        out: Run folder; by default ``runs/SUITE/MODEL``, or ``runs/SUITE-SUBSET/MODEL``; with ``thinking`` the model's
            name is followed by ``-thinking`` or ``-non-thinking``.
        lengths: Only these lengths.
        tasks: Only these tasks.
        items: Items per task where the suite is built first.
        corpus: Documents where the suite is built first.
        tokenizer: Tokenizer where the suite is built first.
        languages: Languages where the suite is built first.
        depths: Depths of the gold text to sweep, where the suite is built first.
        exact: Fill each length to the last token, where the suite is built first.
        seed: Seed of the build and of the run.
        subset: File of a subset: only the samples that it names, or whose item it names, are asked.
        confirm: Shown the preflight before any request; False stops.
        progress: Told the state after every reply.
        building: Told (samples made, samples in all) where the suite is built first.
        thinking: ``on`` for the model's thinking score, ``off`` for its non-thinking score; None for neither.
        settings: Everything else that ``fathom.run.run`` takes.

    Raises:
        FathomError: See ``fathom.build.build`` and ``fathom.run.run``.
    """
    from fathom.run import run
    from fathom.subsetfile import read_subset
    from fathom.suitefile import is_suite, open_suite

    folder = Path(suite)
    if is_suite(folder) or folder.is_dir():
        unused = {"--items": items, "--corpus": corpus, "--tokenizer": tokenizer, "--language": languages}
        given = [name for name, value in {**unused, "--depth": depths, "--exact": exact}.items() if value]
        if given:
            raise FathomError(f"{folder} is built already: {', '.join(given)} cannot be changed; build another suite")
    else:
        target = str(suite)
        wanted: dict[str, Any] = {
            "lengths": lengths,
            "items": items,
            "corpus": corpus,
            "tokenizer": tokenizer,
            "languages": languages,
            "depths": depths,
            "exact": exact,
            "seed": seed,
        }
        # The name of the folder tells apart what was ordered.
        key = hashlib.sha256(json.dumps([target, wanted], sort_keys=True).encode()).hexdigest()[:8]
        folder = Path("builds") / f"{plain_name(target)}-{key}"
        build(target, folder, force=True, progress=building, **wanted)
    name = str(open_suite(folder).manifest["suite"])
    if subset is not None and out is None:
        name = f"{name}-{read_subset(Path(subset)).name}"
    score = {"on": "-thinking", "off": "-non-thinking"}.get(thinking or "", "")
    place = Path(out) if out is not None else Path("runs") / plain_name(name) / f"{plain_name(model)}{score}"
    return run(
        folder,
        model,
        out=place,
        lengths=lengths,
        tasks=tasks,
        seed=seed,
        subset=Path(subset) if subset is not None else None,
        confirm=confirm,
        progress=progress,
        thinking=thinking,
        **settings,
    )


def plain_name(name: str) -> str:
    """A name as one folder name: letters, digits, dots and dashes."""
    return "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in name).strip(".-") or "unnamed"


def judge(
    runs: Iterable[Path | str],
    model: str,
    *,
    confirm: Callable[[JudgePlan], bool] | None = None,
    progress: Callable[[JudgeProgress], None] | None = None,
    **settings: Any,
) -> tuple[JudgeSummary, ...]:
    """Have a model judge the replies of runs; what is judged already is not asked again (command ``fathom judge``).

    Args:
        runs: Folders that ``run`` wrote.
        model: The judge, ``PROVIDER/NAME`` as Inspect's model layer takes it; or a model of embeddings,
            ``embed/NAME`` or ``embed-local/NAME``.
        confirm: Shown, for each run, what is ahead before any request; False stops there.
        progress: Told the state after every judgement.
        settings: Everything else that ``fathom.run.judge`` takes.

    Returns:
        One summary a run, up to the first that was not confirmed.

    Raises:
        FathomError: See ``fathom.run.judge``.
    """
    from fathom.run import judge

    summaries: list[JudgeSummary] = []
    for folder in runs:
        summaries.append(judge(Path(folder), model, confirm=confirm, progress=progress, **settings))
        if summaries[-1].stopped:
            break
    return tuple(summaries)


def check_judge(model: str, model_base_url: str | None = None) -> None:
    """Make sure that a judge can be asked, without asking it; see ``fathom.run.check_judge``."""
    from fathom.run import check_judge

    check_judge(model, model_base_url)


def status(folder: Path | str) -> RunStatus:
    """Where a run stands, from any process (command ``fathom status``).

    Raises:
        FathomError: The folder holds no run.
    """
    from fathom.run import status

    return status(Path(folder))


def likelihood(
    suite: Path | str,
    model: str,
    out: Path | str | None = None,
    *,
    method: str = "orders",
    tell: Callable[[str], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> RunSummary:
    """Answer the questions of a suite that ask for an order by perplexity (command ``fathom likelihood``).

    Args:
        suite: A folder that ``build`` wrote.
        model: ``openai/NAME`` with the setting ``model_base_url``, or ``hf/PATH`` for a local Hugging Face model.
        out: Run folder; by default ``runs/SUITE/MODEL-METHOD``.
        method: ``orders`` or ``pairs``.
        tell: Told what is ahead before the first text.
        progress: Told the state after every reply.
        settings: Everything else that ``fathom.run.likelihood`` takes.

    Raises:
        FathomError: See ``fathom.run.likelihood``.
    """
    from fathom.run import likelihood
    from fathom.suitefile import open_suite

    folder = Path(suite)
    name = str(open_suite(folder).manifest["suite"])
    place = Path(out) if out is not None else Path("runs") / plain_name(name) / plain_name(f"{model}-{method}")
    return likelihood(folder, model, out=place, method=method, tell=tell, progress=progress, **settings)
