"""The report's first paragraph."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fathom.analysis.ranking import Ranked
from fathom.printing import printable
from fathom.report import words
from fathom.report.by_question import OVERALL, ByQuestion
from fathom.report.known import said_of_filter
from fathom.report.lengths import effective_cell, shortest
from fathom.report.results import ALL, Results, System, system_of
from fathom.stats.outcomes import differ

# Models that the paragraph names; the table has the others.
NAMED = 3
LENGTHS = 8  # that are all listed
MANY = 0.02
"""Share of unanswered and truncated replies from which the paragraph mentions a model."""
HIGHEST_NAMED = 3


class Sentence(NamedTuple):
    """A sentence: the model that is its subject, or "", and the rest."""

    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject} {self.text}".lstrip()


def summary(results: Results) -> tuple[Sentence, ...]:
    """Sentences on what was measured, the reliability of each model, and the chance level."""
    if not results.systems:
        return tuple(Sentence("", text) for text in averages_alone(results.by_question) if text)
    said = [Sentence("", f"{note}.") for note in results.notes]
    said.append(Sentence("", _scope(results)))
    said.extend(Sentence(system.name, _about(results, system)) for system in results.systems[:NAMED])
    rest = len(results.systems) - NAMED
    more = f"The table below has the other {words.several(rest, 'model')}." if rest > 0 else ""
    said.extend(
        Sentence("", text)
        for text in (
            more,
            _apart(results),
            *_known(results),
            _ties(results),
            _uneven(results),
            _chance(results),
            thinking(results.by_question),
            _unscored(results),
        )
    )
    said.extend(Sentence(system.name, text) for system in results.systems if (text := _unanswered(results, system)))
    said.append(Sentence("", published_note(results.by_question)))
    return tuple(sentence for sentence in said if sentence.text)


def _scope(results: Results) -> str:
    counts = [one for system in results.systems if (one := results.every(system))]
    replies, scored = sum(one.replies for one in counts), sum(one.scored for one in counts)
    lengths = [words.tokens(length) for length in results.lengths]
    over = f"at {lengths[0]}" if len(lengths) == 1 else f"at {len(lengths)} lengths from {lengths[0]} to {lengths[-1]}"
    tasks = f"the task {results.tasks[0]}" if len(results.tasks) == 1 else words.several(len(results.tasks), "task")
    models = words.several(len(results.systems), "model")
    verb = "was" if len(results.systems) == 1 else "were"
    return words.opening(
        f"{models} {verb} measured on {tasks} {over} tokens: "
        f"{words.several(replies, 'reply', 'replies')}, {words.count(scored)} of them scored."
    )


def _about(results: Results, system: System) -> str:
    point = results.average.get((system, ALL))
    counts = results.every(system)
    if point is None or (point.mean is None and not point.note) or counts is None or not counts.scored:
        return _without_average(results, system)
    said = f"scores {words.percent(point.mean)}% {words.bounds(point.interval)} on average"
    if point.mean is None:
        said = f"has no average score: {point.note}"
    elif differ(point.mean, point.other):
        said = f"{said} ({_other_average(results, point.other)})"
    effective = results.effective.get((system, ALL, "own_base"))
    if effective is None:
        return f"{said}."
    cell = effective_cell(results, effective)
    if cell.text == "undefined":
        return f"{said}; its effective context length is undefined."
    nothing = effective.interval is None or (effective.interval.low == 0 and math.isinf(effective.interval.high))
    ends = f"{cell.text.removeprefix('≥ ')} tokens {'' if nothing else cell.interval}".rstrip()
    if effective.censored == "below":
        start = words.tokens(shortest(results, system, ALL))
        return f"{said} and is below 85% of its base score already at the shortest length, {start}."
    if effective.censored == "above":
        return f"{said} and keeps at least 85% of its base score up to the longest length tested, {ends}."
    return f"{said} and keeps at least 85% of its base score up to {ends}."


def _other_average(results: Results, other: float | None) -> str:
    """The average under the other rule for unanswered replies."""
    what = "over answered replies" if results.unanswered == "zero" else "if unanswered replies count 0"
    return f"{words.percent(other)}% {what}"


def _without_average(results: Results, system: System) -> str:
    """Text on a model without a mean over lengths: no reply was scored, or no length has all of its tasks."""
    counts = results.every(system)
    if counts is None or not counts.scored:
        return "has no scored replies and therefore no score."
    whole = next((one for one in results.categories if (system_of(one), one.group) == (system, ALL)), None)
    if whole is None:
        return "has no average score, because at no length were all tasks scored."
    mean = f"{words.percent(whole.score)}% {words.bounds(whole.interval)}"
    return f"scores {mean} on average over categories; at no length were all tasks scored."


def _known(results: Results) -> tuple[str, ...]:
    """What the closed-book filter excluded, and its effect on comparisons."""
    filtered = results.filtered
    if filtered is None or not filtered.removed:
        return ()
    return (said_of_filter(filtered), *(printable(note) for note in filtered.notes))


def _apart(results: Results) -> str:
    """A caveat if lengths are compared over different questions."""
    natural = [task for task in results.tasks if any(key[1] == task and one.note for key, one in results.curve.items())]
    if not natural:
        return ""
    few = natural[0] if len(natural) == 1 else words.several(len(natural), "task")
    of = f" of {few}" if len(natural) < len(results.tasks) else ""
    return (
        f"Every question{of} has one length only: curves, LongScore and effective lengths compare different questions "
        "there, and an average score is the mean over lengths; `fathom analyze breakdown` gives the mean over "
        "questions."
    )


def _ties(results: Results) -> str:
    means = {system: results.average.get((system, ALL)) for system in results.systems}
    ranked = results.comparable
    apart = [system.name for system, one in means.items() if system not in ranked and one and one.mean is not None]
    said = []
    if apart and ranked and len(apart) <= NAMED:
        noun, verb = ("average", "is") if len(apart) == 1 else ("averages", "are")
        said.append(f"The {noun} of {words.listed(apart)} {verb} over other tasks or lengths and {verb} not ranked.")
    elif apart and ranked:
        said.append(f"The averages of {len(apart)} models are over other tasks or lengths and are not ranked.")
    if len(ranked) > 1:
        said.append(_distinguishable(results.ranking))
    return " ".join(said)


def _uneven(results: Results) -> str:
    """The lengths that LongScores are averaged over, if models have different ones."""
    scores = [one for (_, task), one in results.longscore.items() if task == ALL and one.average is not None]
    if all(len(one.shared_lengths) == len(one.points) for one in scores):
        return ""
    shared = [words.tokens(length) for length in scores[0].shared_lengths]
    if not shared:
        return "The models have no longer length in common: their mean LongScores cannot be compared."
    many = len(shared) > LENGTHS
    named = f"{len(shared)} lengths from {shared[0]} to {shared[-1]}" if many else words.listed(shared)
    return f"LongScores are averaged over {named}, which all models have; some have further lengths."


def _distinguishable(ranking: Sequence[Ranked]) -> str:
    tied = [system_of(one).name for one in ranking if one.best < one.worst]
    if not tied:
        return "The average scores of all models are significantly different."
    if len(tied) == 2:
        return f"The average scores of {words.listed(tied)} are not significantly different."
    who = words.listed(tied) if len(tied) <= NAMED else f"{len(tied)} models"
    return f"The average scores of {who} are not all significantly different: those models share ranges of ranks."


def _chance(results: Results) -> str:
    levels = [results.average[key].chance for key in results.average if key[1] == ALL]
    if all(level is None for level in levels):
        return "The chance level is unknown."
    return f"A valid answer drawn at random scores {words.span(levels)}%."


def _unscored(results: Results) -> str:
    counts = [one for system in results.systems if (one := results.every(system))]
    unanswered, cut = sum(one.unanswered for one in counts), sum(one.cut for one in counts)
    overflow, missing = sum(one.overflow for one in counts), sum(one.missing for one in counts)
    truncated = sum(one.truncated for one in counts)
    said = []
    if unanswered:
        how = ("counts 0", "count 0") if results.unanswered == "zero" else ("is left out", "are left out")
        said.append(f"{words.several(unanswered, 'reply', 'replies')} left unanswered {how[unanswered > 1]}")
    if cut:
        verb = "was truncated at the output cap and is" if cut == 1 else "were truncated at the output cap and are"
        said.append(f"{words.several(cut, 'reply', 'replies')} {verb} scored as received")
    if overflow:
        said.append(f"{words.several(overflow, 'prompt')} did not fit the window")
    if missing:
        said.append(f"{words.several(missing, 'reply', 'replies')} {'is' if missing == 1 else 'are'} missing")
    if truncated:
        said.append(
            f"{words.several(truncated, 'prompt')} {'was' if truncated == 1 else 'were'} truncated to fit the window"
        )
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _unanswered(results: Results, system: System) -> str:
    """A note if a model left many replies unanswered, or if many were truncated."""
    counts = results.every(system)
    if counts is None or counts.unanswered + counts.cut < max(1, MANY * counts.replies):
        return ""
    of = f"of {words.several(counts.replies, 'reply', 'replies')}"
    cut = f"{words.count(counts.cut)} {of} truncated at the output cap"
    if not counts.unanswered:
        return f"had {cut}."
    left = f"left {words.count(counts.unanswered)} {of} unanswered"
    return f"{left} and had {words.count(counts.cut)} truncated at the output cap." if counts.cut else f"{left}."


def averages_alone(found: ByQuestion) -> list[str]:
    """Sentences for a report on published averages alone: how many, the highest, and the gain by thinking."""
    scores = {(one.model, one.variant): one.score for one in found.scores if one.dimension == OVERALL}
    highest = [
        f"{System(*system).name} ({words.percent(scores[system])}%)" for system in found.systems if system in scores
    ]
    return [
        f"These are published averages of {_models(found)}. Without the replies there are no intervals.",
        f"The highest overall scores: {words.listed(highest[:HIGHEST_NAMED])}." if highest else "",
        thinking(found),
    ]


def published_note(found: ByQuestion) -> str:
    """A note on published averages; "" without any."""
    if not found.published:
        return ""
    return f"Published averages of {_models(found)} are shown for comparison; they have no intervals."


def thinking(found: ByQuestion) -> str:
    """How many models gain by thinking; "" if fewer than two were asked in both modes."""
    gains = [one for one in found.gains if one.dimension == OVERALL]
    if len(gains) < 2:
        return ""
    higher = sum(one.gain > 0 for one in gains)
    most = max(gains, key=lambda one: one.gain)
    best = f"; {most.model} gains most, {words.change(most.gain)} points" if most.gain > 0 else ""
    verb = "scores" if higher == 1 else "score"
    return (
        f"Of {words.several(len(gains), 'model')} asked with and without thinking, {higher or 'none'} {verb} higher "
        f"with it{best}."
    )


def _models(found: ByQuestion) -> str:
    models = len({model for model, _ in found.published})
    modes = f" ({len(found.published)} with their modes)" if len(found.published) > models else ""
    return f"{words.several(models, 'model')}{modes}"
