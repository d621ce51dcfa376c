"""Study runs: LongScore, curves, effective length, position, comparisons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from fathom.commands.analyze.shared import (
    COMMANDS,
    OfRows,
    ScoresStudy,
    Study,
    known_removed,
    printing,
    profiles_of,
    study,
    study_parts,
    study_rows,
)
from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Sources, Tell, Unanswered
from fathom.options.declare import Read, at_least, given, line_only, opt, unset
from fathom.options.values import MaybePath, Names, Several, names_of, paths_of
from fathom.plugins.names import unknown
from fathom.printing import several
from fathom.types import FathomError
from fathom.types.choices import ALPHA, Correct

if TYPE_CHECKING:
    import polars as pl

    from fathom import analysis

FORMER = {"steady": "retention", "neighbours": "adjacent", "known": "closed-book"}
"""Former names of studies, which keep working."""

Dimensions: TypeAlias = Annotated[
    Names,
    opt(
        "What to group by, separated by commas: overall, language, length, task, suite, run, or any facet (difficulty, "
        "primary_task, ...)."
    ),
]


def analyze(study: str, sources: Iterable[Path | str], **options: Any) -> Sequence[Any]:
    """One study by its name; ``fathom.api.analyze_STUDY`` are the same functions with their options.

    Args:
        study: One of ``NAMES``.
        sources: Run folders and rows files.
        options: Those of the study.

    Raises:
        FathomError: There is no such study, or see there.
        TypeError: The study has no such option; the message names the nearest one.
    """
    name = FORMER.get(study, study).replace("_", "-")
    if name not in NAMES:
        raise unknown("study", study, NAMES)
    results: Sequence[Any] = COMMANDS[name].function(sources, **options)
    return results


# -------------------------------------------------------------------------------------- scores by length and position


@study(ScoresStudy, printing())
def analyze_longscore(options: ScoresStudy) -> "list[analysis.LongScore]":
    """Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""
    from fathom.analysis import longscore_of

    return longscore_of(profiles_of(options))


@study(ScoresStudy, printing())
def analyze_retention(options: ScoresStudy) -> "list[analysis.Steady]":
    """Chance-corrected retention, log-ratio, area, and the lengths L85 and L50."""
    from fathom.analysis import steady_of

    return steady_of(profiles_of(options))


@study(ScoresStudy, printing())
def analyze_curve(options: ScoresStudy) -> "list[analysis.CurvePoint]":
    """Mean score at each length, with intervals and chance."""
    from fathom.analysis import curve_of

    return curve_of(profiles_of(options))


@study(ScoresStudy, printing())
def analyze_length(options: ScoresStudy) -> "list[analysis.EffectiveLength]":
    """Effective context length under three definitions, with intervals."""
    from fathom.analysis import effective_length_of

    return effective_length_of(profiles_of(options))


@study(Study, printing())
def analyze_truncation(options: Study) -> "list[analysis.Truncation]":
    """Compare full with truncated prompts: how much each task depends on the full text."""
    from fathom.analysis import truncation

    if results := truncation(study_rows(options), seed=options.seed):
        return results
    raise FathomError(
        "no prompt of these rows was cut and has a score beside its whole one: build with `truncate` 2k,4k,8k, and run "
        "the whole prompts and the cut ones"
    )


class RecoveryOptions(Json):
    sources: Sources
    _: KW_ONLY
    unanswered: Unanswered = "zero"
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


@study(
    RecoveryOptions,
    printing(
        "no question of these rows was asked with its evidence alone: build with --closed-book --alone --padded 0.25, "
        "or use `fathom lab diagnose`"
    ),
)
def analyze_recovery(options: RecoveryOptions) -> "list[analysis.Recovery]":
    """Reading, reasoning or knowing: the score with the whole context beside that with the evidence alone.

    All questions count, also those that are answered closed-book, because that score is subtracted.
    """
    from fathom.analysis import recovery

    return recovery(_loaded(options), unanswered=options.unanswered, seed=options.seed)


# --------------------------------------------------------------------------------------------- replies and comparisons


@study(
    Study,
    printing(
        "no task in these rows has a chance level above 0 and a scored reply, an example in its instructions, "
        "or token F1 as its score"
    ),
)
def analyze_answers(options: Study) -> "list[analysis.AnswerPoint]":
    """Replies that follow the instructions, copy their example or contain a gold answer; shortcuts, orders, places."""
    from fathom.analysis import answers

    return answers(study_rows(options), seed=options.seed)


