"""Metrics of LongProc: procedures of many lines that follow exactly from what the prompt says.

``*_accuracy`` is whether the whole result is right, ``*_partial_accuracy`` how far it is right, ``html_to_tsv_f1`` the
F1 of table rows. The released code's faults are kept: a route that is wrong in its last line only is partly right by
1.0, an empty one by one line; a search of one line by less than nothing; travel plans know cities of one word only; and
countdown evaluates the reply as Python. Here its arithmetic is read instead (``arithmetic``), with the exceptions that
evaluation raises. Nothing of a reply is ever run, so that ``pseudo_to_code``, which compiles it, has no metric.

``strict`` ignores thoughts; the partial accuracy of routes, beliefs and searches is the share of lines that are right
before the first wrong one, of a result that is not wholly right never 1; the last pair of tags counts; punctuation and
the width of signs do not; equations that cannot be read, or whose result is not from 1 to 2000, are wrong; cities may
have several words.
"""

import ast
import csv
import json
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from fathom.benchmarks.longproc.puzzles import HIGHEST
from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Corrected, Released, RowError, metric, one_gold
from fathom.score.text import official_words

_NOISE = re.compile(
    r"\b(a|an|the|on|in|at|the|step|thinks|think|believes|believe|is|are|of|location|know|knows|belief)\b"
)
_TSV = re.compile(r"```tsv([\s\S]*)```")
_PUNCTUATION = str.maketrans("", "", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SEARCH, _TRACE = "# Search Procedure", "Now we have found the target"
NO_SEARCH = "the row lacks the gold search: extra.reference_output"
_PLAN_REQUEST, _PROCEDURE = "Output the plan in the required format:", "<Solving Procedure>"
_OPERATIONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST = 10**18
_LONGEST = 1000


def tagged(reply: str, tag: str) -> str | None:
    """The text between the first of two marks, or None."""
    start, end = reply.find(f"<{tag}>"), reply.find(f"</{tag}>")
    return None if -1 in (start, end) else reply[start + len(tag) + 2 : end].strip()


def last_tagged(reply: str, tag: str) -> str | None:
    """The text between the last two marks that are a pair, or None."""
    end = reply.rfind(f"</{tag}>")
    start = reply.rfind(f"<{tag}>", 0, max(end, 0))
    return None if start == -1 else reply[start + len(tag) + 2 : end].strip()


def _bare(text: str) -> str:
    """A text in the forms of Unicode that count as the same, without punctuation of any script."""
    kept = (sign for sign in unicodedata.normalize("NFKC", text) if not unicodedata.category(sign).startswith("P"))
    return " ".join("".join(kept).split())


def _first_wrong(
    reply: Sequence[str], gold: Sequence[str], same: Callable[[str, str], bool] = operator.eq
) -> int | None:
    """The first place where two lists differ, as far as both go."""
    return next((at for at, (line, other) in enumerate(zip(reply, gold, strict=False)) if not same(line, other)), None)


def _prefix(reply: Sequence[str], gold: Sequence[str], same: Callable[[str, str], bool] = operator.eq) -> float:
    """Share of the gold lines that are right before the first wrong one; below 1 if there are more lines."""
    if not gold:
        return 0.0
    wrong = _first_wrong(reply, gold, same)
    right = min(len(reply), len(gold)) if wrong is None else wrong
    return right / (len(gold) + max(0, len(reply) - len(gold)))


# ---------------------------------------------------------------------------------------------------------------- path


def _route(reply: Any, gold: Any, row: ScoringRow) -> tuple[float, float, str | None]:
    route, gold = tagged(reply, "Route"), one_gold(gold).strip()
    if route is None:
        return 0.0, 0.0, None
    if route == gold:
        return 1.0, 1.0, route
    lines, golds = route.split("\n"), gold.split("\n")
    wrong = _first_wrong(lines, golds)
    return 0.0, ((min(len(lines), len(golds)) - 1 if wrong is None else wrong) + 1) / len(golds), route


def _strict_route(reply: str, gold: Any, row: ScoringRow) -> tuple[float, float, str | None]:
    route = last_tagged(reply, "Route")
    lines, golds = (list(map(_bare, _lines(text or ""))) for text in (route, one_gold(gold)))
    return float(lines == golds), _prefix(lines, golds), route


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


# ----------------------------------------------------------------------------------------------------------------- tom


def _belief(line: str) -> str:
    plain = line.split("-", 1)[1].strip().lower().translate(_PUNCTUATION).replace("’", "")
    return " ".join(_NOISE.sub(" ", plain).split())


def _beliefs(text: str, lines: Callable[[str], Sequence[str]]) -> list[str]:
    return [belief for line in lines(text) if line.startswith("-") and (belief := _belief(line))]


def _strict_beliefs(text: str) -> list[str]:
    lines = _lines(unicodedata.normalize("NFKC", text))
    plain = (f"-{_bare(line.split('-', 1)[1])}" for line in lines if line.startswith("-"))
    return [belief for line in plain if (belief := _belief(line))]


def _bullets(text: str) -> Sequence[str]:
    """The lines of a text that are bullets, cut as the released code does: only the first may be indented."""
    return "\n".join(line for line in text.splitlines() if line.strip().startswith("-")).strip().split("\n")


def _tom(reply: Any, gold: Any, row: ScoringRow) -> tuple[float, float, str | None]:
    beliefs, golds = (_beliefs(text, _bullets) for text in (reply, one_gold(gold)))
    if beliefs == golds:
        return 1.0, 1.0, None
    wrong = _first_wrong(beliefs, golds)
    return 0.0, (min(len(beliefs), len(golds)) if wrong is None else wrong) / len(golds), None


def _strict_tom(reply: str, gold: Any, row: ScoringRow) -> tuple[float, float, str | None]:
    beliefs, golds = (_strict_beliefs(text) for text in (reply, one_gold(gold)))
    return float(bool(golds) and beliefs == golds), _prefix(beliefs, golds), str(len(beliefs)) if beliefs else None


# ----------------------------------------------------------------------------------------------------------- countdown


def arithmetic(text: str) -> int | float:
    """The value of an arithmetic expression, with the exceptions that its evaluation as Python raises.

    Raises:
        NameError: It contains a name.
        RecursionError: It is longer than any equation of three numbers, or too deep.
        SyntaxError: It is no expression.
        TypeError: It contains something other than numbers and signs.
        ZeroDivisionError: It divides by zero.
        ValueError: A number in it is too large.
    """
    if len(text) > _LONGEST:
        raise RecursionError(f"an expression of more than {_LONGEST:,} characters")
    return _evaluated(ast.parse(text.lstrip(" \t"), mode="eval").body)


def _evaluated(node: ast.AST) -> int | float:
    if isinstance(node, ast.Name):
        raise NameError(f"name {node.id!r} is not defined")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        operand = _evaluated(node.operand)
        value = -operand if isinstance(node.op, ast.USub) else operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        value = _OPERATIONS[type(node.op)](_evaluated(node.left), _evaluated(node.right))
    else:
        raise TypeError("no arithmetic of two numbers")
    assert isinstance(value, int | float)
    if abs(value) > _LARGEST:
        raise ValueError("a number is too large")
    return value


def _equation(line: str) -> tuple[bool, int, int, int] | None:
    """Whether an equation ``a op b = c`` holds, and its numbers; None if it has another form."""
    left, equals, right = line.strip().partition("=")
    if not equals or "=" in right:
        return None
    value = arithmetic(left)
    sign = next((sign for sign in "+-*/" if sign in left), "")
    if not sign:
        return None
    first, second = left.split(sign)
    return value == int(right), int(first), int(second), int(right)


def _solved(nums: Sequence[int], target: int, solution: str, largest: int | None = None) -> bool:
    """Whether three equations use every number once and end in the target.

    Args:
        largest: Every result is positive and at most this; None for any result.
    """
    left, lines = list(nums), solution.split("\n")
    if len(lines) != 3:
        return False
    for line in lines:
        try:
            equation = _equation(line)
        except ValueError:
            return False
        if equation is None or not equation[0]:
            return False
        if largest is not None and not 0 < equation[3] <= largest:
            return False
        for used in equation[1:3]:
            if used not in left:
                return False
            left.remove(used)
        left.append(equation[3])
    return left[0] == target


def _same_step(reply: str, gold: str) -> bool:
    """Whether a line tries the same operation with the same result for the branch."""
    if reply == gold or "Pick two numbers" in gold:
        return reply == gold
    if "|- Try" not in gold:
        raise RowError(f"Unknown line: {gold}")
    dropped = "drop this branch"
    return reply.split("=")[0] == gold.split("=")[0] and (dropped in reply) == (dropped in gold)


def _numbers(row: ScoringRow) -> tuple[list[int], int]:
    nums, target = row.extra["nums"], row.extra["target"]
    if isinstance(nums, str):
        nums = json.loads(nums)
    if not isinstance(nums, list) or not isinstance(target, int):
        raise RowError("extra.nums is no list of numbers, or extra.target no number")
    return nums, target


def _searches(reply: str, gold: Any) -> tuple[list[str], list[str]] | None:
    """The lines of the search in a reply, and of the gold one; None if the reply has none."""
    if _SEARCH not in reply:
        return None
    expected = one_gold(gold).split(_SEARCH)[-1].split(_TRACE)[0]
    return reply.split(_SEARCH)[-1].strip().split("\n"), expected.strip().split("\n")


def _countdown(reply: Any, gold: Any, row: ScoringRow) -> tuple[float, float, str | None]:
    solution, (nums, target) = tagged(reply, "Solution"), _numbers(row)
    if solution is not None and _solved(nums, target, solution):
        return 1.0, 1.0, solution
    searches = _searches(reply, gold)
    if searches is None or searches[0][0] != searches[1][0]:
        return 0.0, 0.0, solution
    lines, golds = searches[0][1:], searches[1][1:]
    wrong = _first_wrong(lines, golds, _same_step)
    return 0.0, (min(len(lines), len(golds)) - 1 if wrong is None else wrong) / len(golds), solution


def _strict_countdown(reply: str, gold: Any, row: ScoringRow) -> tuple[float, float, str | None]:
    solution, (nums, target) = last_tagged(reply, "Solution"), _numbers(row)
    try:
        right = solution is not None and _solved(nums, target, "\n".join(_lines(solution)), HIGHEST)
    except (ArithmeticError, MemoryError, NameError, RecursionError, SyntaxError, TypeError, ValueError):
        right = False
    searches = None if right else _searches(reply, gold)
    if searches is None:
        return float(right), float(right), solution
    lines, golds = searches
    share = _prefix(lines[1:], golds[1:], _same_step) if lines[0] == golds[0] else 0.0
    return 0.0, min(share, 1 - 1 / len(golds)), solution


# -------------------------------------------------------------------------------------------------------------- travel


def _stays(plan: str, city: str) -> list[tuple[str, int]]:
    """The cities of a plan with the days in each: from one flight to the next."""
    spans, flights, total = [], [], None
    for line in plan.split("\n"):
        if stated := re.findall(r"European cities for (\d+) days", line):
            total = int(stated[0])
        if days := re.findall(r"\d+-\d+", line):
            spans.append(days[0])
            if int(days[0].split("-")[1]) == total:
                break
        if flown := re.findall(rf".*Day (\d+).*from ({city}) to ({city})", line):
            flights.append(flown[0])
    if not spans or not flights:
        return []
    cities = [flights[0][1], *(flight[2] for flight in flights)]
    days = [1, *(int(flight[0]) for flight in flights), int(spans[-1].split("-")[1])]
    return [(name, days[at + 1] - days[at] + 1) for at, name in enumerate(cities)]


def _travelled(plan: str | None, row: ScoringRow, city: str) -> float:
    if plan is None:
        return 0.0
    names = [name for name in str(row.extra["ground_truth_cities"]).split("**") if name]
    stated = [number for number in str(row.extra["ground_truth_durations"]).split("**") if number]
    try:
        days = list(map(int, stated))
    except ValueError as error:
        raise RowError(f"extra.ground_truth_durations: {error}") from None
    wanted = list(zip(names, days, strict=False))
    return float(_stays(plan, city)[: len(names)] == wanted)


def _planned(text: str) -> list[str]:
    """The lines of a procedure as words."""
    text = text.replace(_PLAN_REQUEST, "")
    if _PROCEDURE in text:
        text = _PROCEDURE + text.split(_PROCEDURE)[1]
    return [" ".join(official_words(line)) for line in text.strip().split("\n") if line.strip()]


def _procedure(gold: Any, row: ScoringRow) -> str:
    """The gold search with the plan: the field ``reference_output``, where the gold answer is the plan alone."""
    return str(row.extra.get("reference_output") or one_gold(gold))


def _lacks_search(gold: Any, row: ScoringRow) -> bool:
    return bool(text := _procedure(gold, row).strip()) and _PROCEDURE not in text


def _travel(reply: Any, gold: Any, row: ScoringRow) -> tuple[float, float | None, str | None]:
    plan = tagged(reply, "Plan")
    if _travelled(plan, row, r"\w+"):
        return 1.0, 1.0, plan
    if _lacks_search(gold, row):
        return 0.0, None, plan
    lines, golds = _planned(reply), _planned(_procedure(gold, row))
    wrong = _first_wrong(lines, golds, lambda line, expected: expected in line)
    return 0.0, max(0, min(len(lines), len(golds)) - 1 if wrong is None else wrong) / len(golds), plan


def _strict_travel(reply: str, gold: Any, row: ScoringRow) -> tuple[float, float | None, str | None]:
    plan = last_tagged(reply, "Plan")
    if _travelled(plan, row, r"[\w'’. -]+?(?=[.,;]|$| to )"):
        return 1.0, 1.0, plan
    if _lacks_search(gold, row):
        return 0.0, None, plan
    golds = _planned(_procedure(gold, row))
    if not golds:
        raise RowError("the gold procedure is empty")
    share = _prefix(_planned(reply), golds, lambda line, expected: expected in line)
    return 0.0, min(share, 1 - 1 / len(golds)), plan


# ----------------------------------------------------------------------------------------------------------------- tsv


def _table(text: str) -> tuple[int, list[list[str]]]:
    """The number of columns and the cells of a table without its header.

    Raises:
        ValueError: It has no row, or two columns of one name.
    """
    header, *rows = csv.reader(text.strip().split("\n"), delimiter="\t")
    if rows and len(rows[-1]) != len(header):
        rows = rows[:-1]
    if not rows or len(set(header)) < len(header):
        raise ValueError("no table with rows and columns of different names")
    cells = [row if len(row) == len(header) else ["N/A"] * len(header) for row in rows]
    return len(header), [["".join(official_words(cell)) for cell in row] for row in cells]


def _tsv(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    match = _TSV.search(reply)
    text = match[1] if match else reply.split("```tsv")[1] if "```tsv" in reply else reply
    try:
        (width, rows), (gold_width, golds) = _table(text), _table(one_gold(gold))
    except (ValueError, csv.Error):
        return 0.0, False, None
    if width != gold_width:
        return 0.0, False, None
    precision = sum(row in golds for row in rows) / len(rows)
    recall = sum(row in rows for row in golds) / len(golds)
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0, True, f"{len(rows)} rows"


Both: TypeAlias = Callable[[Any, Any, ScoringRow], tuple[float, "float | None", "str | None"]]
"""Whether the result is right, how far it is (None if the row does not say what is right), and the result."""


def _official(compute: Both, *, partial: bool) -> Released:
    def score(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        whole, part, answer = compute(reply, gold, row)
        if partial and part is None:
            raise RowError(NO_SEARCH)
        return part if partial else whole, answer is not None, answer

    return score


def _strict(compute: Both, *, partial: bool) -> Corrected:
    def score(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
        if not isinstance(one_gold(gold), str):
            return None
        whole, part, answer = compute(reply, gold, row)
        if partial and part is None:
            raise RowError(NO_SEARCH)
        return part if partial else whole, answer is not None, answer

    return score


def _strict_tsv(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    return _tsv(reply, gold, row) if isinstance(one_gold(gold), str) else None


METRICS = (
    *(
        metric(
            "longproc",
            f"{task}_{name}",
            _official(rule, partial=bool(how)),
            _strict(strict, partial=bool(how)),
            f"{about}{how}",
        )
        for task, rule, strict, about in (
            ("path_traversal", _route, _strict_route, "the route from one city to another"),
            ("tom_tracking", _tom, _strict_tom, "what a person believes after every step"),
            ("countdown", _countdown, _strict_countdown, "three equations from four numbers to a target"),
            ("travel_planning", _travel, _strict_travel, "the order of cities of a journey"),
        )
        for name, how in (("accuracy", ""), ("partial_accuracy", ", as far as it is right"))
    ),
    metric("longproc", "html_to_tsv_f1", _tsv, _strict_tsv, "F1 of the rows of a table"),
)
