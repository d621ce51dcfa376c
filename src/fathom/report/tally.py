"""What several sections say of outcomes: columns for chance and scored replies, counts below a mean."""

import math
from collections import Counter
from collections.abc import Mapping

from fathom.analysis import (
    BestCandidate,
    CategoryScore,
    Counts,
    Filtered,
    GroupScore,
    Known,
    Neighbour,
    Repeats,
    Survival,
)
from fathom.analysis.ranking import Ranked
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.table import Cell, Column, Replies
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Bounds, Unanswered, differ

SCORED = Column(
    "Scored",
    help="Replies with content that were scored. Small figures: unanswered and missing replies, replies truncated at "
    "the output cap, replies that the scorer could not score, prompts that did not fit the window, invalid replies, "
    "truncated prompts, and the cost",
)
ALPHA = 0.05
"""Level of a family of differences."""
SCORER_ERRORS = "not scored (error of the scorer)"
"""How replies on which the scorer raised an exception are named below a number."""
BOUNDS = "(bounds)"
"""Beside what a figure would be with its missing replies wrong or right."""
APART = "Nothing was asked of both this model and the next one below."
CHANCE = Column("Chance", help="Expected score of a valid answer drawn at random, percent")
RULES: Mapping[Unanswered, str] = {
    "zero": "Unanswered replies count 0. A task has no score at a length where more than 2% of the replies are missing "
    "or could not be scored, or more than a fifth of the prompts did not fit.",
    "drop": "Unanswered replies are left out of the means (--unanswered drop), so that a model loses nothing by not "
    "answering.",
}
"""How unanswered replies count, in a sentence."""
POLICIES = {
    "own": "for each model, the questions that it answers closed-book are excluded, as in the paper",
    "intersection": "a question that any of the models answers closed-book is excluded for all",
    "panel": "a question that any model of the panel answers closed-book is excluded for all",
    "none": "no question is excluded",
}
"""What each policy of the closed-book filter excludes."""


def sentence_on_filter(filtered: Filtered) -> str:
    """One sentence on what the closed-book filter excluded, and under which policy."""
    if filtered.policy == "none":
        known = sum(answers.known for answers in filtered.removed)
        return (
            f"No closed-book questions are excluded, although {words.several(known, 'closed-book answer')} scored "
            f"{words.percent(filtered.threshold)}% or more."
        )
    return (
        f"The closed-book filter excluded {_removed(filtered)} (policy {filtered.policy}: {POLICIES[filtered.policy]})."
    )


def _removed(filtered: Filtered) -> str:
    """How many questions: for each model if each excludes its own, else once for all."""
    if filtered.policy != "own":
        removed, questions = filtered.distinct
        return f"{words.count(removed)} of {words.count(questions)} questions for all models"
    gone, asked = Counter[str](), Counter[str]()
    for known in filtered.removed:
        gone[system_of_known(known).name] += known.removed
        asked[system_of_known(known).name] += known.questions
    return words.listed(
        [f"{words.count(gone[name])} of {words.count(asked[name])} questions of {name}" for name in asked]
    )


def system_of_known(known: Known) -> System:
    """The model of closed-book answers."""
    return System(printable(known.model), printable(known.variant))


def replies_of(system: System, task: str = ALL, length: int | None = None, status: str = "") -> Replies:
    """The replies of a system on one task or on all."""
    return Replies(*system, "" if task == ALL else task, length, status)


def scored_cell(results: Results, system: System, task: str = ALL) -> Cell:
    """How many replies of a system were scored, on one task or on all, and how many were not."""
    counts = results.by_task.get((system, task))
    if counts is None:
        return Cell()
    numbers = {
        "unanswered": counts.unanswered,
        "truncated": counts.cut,
        "missing": counts.missing - counts.not_asked,
        "not asked": counts.not_asked,
        SCORER_ERRORS: counts.scorer_error,
        "overflow": counts.overflow,
        "invalid": counts.invalid,
        "prompts truncated": counts.truncated,
    }
    below = [f"{words.count(number)} {name}" for name, number in numbers.items() if number]
    if counts.cost:
        below.append(words.money(counts.cost))
    return Cell(words.count(counts.scored), below=tuple(below), replies=replies_of(system, task))