def _loaded(options: "Study | JudgeStudyOptions | RecoveryOptions") -> "pl.DataFrame":
    """All rows, with notes on unfinished runs."""
    from fathom.report.reading import tell_unfinished
    from fathom.rows import load

    sources = paths_of(options.sources)
    frame = load(sources, judge=options.judge)
    tell_unfinished(sources, options.tell)
    return frame


@study(Study, printing(section="counts"), summary="Replies by status, validity, truncation, tokens and cost.")
def analyze_counts(options: Study) -> "list[analysis.Counts]":
    """Replies by status, validity, truncation, tokens and cost, of all rows."""
    from fathom.analysis import counts

    return counts(_loaded(options))


@study(
    Study,
    printing(
        "no two models or variants in these rows have scores of one task at one length; name runs of one suite, and "
        "see above which lengths have no score"
    ),
)
def analyze_compare(options: Study) -> "list[analysis.Comparison]":
    """Paired differences between every two models on the items that they share."""
    from fathom.analysis.compare import NEEDED, compare_all

    return compare_all(study_parts(options, NEEDED), seed=options.seed)


@study(
    Study,
    printing("no two models or variants in these rows have a score for the same sample; name runs of one suite"),
)
def analyze_agreement(options: Study) -> "list[analysis.Agreement]":
    """How often every two models, or two ways of asking one, give the same answer."""
    from fathom.analysis import agreement

    return agreement(study_rows(options), seed=options.seed)


@study(
    Study,
    printing("no question in these rows was asked closed-book; run a suite that has such samples", section="known"),
)
def analyze_closed_book(options: Study) -> "list[analysis.Known]":
    """Questions that models answer closed-book, and which of them are excluded."""
    return list(known_removed(options).removed)


class PositionOptions(Study):
    _: KW_ONLY
    bins: Annotated[int, opt("Equal parts of the context for depths that were drawn at random.", check=at_least(1))] = 5


@study(
    PositionOptions,
    printing("no reply in these rows has a score and a depth; build with --depths front,middle,end to study positions"),
)
def analyze_position(options: PositionOptions) -> "list[analysis.PositionPoint | analysis.PositionContrast]":
    """Score by position of the gold text in the context, and front, middle and end compared.

    First the points, then the contrasts.
    """
    from fathom.analysis import position, position_contrasts

    frame = study_rows(options)
    points = position(frame, bins=options.bins, seed=options.seed)
    return [*points, *position_contrasts(frame, seed=options.seed)]


class SurvivalOptions(Study):
    _: KW_ONLY
    price_of: Annotated[
        str | None,
        opt("Dollars of the recorded tokens at this model's prices; default: what was recorded.", metavar="MODEL"),
    ] = None


@study(
    SurvivalOptions,
    printing(
        "no question of these rows is about a fact: build `memory`, or transcripts with `fathom data transcripts`"
    ),
)
def analyze_survival(options: SurvivalOptions) -> "list[analysis.Survival | analysis.SurvivalPoint]":
    """What survives compaction: facts still answered rightly, by age, kind and number of compactions, and the cost.

    First the systems, the best first, then the points of their curves.
    """
    from fathom.analysis import at_prices_of, survival, survivors

    frame = study_rows(options)
    if options.price_of:
        frame = at_prices_of(frame, options.price_of)
    return [*survivors(frame, seed=options.seed), *survival(frame, seed=options.seed)]


class JudgeStudyOptions(Json):
    sources: Sources
    _: KW_ONLY
    labels: Annotated[
        Path | str,
        opt("CSV or JSONL with a score in [0, 1] for each labelled sample; see docs/how-to/judges.md.", metavar="FILE"),
    ]
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


@study(JudgeStudyOptions, printing())
def analyze_judge(options: JudgeStudyOptions) -> "list[analysis.JudgeAgreement]":
    """Compare a judge's scores with those of people: agreement, Cohen's kappa, bias by length."""
    from fathom.analysis import judge_agreement
    from fathom.rows import read_labels

    results = judge_agreement(_loaded(options), read_labels(Path(options.labels)), seed=options.seed)
    if options.tell is not None and results and results[0].unmatched:
        options.tell(f"labels without a reply in these rows: {results[0].unmatched:,}")
    return results


# --------------------------------------------------------------------------------------------------- groups and repeats


class CategoriesOptions(Study):
    _: KW_ONLY
    by: Annotated[
        str, opt("Facet to group by: category, bucket, difficulty, v2_length, domain or any other.", metavar="FACET")
    ] = "category"
    compensated: Annotated[bool, opt("Give replies of the wrong form the chance level instead of 0.")] = False
    tasks: Annotated[bool, opt("Print each task of a group too.")] = line_only(False)


