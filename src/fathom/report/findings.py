"""One line on each section of the page: what a reader finds there."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from fathom.analysis import VERDICTS, Counts
from fathom.report import words
from fathom.report.answers import telling_points
from fathom.report.breakdown import title
from fathom.report.known import said_of_filter
from fathom.report.lengths import effective_cell
from fathom.report.position import SHOWN, significant
from fathom.report.results import ALL, Results, System, system_of, total
from fathom.report.setups import quoted
from fathom.report.summary import thinking

NAMED = 3
SETTINGS = ("Suite", "Published averages", "Tokenizer of the lengths", "fathom version")


def finding(section: str, results: Results) -> str:
    """The line on a section, "" for none."""
    return FINDINGS[section](results) if section in FINDINGS else ""


def _name(results: Results, system: System) -> str:
    """The name of a system, "" if there is only one."""
    return system.name if len(results.systems) > 1 else ""


def _of(results: Results, system: System) -> str:
    return f" ({name})" if (name := _name(results, system)) else ""


def _setups(results: Results) -> str:
    compared = results.setups
    if compared is None:
        return ""
    counts = Counter(one.verdict for one in compared.others)
    said = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return words.sentence(f"Compared with {quoted(compared.base)}: {', '.join(said)}") if said else ""


def _scores(results: Results) -> str:
    first = results.systems[0]
    points = [one for (system, task, _), one in results.curve.items() if system == first and task != ALL]
    scored = [one for one in points if one.mean is not None]
    if not scored:
        return "No score."
    worst = min(scored, key=lambda one: one.mean or 0.0)
    at = f"{worst.task} at {words.length(worst.length)}"
    return f"Lowest{_of(results, first)}: {words.percent(worst.mean)} on {at}."


def _curves(results: Results) -> str:
    tasks = len(results.tasks)
    return f"Charts of {words.several(tasks, 'task') if tasks > 1 else words.several(len(results.systems), 'model')}."


def _categories(results: Results) -> str:
    scored = [one for one in results.categories if one.task == ALL and one.group != ALL and one.score is not None]
    if not scored:
        return ""
    low, high = (pick(scored, key=lambda one: one.score or 0.0) for pick in (min, max))
    said = [f"{words.percent(one.score)} on {one.group}{_of(results, system_of(one))}" for one in (low, high)]
    return f"From {said[0]} to {said[1]}."


def _breakdown(results: Results) -> str:
    names = [title(name, "").removeprefix(" by ") for name in results.by_question.dimensions]
    return f"By {words.listed(names)}."


def _repeats(results: Results) -> str:
    spreads = [max(one.run_means) - min(one.run_means) for one in results.by_question.repeats if one.runs > 1]
    return f"Runs of one model differ by up to {words.percent(max(spreads))} points." if spreads else ""


def _longscore(results: Results) -> str:
    found = [(system, results.longscore.get((system, ALL))) for system in results.systems]
    known = [(system, one.shared_average) for system, one in found if one and one.shared_average is not None]
    parts = [f"{words.change(value)}{_of(results, system)}" for system, value in known[:NAMED]]
    return _with_undefined(parts, len(found) - len(known))


def _effective(results: Results) -> str:
    found = {system: results.effective.get((system, ALL, "own_base")) for system in results.systems}
    cells = {system: effective_cell(results, one).text for system, one in found.items() if one is not None}
    known = {system: text for system, text in cells.items() if text != "undefined"}
    parts = [f"{text}{_of(results, system)}" for system, text in list(known.items())[:NAMED]]
    said = ", ".join(parts)
    return _with_undefined(
        [f"keeps 85% of the base score up to {said}"] if said else [], len(results.systems) - len(known)
    )


def _with_undefined(parts: Sequence[str], undefined: int) -> str:
    also = [f"undefined for {words.several(undefined, 'model')}"] if undefined else []
    return words.sentence(", ".join([*parts, *also]))


def _position(results: Results) -> str:
    apart = [one for one in results.contrasts if significant(one)]
    if not apart:
        return "No difference between positions is significant after adjustment." if results.contrasts else ""
    largest = max(apart, key=lambda one: abs(one.difference))
    at = "all lengths" if largest.length is None else words.length(largest.length)
    return (
        f"Largest difference: {SHOWN[largest.first]} − {SHOWN[largest.second]} {words.change(largest.difference)} "
        f"points on {largest.task} at {at}{_of(results, system_of(largest))}."
    )


def _truncation(results: Results) -> str:
    found = [one for one in results.truncation if one.task != ALL]
    if not found:
        return ""
    most = max(found, key=lambda one: one.difference)
    return (
        f"Largest loss: {words.percent(most.difference)} points on {most.task}, truncated to "
        f"{words.tokens(most.length)}{_of(results, system_of(most))}."
    )


def _answers(results: Results) -> str:
    points = telling_points(results)
    if not points:
        return ""
    worst = min(points, key=lambda one: one.followed.value)
    at = f"{worst.task} at {words.length(worst.length)}"
    share = words.percent(worst.followed.value)
    return f"Lowest share of valid replies: {share}% on {at}{_of(results, system_of(worst))}."


def _known(results: Results) -> str:
    return said_of_filter(results.filtered) if results.filtered is not None else ""


def _graders(results: Results) -> str:
    judges = list(dict.fromkeys(one.grader for one in results.graded if one.judged))
    return f"Judged by {words.listed(judges[:NAMED])}." if judges else "Scored by rules, without a judge."


def _counts(results: Results) -> str:
    counts = [one for system in results.systems if (one := results.every(system))]
    if not counts:
        return ""
    every: Counts = total(counts)
    cost = f", {words.money(every.cost)}" if every.cost else ""
    spent = f"{words.count(every.tokens_in)} tokens in, {words.count(every.tokens_out)} out"
    if not (every.tokens_in or every.tokens_out):  # results of programs that do not store them
        spent = "tokens unknown"
    return f"{words.count(every.scored)} of {words.several(every.replies, 'reply', 'replies')} scored; {spent}{cost}."


def _settings(results: Results) -> str:
    shown = dict((*results.settings, *results.made))
    named = [f"{name[0].lower()}{name[1:]} {shown[name]}" for name in SETTINGS if name in shown]
    return words.sentence(", ".join(named))


FINDINGS: Mapping[str, Callable[[Results], str]] = {
    "setups": _setups,
    "scores": _scores,
    "curves": _curves,
    "hundred": lambda results: "Figures 5, 7 and 8 of the paper.",
    "reading": lambda results: "Intervals, ranks, drops, chance, and how replies count.",
    "categories": _categories,
    "breakdown": _breakdown,
    "thinking": lambda results: thinking(results.by_question),
    "repeats": _repeats,
    "longscore": _longscore,
    "effective": _effective,
    "position": _position,
    "truncation": _truncation,
    "answers": _answers,
    "known": _known,
    "graders": _graders,
    "counts": _counts,
    "settings": _settings,
}