def mean_interval(results: Results, score: GroupScore | Repeats) -> Interval | None:
    """The interval of a mean over questions: that of the same mean over tasks if there is one, else its own.

    The two resample differently, and one number has one interval in a report.
    """
    system = system_of(score)
    mean, group = (score.mean, ALL) if isinstance(score, Repeats) else (score.score, score.group)
    lengths = {words.tokens(length): results.curve.get((system, ALL, length)) for length in results.lengths}
    of_tasks = {ALL: results.average.get((system, ALL)), **lengths}.get(group) if results.by_average else None
    if of_tasks is None or of_tasks.mean is None or not math.isclose(of_tasks.mean, mean, abs_tol=1e-9):
        return score.interval
    return of_tasks.interval


def bounds_note(ends: Bounds | None, why: str) -> str:
    """What a mean would be with its missing replies wrong or right, as a note; "" without bounds.

    Args:
        found: The bounds.
        why: Which replies are missing, "2 of 15 replies are missing".
    """
    if ends is None:
        return ""
    low, high = words.percent(ends.low), words.percent(ends.high)
    return f"{words.sentence(why)[:-1]}: between {low} with all wrong and {high} with all right."


def other_score(results: Results, mean: float | None, other: float | None) -> tuple[str, ...]:
    """The mean under the other rule for unanswered replies, if the two differ by half a point."""
    if other is None or not differ(mean, other):
        return ()
    return (f"{'answered only' if results.unanswered == 'zero' else 'unanswered as 0'}: {words.percent(other)}",)


def below_mean(measured: GroupScore | CategoryScore | Neighbour | Repeats) -> tuple[str, ...]:
    """Counts of the replies behind a mean: unanswered, truncated, too long or missing."""
    numbers = {"unanswered": measured.unanswered, "truncated": measured.cut, "overflow": measured.overflow}
    numbers |= {"missing": measured.missing, SCORER_ERRORS: measured.scorer_error}
    mean = measured.mean if isinstance(measured, Repeats) else measured.score
    # The mean over answered replies is the higher one.
    other = []
    if measured.other is not None and differ(mean, measured.other):
        other.append(
            f"{'answered only' if measured.other > mean else 'unanswered as 0'}: {words.percent(measured.other)}"
        )
    return (*other, *(f"{words.count(number)} {name}" for name, number in numbers.items() if number))


def clusters_of(questions: int | None, clusters: int | None) -> tuple[str, ...]:
    """What is resampled, if it is fewer than the questions: "300 questions in 100 clusters"."""
    if questions is None or clusters is None or clusters >= questions:
        return ()
    return (f"{words.several(questions, 'question')} in {words.several(clusters, 'cluster')}",)


def rank_of(ranked: Ranked | Neighbour | BestCandidate | Survival) -> str:
    """A rank, or a range of ranks."""
    return str(ranked.best) if ranked.best == ranked.worst else f"{ranked.best}–{ranked.worst}"


def chance_cell(results: Results, system: System, task: str) -> Cell:
    """The chance level over all lengths; a range if it changes with the length."""
    points = [results.curve.get((system, task, length)) for length in results.lengths]
    return Cell(words.span(point.chance for point in points if point is not None))


def failed(counts: Counts) -> str:
    """Why replies were not scored: "20 overflow and 1 missing"; "" if all were."""
    kinds = {"overflow": counts.overflow, "unanswered": counts.unanswered, "missing": counts.missing - counts.not_asked}
    kinds |= {"not asked": counts.not_asked, "not scored": counts.scorer_error}
    return words.listed([f"{words.count(number)} {kind}" for kind, number in kinds.items() if number])