def _print_categories(
    line: CategoriesOptions, body: "Callable[[CategoriesOptions], Sequence[analysis.CategoryScore]]"
) -> None:
    from fathom.report.studies import print_results

    scores = [score for score in body(line) if line.tasks or line.as_json or score.task == "all"]
    print_results(scores, line.as_json, "no row has a score")


@study(CategoriesOptions, _print_categories)
def analyze_categories(options: CategoriesOptions) -> "list[analysis.CategoryScore]":
    """Mean of the tasks of each category, and of the categories, as in LongBench."""
    from fathom.analysis import categories

    return categories(study_rows(options), by=options.by, compensated=options.compensated, seed=options.seed)


class BreakdownOptions(Study):
    _: KW_ONLY
    by: Dimensions = unset
    measures: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt("Any of mean, best_of and pass_at, separated by commas.", metavar="NAME,...", read=names_of),
    ] = given("mean")


def _print_breakdown(
    line: BreakdownOptions, body: "Callable[[BreakdownOptions], Sequence[analysis.GroupScore]]"
) -> None:
    from fathom.report.studies import print_results

    if line.by and not line.as_json:  # tables have a column for the whole
        line = line.but(by=tuple(dict.fromkeys(("overall", *line.by))))
    print_results(body(line), line.as_json, "no row has a score")


@study(BreakdownOptions, _print_breakdown)
def analyze_breakdown(options: BreakdownOptions) -> "list[analysis.GroupScore]":
    """Mean over questions in each group, best of n and pass at n, as in LongBench Pro."""
    from fathom.analysis import DIMENSIONS, breakdown

    frame, by = study_rows(options), options.by or DIMENSIONS
    return breakdown(frame, by=by, measures=options.measures, seed=options.seed)


@study(
    Study,
    printing("no reply has a score; of published averages see `fathom analyze breakdown --measures best_of,pass_at`"),
)
def analyze_repeats(options: Study) -> "list[analysis.Repeats]":
    """Error of a mean due to the questions and due to few repeats; best of n and pass at n."""
    from fathom.analysis import repeats

    return repeats(study_rows(options), seed=options.seed)


@study(Study, printing("no reply has a score; published averages cannot be compared question by question"))
def analyze_adjacent(options: Study) -> "list[analysis.Neighbour]":
    """Models in order of their score, and which are not distinguishable from the next one below."""
    from fathom.analysis import neighbours

    return neighbours(study_rows(options), seed=options.seed)


class BestOptions(Known, Json):
    sources: Sources
    _: KW_ONLY
    judge: JudgeOfRows = None
    tell: Tell = None
    alpha: Annotated[
        float, opt("Probability with which the best may ever be called not the best.", check=at_least(0, above=True))
    ] = ALPHA


@study(BestOptions, printing())
def analyze_best(options: BestOptions) -> "list[analysis.BestCandidate]":
    """Which of these models may be the best, and ranges of ranks, at any look while replies come."""
    from fathom.analysis import best_models

    rows = OfRows(options.sources, judge=options.judge, tell=options.tell, **options.of(Known))
    return best_models(known_removed(rows).rows, alpha=options.alpha)


class FaultyOptions(Study):
    _: KW_ONLY
    errata: Annotated[
        Several,
        opt("A table (CSV) of faulty items beside the benchmarks' own; may be given more than once.", metavar="FILE"),
    ] = unset


@study(FaultyOptions, printing("no reply with a score is to an item that is known to be faulty under its rule"))
def analyze_faulty(options: FaultyOptions) -> "list[analysis.WithAndWithout]":
    """Scores with and without the items of published benchmarks that are known to be faulty."""
    from fathom.analysis.faulty_items import faulty_items, with_and_without

    return with_and_without(study_rows(options), faulty_items(options.errata or ()))


class SecondJudgeOptions(Json):
    sources: Sources
    _: KW_ONLY
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


@study(SecondJudgeOptions, printing("no reply was judged by a second judge (`fathom judge --second`)"))
def analyze_second_judge(options: SecondJudgeOptions) -> "list[analysis.JudgeShift]":
    """How much scores move with the judge: a second judge, or a second prompt, on a sample of the replies."""
    from fathom.commands.analyze.second_judge import shifts_of

    return shifts_of(options.sources, options.judge, options.seed)


@study(Study, printing("no generated task has replies beside those to its published records"))
def analyze_published(options: Study) -> "list[analysis.PublishedAndGenerated]":
    """Generated tasks beside the published records of the same benchmark: what contamination or format did."""
    from fathom.analysis.published import published_and_generated, published_twins

    return published_and_generated(study_rows(options), published_twins(), seed=options.seed)


