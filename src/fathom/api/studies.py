"""Analyses of results: ``analyze``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fathom.commands.reading import PriorKnowledge, load, tell_unfinished, unanswered_of, without_known
from fathom.commands.shared import THRESHOLD
from fathom.names import system_name
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.analysis import BaseRule, Correct, Difficulty, Filtered, Profile, Unanswered

STUDIES = (
    "longscore",
    "steady",
    "curve",
    "length",
    "position",
    "truncation",
    "answers",
    "counts",
    "compare",
    "agreement",
    "known",
    "judge",
    "categories",
    "breakdown",
    "repeats",
    "neighbours",
    "thinking",
    "difficulty",
)

NAMED = 4
"""Cells without a score that a note names."""
_OF_QUESTIONS = ("breakdown", "repeats", "neighbours", "thinking")


def analyze(
    study: str,
    sources: Iterable[Path | str],
    *,
    seed: int = 0,
    labels: Path | str | None = None,
    judge: str | None = None,
    base: str | None = None,
    items: int = 100,
    scale: str | None = None,
    where: Mapping[str, str] | None = None,
    chance: Mapping[str, float] | None = None,
    lengths: Sequence[int] | None = None,
    filter: str | None = None,
    threshold: float = THRESHOLD,
    panel: Sequence[Path | str] | None = None,
    bins: int = 5,
    by: str | Sequence[str] | None = None,
    compensated: bool = False,
    measures: Sequence[str] = ("mean",),
    unanswered: str = "zero",
    tiers: Path | str | Mapping[str, Sequence[str]] | None = None,
    correct: str = "majority",
    allowed: int = 1,
    out: Path | str | None = None,
    tell: Callable[[str], None] | None = None,
) -> Sequence[Any]:
    """One analysis of runs (command ``fathom analyze STUDY``).

    Args:
        study: One of ``STUDIES``.
        sources: Run folders and rows files; for ``longscore``, ``steady``, ``curve`` and ``length`` tables of scores by
            model, task and length too (``fathom.analysis.read_scores``).
        seed: Seed of the bootstrap.
        base: For ``longscore`` and ``steady``: ``paper``, ``code`` or ``given`` (``fathom.analysis.base``).
        items: Items behind each score of a table of scores.
        scale: ``percent`` or ``fraction``, for a table of scores.
        where: Only lines with these values in these columns of a table of scores.
        chance: Chance level by task, for a table of scores.
        lengths: For the same four: only these lengths in tokens; those of the base stay.
        labels: For ``judge``: a file of labels, see ``fathom.rows.read_labels``.
        judge: See ``rows``.
        filter: See ``filtered``; ``counts`` and ``judge`` look at all rows.
        threshold: See ``filtered``.
        panel: See ``filtered``.
        bins: For ``position``: equal parts of the context that depths drawn at random fall into.
        by: For ``categories``: the facet that names the groups, ``category`` by default. For ``breakdown`` and
            ``thinking``: what to group by, see ``fathom.analysis.breakdown``; by default all of its dimensions, and
            ``overall``.
        compensated: For ``categories``: whether a reply of the wrong form counts as much as chance.
        measures: For ``breakdown``: any of ``mean``, ``best_of`` and ``pass_at``.
        unanswered: ``zero`` or ``drop``: how replies count that were not answered (``fathom.stats.outcomes``).
        tiers: For ``difficulty``: the models of the tiers, or a TOML file that names them.
        correct: For ``difficulty``: when a model that was asked several times is right.
        allowed: For ``difficulty``: models of a tier that may be right although a question is beyond the tier.
        out: For ``difficulty``: a table of the labels to write, ``.parquet``, ``.csv`` or ``.jsonl``.
        tell: Told what the filter removed, what that makes of comparisons, and what was not measured.

    Returns:
        The frozen results of ``fathom.analysis``; ``compare`` gives those of every pair of models, ``position`` the
        points and then the contrasts of front, middle and rear, ``difficulty`` one result.

    Raises:
        FathomError: There is no such study, or nothing to compare.
    """
    from fathom import analysis

    if study not in STUDIES:
        raise FathomError(f"unknown study {study!r}: choose {', '.join(STUDIES)}")
    if (study == "judge") != (labels is not None):
        raise FathomError("the study judge, and no other, needs --labels FILE with a score by people for each reply")
    if (study == "difficulty") != (tiers is not None):
        raise FathomError("the study difficulty, and no other, needs --tiers FILE with the models of three tiers")

    how, counting = PriorKnowledge(filter, threshold, panel, judge, seed, tell), unanswered_of(unanswered)
    of_profiles: Mapping[str, Callable[[Sequence[Profile]], Sequence[Any]]] = {
        "longscore": analysis.longscore_of,
        "steady": analysis.steady_of,
        "curve": analysis.curve_of,
        "length": analysis.effective_length_of,
    }
    if study in of_profiles:
        reading = {"items": items, "scale": scale, "where": where, "chance": chance}
        return of_profiles[study](profiles_of(sources, how, base, reading, lengths, counting))
    paths = list(sources)
    frame = load(paths, judge)
    tell_unfinished(paths, tell)
    if labels is not None:
        from fathom.rows import read_labels

        return analysis.judge_agreement(frame, read_labels(Path(labels)), seed=seed)
    if study == "counts":
        return analysis.counts(frame)
    left = without_known(frame, how)
    if study == "known":
        return left.removed
    frame = counted_rows(left, counting, tell)
    if study == "answers":
        return analysis.answers(frame, seed=seed)
    if study == "categories":
        return analysis.categories(frame, by=_one(by), compensated=compensated, seed=seed)
    if study in _OF_QUESTIONS:
        return _of_questions(study, frame, by, measures, seed)
    if tiers is not None:
        return [_difficulty(left.rows, tiers, cast("Correct", correct), allowed, out)]
    if study == "agreement":
        return analysis.agreement(frame, seed=seed)
    if study == "position":
        points = analysis.position(frame, bins=bins, seed=seed)
        return [*points, *analysis.position_contrasts(frame, seed=seed)]
    if study == "truncation":
        if found := analysis.truncation(frame, seed=seed):
            return found
        raise FathomError(
            "no prompt of these rows was cut and has a score beside its whole one: build with --truncate 2k,4k,8k, and "
            "run the whole prompts and the cut ones"
        )
    return _compare(frame, seed)


def _one(by: str | Sequence[str] | None) -> str:
    """The one facet to group by."""
    names = ["category"] if by is None else [by] if isinstance(by, str) else list(by)
    if len(names) != 1:
        raise FathomError("categories are grouped by one facet; the study breakdown takes several")
    return names[0]


def _of_questions(
    study: str,
    frame: pl.DataFrame,
    by: str | Sequence[str] | None,
    measures: Sequence[str],
    seed: int,
) -> Sequence[Any]:
    from fathom import analysis

    names = (by,) if isinstance(by, str) else by
    if study == "breakdown":
        groups = analysis.DIMENSIONS if names is None else tuple(names)
        return analysis.breakdown(frame, by=groups, measures=measures, seed=seed)
    if study == "thinking":
        groups = ("overall",) if names is None else tuple(names)
        return analysis.thinking_gain(frame, by=groups, seed=seed)
    if study == "neighbours":
        return analysis.neighbours(frame, seed=seed)
    return analysis.repeats(frame, seed=seed)


def _difficulty(
    frame: pl.DataFrame,
    tiers: Path | str | Mapping[str, Sequence[str]],
    correct: Correct,
    allowed: int,
    out: Path | str | None,
) -> Difficulty:
    from fathom import analysis

    named = analysis.read_tiers(Path(tiers)) if isinstance(tiers, Path | str) else tiers
    found = analysis.difficulty(frame, named, correct=correct, allowed=allowed)
    if out is not None:
        from fathom.rows.schema import write_table

        write_table(analysis.label_table(found), Path(out), "table of labels")
    return found


def score_tables(sources: Iterable[Path | str]) -> list[Path]:
    """Those among the sources that are tables of scores and not rows."""
    from fathom.analysis import is_score_table

    return [path for path in map(Path, sources) if path.is_file() and is_score_table(path)]


def profiles_of(
    sources: Iterable[Path | str],
    how: PriorKnowledge,
    base: str | None,
    reading: Mapping[str, Any],
    lengths: Sequence[int] | None = None,
    unanswered: Unanswered = "zero",
) -> list[Profile]:
    """Profiles of tables of scores, then those of rows.

    Args:
        sources: Run folders, rows files and tables of scores.
        how: What is left out of the rows.
        base: ``paper``, ``code`` or ``given`` (``fathom.analysis.base``); None for the default of each source.
        reading: Options of ``fathom.analysis.read_scores``.
        lengths: Only these lengths, beside those of the base; None for all.
        unanswered: How replies count that were not answered.

    Raises:
        FathomError: A source cannot be read, or has no such base or length.
    """
    from fathom.analysis import at_lengths, profiles, read_scores, score_profiles

    paths = [Path(source) for source in sources]
    tables = score_tables(paths)
    rule = cast("BaseRule | None", base)
    found = [
        profile
        for path in tables
        for profile in score_profiles(
            read_scores(path, **reading, several=lengths is not None), base=rule, seed=how.seed
        )
    ]
    others = [path for path in paths if path not in tables]
    if others or not tables:
        frame = load(others, how.judge)
        tell_unfinished(others, how.tell)
        left = without_known(frame, how)
        found += profiles(counted_rows(left, unanswered, how.tell, lengths), seed=how.seed, base=rule or "paper")
    return found if lengths is None else at_lengths(found, lengths)


def counted_rows(
    left: Filtered, unanswered: Unanswered, tell: Callable[[str], None] | None, lengths: Sequence[int] | None = None
) -> pl.DataFrame:
    """The rows that a study is of, with the scores that count; tells what was not measured.

    Args:
        left: What the prior-knowledge filter left.
        unanswered: How replies count that were not answered.
        tell: Told of each model's cells without a score; None for nobody.
        lengths: Only of these lengths; None for all.
    """
    from fathom.length import format_length
    from fathom.stats.outcomes import counted, scored_rows, unmeasured

    frame = counted(left.rows, unanswered)
    lost: dict[str, list[str]] = {}
    for cell in unmeasured(scored_rows(frame)) if tell is not None else ():
        if lengths is None or cell.length in lengths:
            said = f"{cell.task} at {format_length(cell.length)} ({cell})"
            lost.setdefault(system_name(cell.model, cell.variant), []).append(said)
    for model, cells in lost.items():
        more = f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
        assert tell is not None
        tell(f"{model} is not measured on {', '.join(cells[:NAMED])}{more}; means that these belong to are left out")
    return frame


def _compare(frame: pl.DataFrame, seed: int) -> Sequence[Any]:
    from itertools import combinations

    from fathom.analysis import compare

    systems = frame.select("model", "variant").unique(maintain_order=True).rows()
    if len(systems) < 2:
        raise FathomError("a comparison needs rows of two models or variants; name the runs of both")
    return [
        found
        for (model_a, variant_a), (model_b, variant_b) in combinations(systems, 2)
        for found in compare(frame, model_a, model_b, variant_a=variant_a, variant_b=variant_b, seed=seed)
    ]
