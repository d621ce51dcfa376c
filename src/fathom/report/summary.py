"""The summary of a report: what was not measured, one ranking, the largest losses, how it was made.

The page begins with it, the terminal shows it, and Markdown and JSON are made from it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from fathom.analysis import Counts
from fathom.analysis.drops import Drop
from fathom.analysis.ranking import Ranked
from fathom.printing import console as wide_console
from fathom.printing import printable
from fathom.report import words
from fathom.report.answer import answers
from fathom.report.by_question import OVERALL, ByQuestion
from fathom.report.markdown import MODELS, escaped, table_lines
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.sections.breakdown import sentence_on_thinking
from fathom.report.sections.published import sentence_on_forms
from fathom.report.sections.settings import DRAFTED
from fathom.report.table import Replies, Table
from fathom.report.tables import headline
from fathom.report.tally import chance_cell, replies_of, sentence_on_filter
from fathom.report.terminal import rendered
from fathom.stats.intervals import Interval

NAMED = 3
"""Models, or cells of a model, that a sentence names."""
LENGTHS = 8  # that are all listed
SENTENCES = 7
"""Sentences of a list in Markdown."""
DROPS = 5
HIGHEST_NAMED = 3
AGAIN, JUDGE = "resume the run", "run `fathom judge`"
REASONS = "the column `detail` of `fathom rows` has the reasons, such as an unreadable judgement"
WHOLE = "Nothing is missing: every reply was scored; no prompt or reply was truncated, and no question was excluded."


class Sentence(NamedTuple):
    """A sentence: the model that is its subject, or "", the rest, and the replies that it is about, or None."""

    subject: str
    text: str
    replies: Replies | None = None

    def __str__(self) -> str:
        return f"{self.subject} {self.text}".lstrip()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a reader must know first.

    Attributes:
        answers: Up to which length the highest models keep their scores, and what they score.
        scope: What was measured.
        unmeasured: What was not measured, or not as usual; empty if everything was.
        ranking: The ranking, with the one average score of the report; None for published averages alone.
        drops: The largest significant losses.
        notes: Differences between models, and caveats about comparisons.
        made: How it was made: name and value.
    """

    answers: tuple[Sentence, ...]
    scope: str
    unmeasured: tuple[Sentence, ...]
    ranking: Table | None
    drops: tuple[Sentence, ...]
    notes: tuple[str, ...]
    made: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Its sentences, without the ranking."""
        return " ".join(map(str, (*self.answers, self.scope, *self.unmeasured, *self.drops, *self.notes)))


def summary(results: Results) -> Summary:
    """The summary of a report; control characters in texts from outside are replaced."""
    measured = results.by_question
    if not results.systems:
        scope, *notes = averages_alone(measured)
        return Summary((), scope, (), None, (), tuple(filter(None, notes)), _made(results))
    notes = [
        _families(results),
        _drafted(results),
        _ties(results),
        _uneven(results),
        _apart(results),
        _chance(results),
        sentence_on_thinking(measured),
        sentence_on_forms(results),
    ]
    return Summary(
        answers=tuple(
            Sentence(system.name, sentence) for system, sentence in answers(results, results.systems[:NAMED])
        ),
        scope=_scope(results),
        unmeasured=tuple(_unmeasured(results)),
        ranking=headline(results),
        drops=tuple(map(_drop, results.drops[:DROPS])),
        notes=tuple(filter(None, (*notes, published_note(measured)))),
        made=_made(results),
    )


def _made(results: Results) -> tuple[tuple[str, str], ...]:
    kept = ("Suite", "Tokenizer of the lengths", "fathom version", "Published averages")
    return (*(setting for setting in results.settings if setting[0] in kept), *results.made)


def _scope(results: Results) -> str:
    counts = _counts(results).values()
    replies, scored = sum(outcomes.replies for outcomes in counts), sum(outcomes.scored for outcomes in counts)
    lengths = [words.tokens(length) for length in results.lengths if length] or [""]
    over = f"at {lengths[0]} tokens"
    if len(lengths) > 1:
        over = f"at {len(lengths)} lengths from {lengths[0]} to {lengths[-1]} tokens"
    if 0 in results.lengths:
        over = "at unknown lengths" if len(lengths) == 1 else f"{over}, and at unknown ones"
    tasks = f"the task {results.tasks[0]}" if len(results.tasks) == 1 else words.several(len(results.tasks), "task")
    models = words.several(len(results.systems), "setup" if results.setups else "model")
    verb = "was" if len(results.systems) == 1 else "were"
    return words.opening(
        f"{models} {verb} measured on {tasks} {over}: "
        f"{words.several(replies, 'reply')}, {'all' if scored == replies else words.count(scored)} scored."
    )


def _counts(results: Results) -> dict[System, Counts]:
    return {system: counts for system in results.systems if (counts := results.every(system))}


# ------------------------------------------------------------------------------------------------- not measured


def _unmeasured(results: Results) -> Iterable[Sentence]:
    """Unfinished runs, cells without a score, failed and unusual replies, excluded questions."""
    yield from (Sentence("", f"{note.removesuffix('.')}.") for note in results.notes)
    for system in results.systems:
        counts = results.every(system)
        answered = 0 if counts is None else counts.scored
        if counts is None or not answered + (counts.unanswered if results.unanswered == "zero" else 0):
            yield Sentence(system.name, "has no scored replies and therefore no score.")
            continue
        asked = {
            (task, length)
            for (name, task, length), own in results.by_cell.items()
            if name == system and own.replies > own.not_asked
        }
        cells = [cell for cell in results.unmeasured if system_of(cell) == system and (cell.task, cell.length) in asked]
        lost = {(cell.task, cell.length): str(cell) for cell in cells}
        if lost:
            reasons = list(dict.fromkeys(lost.values()))
            why = reasons[0] if len(reasons) == 1 else f"for instance {reasons[0]}"
            yield Sentence(system.name, f"has no score on {_cells(results, lost)}: {why}.")
        absent = [cell for cell in _cells_asked(results) if cell not in asked]
        if absent:
            yield Sentence(system.name, f"was not asked: {_cells(results, absent)}.")
    yield from (Sentence("", sentence) for sentence in (*_scorer_errors(results), *_replies(results)))
    filtered = results.filtered
    if filtered is not None and filtered.removed:
        yield from (Sentence("", text) for text in (sentence_on_filter(filtered), *map(printable, filtered.notes)))


def _cells_asked(results: Results) -> list[tuple[str, int]]:
    """Tasks and lengths that any model was asked at, in the order of the page."""
    asked = {(task, length) for _, task, length in results.by_cell}
    return [(task, length) for task in results.tasks for length in results.lengths if (task, length) in asked]


def _cells(results: Results, cells: Iterable[tuple[str, int]]) -> str:
    """Cells in words: whole lengths and whole tasks by their names, then task by task."""
    left, asked = set(cells), set(_cells_asked(results))
    whole = []
    for length in results.lengths:
        column = {cell for cell in asked if cell[1] == length}
        if len(results.tasks) > 1 and column and column <= left:
            whole.append(words.tokens(length))
            left -= column
    parts = [f"any task at {words.listed(whole)}"] if whole else []
    for task in results.tasks:
        lengths = [length for length in results.lengths if (task, length) in left]
        if not lengths:
            continue
        every = {cell for cell in asked if cell[0] == task} <= left
        at = "at all lengths" if every and len(lengths) > 1 else f"at {words.listed(list(map(words.tokens, lengths)))}"
        parts.append(f"{task} {at}")
    more = [f"{len(parts) - NAMED} more"] if len(parts) > NAMED + 1 else []
    return words.listed([*(parts[:NAMED] if more else parts), *more])


def _scorer_errors(results: Results) -> Iterable[str]:
    """How many replies could not be scored because of an exception, with the models that they belong to."""
    counts = _counts(results)
    for cause, errors in groupby(
        sorted(results.scorer_errors, key=lambda error: error.cause), lambda error: error.cause
    ):
        own = {system_of(error): error for error in errors}
        numbers = {system: error.replies for system, error in own.items()}
        replies = words.several(sum(numbers.values()), "reply")
        first = printable(next(iter(own.values())).sample)
        shares = _shares(numbers, counts)
        yield f"{replies} could not be scored: {printable(cause)}, for instance in sample {first} ({shares})."


def _replies(results: Results) -> Iterable[str]:
    """How many replies are missing, prompts too long, and so on, with the models that they belong to."""
    zero = results.unanswered == "zero"
    kinds: tuple[tuple[str, Callable[[Counts], int], str, str], ...] = (
        ("request", lambda counts: counts.error, f"failed: {AGAIN}", f"failed: {AGAIN}"),
        (
            "prompt",
            lambda counts: counts.not_asked,
            f"was not asked: {AGAIN}",
            f"were not asked: {AGAIN}",
        ),
        (
            "reply",
            lambda counts: counts.not_judged,
            f"is not judged: {JUDGE}",
            f"are not judged: {JUDGE}",
        ),
        ("reply", _without_score, f"has no score: {REASONS}", f"have no score: {REASONS}"),
        ("prompt", lambda counts: counts.overflow, "did not fit the window", "did not fit the window"),
        (
            "prompt",
            lambda counts: counts.truncated,
            "was truncated to fit the window",
            "were truncated to fit the window",
        ),
        (
            "reply",
            lambda counts: counts.unanswered,
            f"left unanswered {'counts 0' if zero else 'is left out of the means'}",
            f"left unanswered {'count 0' if zero else 'are left out of the means'}",
        ),
        (
            "reply",
            lambda counts: counts.cut,
            "was truncated at the output cap and is scored as received",
            "were truncated at the output cap and are scored as received",
        ),
    )
    counts = _counts(results)
    for noun, number, one_said, many_said in kinds:
        affected = {system: number(own) for system, own in counts.items() if number(own)}
        total = sum(affected.values())
        if total:
            replies = words.several(total, noun, "replies" if noun == "reply" else "")
            yield f"{replies} {one_said if total == 1 else many_said} ({_shares(affected, counts)})."


def _without_score(counts: Counts) -> int:
    """Missing replies with none of the other causes, such as an unreadable judgement."""
    return counts.missing - counts.error - counts.not_asked - counts.not_judged


def _shares(own: Mapping[System, int], counts: Mapping[System, Counts]) -> str:
    """ "model-a 12 of 1,215", for the models with the most."""
    ordered = sorted(own, key=lambda system: -own[system])
    shares = [
        f"{system.name} {words.count(own[system])} of {words.count(counts[system].replies)}"
        for system in ordered[:NAMED]
    ]
    return ", ".join([*shares, *([f"{len(ordered) - NAMED} more models"] if len(ordered) > NAMED else [])])


# ------------------------------------------------------------------------------------------- losses and comparisons


def _drop(drop: Drop) -> Sentence:
    """ "loses 33.3 points [22.8, 38.9] on passkey: 100.0% at 1k, 66.7% at 8k." """
    interval = Interval(-drop.interval.high, -drop.interval.low)
    return Sentence(
        system_of(drop).name,
        f"loses {words.percent(-drop.difference)} points {words.bounds(interval)} on {drop.task}: "
        f"{words.percent(drop.before)}% at {words.tokens(drop.shortest)}, "
        f"{words.percent(drop.after)}% at {words.tokens(drop.length)}.",
        replies_of(system_of(drop), drop.task, drop.length),
    )


def _ties(results: Results) -> str:
    """Which models cannot be ranked, and which are not significantly different."""
    ranked = {system_of(place) for place in results.ranked}
    apart = [
        system.name
        for system in results.systems
        if system not in ranked and (average := results.average.get((system, ALL))) and average.mean is not None
    ]
    sentences = []
    if apart and ranked and len(apart) <= NAMED:
        noun, verb = ("average", "is") if len(apart) == 1 else ("averages", "are")
        sentences.append(
            f"The {noun} of {words.listed(apart)} {verb} over other tasks or lengths and {verb} not ranked."
        )
    elif apart and ranked:
        sentences.append(f"The averages of {len(apart)} models are over other tasks or lengths and are not ranked.")
    if len(ranked) > 1:
        scores = "average scores" if results.by_average else "means over questions"
        sentences.append(_distinguishable(results.ranked, scores))
    return " ".join(sentences)


def _families(results: Results) -> str:
    """Why setups have no ranks, if some were trained."""
    if results.setups is None or len(results.setups.families) < 2:
        return ""
    return "Trained setups are not ranked against those with unchanged weights: see “Setups compared”."


def _uneven(results: Results) -> str:
    """The lengths that LongScores are averaged over, if models have different ones."""
    scores = [score for (_, task), score in results.longscore.items() if task == ALL and score.average is not None]
    if all(len(score.shared_lengths) == len(score.points) for score in scores):
        return ""
    shared = [words.tokens(length) for length in scores[0].shared_lengths]
    if not shared:
        return "The models have no longer length in common: their mean LongScores cannot be compared."
    many = len(shared) > LENGTHS
    named = f"{len(shared)} lengths from {shared[0]} to {shared[-1]}" if many else words.listed(shared)
    return f"LongScores are averaged over {named}, which all models have; some have further lengths."


def _distinguishable(ranking: Sequence[Ranked], scores: str) -> str:
    tied = [system_of(model).name for model in ranking if model.best < model.worst]
    apart = any(gap is None for model in ranking if model.best < model.worst for gap in model.gaps)
    if not tied:
        return f"The {scores} of all models are significantly different."
    who = words.listed(tied) if len(tied) <= NAMED else f"{len(tied)} models"
    if apart and len(tied) == 2:
        return f"{who} cannot be compared: nothing was asked of both."
    if len(tied) == 2:
        return f"The {scores} of {who} are not significantly different."
    some = " Some of them cannot be compared: nothing was asked of both." if apart else ""
    return f"The {scores} of {who} are not all significantly different: those models share ranges of ranks.{some}"


def _apart(results: Results) -> str:
    """A caveat if lengths are compared over different questions."""
    natural = [
        task for task in results.tasks if any(key[1] == task and point.note for key, point in results.curve.items())
    ]
    if not natural:
        return ""
    few = natural[0] if len(natural) == 1 else words.several(len(natural), "task")
    of = f" of {few}" if len(natural) < len(results.tasks) else ""
    return (
        f"Every question{of} has one length only: curves, LongScore and effective lengths compare different questions "
        "there, and an average score is the mean over lengths; `fathom analyze breakdown` gives the mean over "
        "questions."
    )


def _drafted(results: Results) -> str:
    models = dict(results.settings).get(DRAFTED)
    return f"Some questions were drafted by a model: {models}." if models else ""


def _chance(results: Results) -> str:
    levels = [chance_cell(results, system, ALL).text for system in results.systems]
    return "The chance level is unknown." if set(levels) <= {words.ABSENT} else ""


def averages_alone(measured: ByQuestion) -> list[str]:
    """Sentences for a report on published averages alone: how many, the highest, and the gain by thinking."""
    scores = {(score.model, score.variant): score.score for score in measured.scores if score.dimension == OVERALL}
    highest = [
        f"{System(*system).name} ({words.percent(scores[system])}%)" for system in measured.systems if system in scores
    ]
    return [
        f"These are published averages of {_models(measured)}. Without the replies there are no intervals.",
        f"The highest overall scores: {words.listed(highest[:HIGHEST_NAMED])}." if highest else "",
        sentence_on_thinking(measured),
    ]


def published_note(measured: ByQuestion) -> str:
    """A note on published averages; "" without any."""
    if not measured.published:
        return ""
    return f"Published averages of {_models(measured)} are shown for comparison; they have no intervals."


def _models(measured: ByQuestion) -> str:
    models = len({model for model, _ in measured.published})
    modes = f" ({len(measured.published)} with their modes)" if len(measured.published) > models else ""
    return f"{words.several(models, 'model')}{modes}"


# ------------------------------------------------------------------------------------- in a terminal, and as Markdown


def show_summary(shown: Summary, console: Console | None = None) -> None:
    """Prints a summary: the answer, what was not measured, the ranking, the largest drops."""
    console = console or wide_console()
    lists = [("Not measured", list(map(str, shown.unmeasured)) or [WHOLE])] if shown.ranking else []
    for answer in shown.answers:
        console.print(Text(f"{answer}\n"))
    console.print(Text(shown.scope))
    for title, sentences in (*lists, ("Largest drops", list(map(str, shown.drops)))):
        if sentences:
            console.print(Text(f"\n{title}", style="bold"))
            for sentence in sentences:
                console.print(Text(f"- {sentence}"))
        if shown.ranking and title == "Not measured":
            console.print(rendered(shown.ranking, console.width))
    for note in shown.notes:
        console.print(Text(f"\n{note}"))


def summary_text(shown: Summary, title: str) -> str:
    """A summary of at most 40 lines."""
    answers = [[f"**{escaped(answer.subject)}** {escaped(answer.text)}"] for answer in shown.answers]
    parts = [[f"### {escaped(title)}"], *answers, [escaped(shown.scope)]]
    if shown.ranking is not None:
        parts.append(["**Not measured**", *_listed(shown.unmeasured, SENTENCES)])
        table = replace(shown.ranking, rows=shown.ranking.rows[:MODELS])
        more = len(shown.ranking.rows) - MODELS
        also = [f"{words.several(more, 'more model')} in the page of the report."] if more > 0 else []
        notes = [f"({number}) {note}" for number, note in enumerate(table.notes, start=1)]
        parts.append(table_lines(table))
        parts.append([escaped(" ".join(filter(None, (*also, table.about, table.divided_by, *notes))))])
    parts.append(["**Largest drops**", *_listed(shown.drops, len(shown.drops))] if shown.drops else [])
    parts.append([escaped(" ".join(shown.notes))] if shown.notes else [])
    parts.append(["; ".join(f"{escaped(name)}: {_value(name, value)}" for name, value in shown.made)])
    return "\n\n".join("\n".join(part) for part in parts if any(part)) + "\n"


def _listed(sentences: Sequence[Sentence], most: int) -> Iterable[str]:
    shown = sentences if len(sentences) <= most else sentences[: most - 1]
    for sentence in shown:
        yield (
            f"- **{escaped(sentence.subject)}** {escaped(sentence.text)}"
            if sentence.subject
            else f"- {escaped(sentence.text)}"
        )
    if len(shown) < len(sentences):
        yield f"- and {len(sentences) - len(shown)} more, which the page of the report has"
    if not sentences:
        yield f"- {WHOLE}"


def _value(name: str, value: str) -> str:
    """A value; a command is code."""
    if name != "Command":
        return escaped(value)
    plain = printable(value).replace("`", "'")
    return f"`{plain}`"