@study(Study, printing("no reply with a length is to a record of HELMET or to a generated task of the same ability"))
def analyze_helmet(options: Study) -> "list[analysis.HelmetScore]":
    """HELMET's categories and their mean at each length, over what was asked; generated tasks of the same apart."""
    from fathom.analysis import helmet_scores

    return helmet_scores(study_rows(options), unanswered=options.unanswered, seed=options.seed)


class ThinkingOptions(Study):
    _: KW_ONLY
    by: Dimensions = unset


@study(
    ThinkingOptions,
    printing("no model of these rows has scores both with thinking and without; run it with both modes"),
)
def analyze_thinking(options: ThinkingOptions) -> "list[analysis.ThinkingGain]":
    """Gain from thinking, over the questions that models answered with and without it."""
    from fathom.analysis import thinking_gain

    return thinking_gain(study_rows(options), by=options.by or ("overall",), seed=options.seed)


class RulesOptions(Study):
    _: KW_ONLY
    by: Dimensions = unset


@study(
    RulesOptions,
    printing(
        "no reply of these runs has a score by a released code too; rows files have one rule, so name run folders"
    ),
)
def analyze_rules(options: RulesOptions) -> "list[analysis.RuleGap]":
    """Both rules: scores under fathom's own and the released code's, by group, and what is lost to format."""
    from fathom.analysis.breakdown import not_there
    from fathom.analysis.rules import BY, rule_gaps
    from fathom.commands.analyze.rules import under_both

    left = known_removed(options).left
    rows = under_both(left, paths_of(options.sources), options.judge, options.unanswered, options.tell)
    gaps = rule_gaps(rows, by=options.by or BY, seed=options.seed)
    if options.by and not gaps and len(rows.strict):
        raise not_there(options.by[0], rows.strict)
    return gaps


class DialsOptions(Study):
    _: KW_ONLY
    by: Annotated[
        Names, opt("Dials, separated by commas; default: those of generated suites. Any facet counts as a dial.")
    ] = unset


@study(
    DialsOptions,
    printing("no dial has several settings in these rows: build with --dials, for instance --dials hops=2,3"),
)
def analyze_dials(options: DialsOptions) -> "list[analysis.DialPoint | analysis.DialLoss]":
    """How the score falls along each dial, twins, and which dial explains what is lost with length.

    First the points, then the losses.
    """
    from fathom.analysis import dials

    points, losses = dials(study_rows(options), by=options.by or (), seed=options.seed)
    return [*points, *losses]


class DifficultyOptions(OfRows, Json):
    _: KW_ONLY
    tiers: Annotated[
        Path | str | Mapping[str, Sequence[str]],
        opt(
            "TOML file with the lists of models high, middle (or mid) and low.",
            metavar="FILE",
            read=lambda given: given,
        ),
    ]
    correct: Annotated[
        Correct,
        opt(
            "When a model is right that was asked several times: majority, any or all of its replies pass, or their "
            "mean would."
        ),
    ] = "majority"
    allowed: Annotated[
        int,
        opt(
            "How many models of a tier may answer right before the question counts as solved by the tier.",
            check=at_least(0),
        ),
    ] = 1
    out: Annotated[MaybePath, opt("Write the label of each question here: .parquet, .csv or .jsonl.")] = unset


def _print_difficulty(
    line: DifficultyOptions, body: "Callable[[DifficultyOptions], Sequence[analysis.Difficulty]]"
) -> None:
    from fathom.analysis.difficulty import difficulty_record
    from fathom.options.terminal import print_json
    from fathom.report.studies import print_results

    (difficulty,) = results = body(line)
    if line.as_json:
        return print_json(difficulty_record(difficulty))
    print_results(results, as_json=False)
    if line.out is not None:
        print(f"labels of {several(len(difficulty.labels), 'question')}: {line.out}")


@study(DifficultyOptions, _print_difficulty)
def analyze_difficulty(options: DifficultyOptions) -> "list[analysis.Difficulty]":
    """Difficulty labels of questions, from which tiers of models get them wrong.

    One result.
    """
    from fathom import analysis

    frame, tiers = known_removed(options).rows, options.tiers
    models = analysis.read_tiers(Path(tiers)) if isinstance(tiers, Path | str) else tiers
    difficulty = analysis.difficulty(frame, models, correct=options.correct, allowed=options.allowed)
    if options.out is not None:
        from fathom.rows.schema import write_table

        write_table(analysis.label_table(difficulty), Path(options.out), "table of labels")
    return [difficulty]


NAMES = tuple(COMMANDS)
"""The studies, in the order of the help."""
