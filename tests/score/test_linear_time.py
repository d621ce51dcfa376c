"""Every scorer takes time in proportion to the length of a reply, whatever it consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from fathom.benchmarks.ada.scoring import designation, segment_order
from fathom.benchmarks.hundred.judge_scoring import _last_braces
from fathom.score import answers, chinese, rouge
from fathom.score.judge_texts import object_at_end
from fathom.score.registry import ScoringRow, metrics
from fathom.score.unwrapping import readable, unwrapped
from linear_time import assert_linear, seconds

KEY = "a1b2c3d4-0000-4000-8000-123456789abc"
PIECES = ("1", " ")
MORE_PIECES = (
    "{'a': ", "'", "…?", "- but B.\n", "?", "(", "\n", "a ", "A1, ", "图", "</s>", "x: person-other\n", "not ",
)  # fmt: skip
GOLD: dict[str, tuple[ScoringRow, ...]] = {
    "ada/bestanswer": (ScoringRow("", ["A7"], extra={"num_choice": 12}),),
    "ada/tsort": (ScoringRow("", ["[2, 1, 4, 3]"]),),
    "leader/exact_match": tuple(
        ScoringRow("", gold, dataset=name, asked=KEY)
        for name, gold in (("passkey", ["42"]), ("kv", [KEY]), ("choice", ["B", "Paris"]), ("code_debug", ["B", "f"]),
                           ("math_find", ["42"]), ("needle", ["Paris"]))
    ),
    "leader/token_f1": tuple(
        ScoringRow("", [gold], dataset=name)
        for name, gold in (("fewnerd", '[["a", "b-c"]]'), ("dialogre", '["per:title"]'), ("triviaqa", "Paris"))
    ),
    "infinitebench/kv_retrieval": (ScoringRow("", KEY),),
    "infinitebench/math_calc": (ScoringRow("", [1] * 30),),
    "infinitebench/longdialogue_qa_eng": (ScoringRow("", ["PARIS"]),),
    "leval/em_code": (ScoringRow("", ["[1, [2, 3]]"]), ScoringRow("", ["a b"])),
    "leval/em_judge": (ScoringRow("", ["True [fact: False]"]),),
    **{f"infinitebench/{name}": (ScoringRow("", ["f", "B"]),) for name in ("code_debug", "longbook_choice_eng")},
    **{f"infinitebench/{name}": (ScoringRow("", [42]),) for name in ("code_run", "math_find")},
    **{f"{suite}/retrieval": (ScoringRow("", ["Paragraph 4"]),) for suite in ("longbench_v1", "mini")},
    **{f"{suite}/retrieval_zh": (ScoringRow("", ["段落4"]),) for suite in ("longbench_v1", "mini")},
    **{
        metric.full_name: (ScoringRow("", [["a", 1], ["b", 1]]),)
        for metric in metrics().values()
        if metric.full_name.startswith("loft/retrieval_")
    },
    **{
        f"longproc/countdown_{name}": (ScoringRow("", ["1 + 2 = 3"], extra={"nums": [1, 2], "target": 3}),)
        for name in ("accuracy", "partial_accuracy")
    },
    **{f"hundred/{name}": (ScoringRow("a", ["b"], extra={"judge_outputs": []}),) for name in ("qa_judge", "sum_judge")},
}  # fmt: skip
"""Gold answers of the metrics that need others than a number or a letter."""
OTHERS = (ScoringRow("", ["42"], all_classes=["City", "A1"]), ScoringRow("", ["B"], all_classes=["City", "A1"]))
READERS: tuple[Callable[[str], object], ...] = (
    partial(answers.choice_number, n_options=5), answers.passage_number, answers.count_number, answers.first_number,
    partial(answers.stated_number, asked="the median"), partial(answers.digits, size=5), answers.given_uuid,
    answers.choice_letter, answers.choice_letters, partial(designation, n_answers=12), answers.free_answer,
    partial(segment_order, n_segments=4), answers.short_answer, answers.offered_names, answers.reply_text,
    unwrapped, object_at_end,
)  # fmt: skip


def _scorers() -> Iterator[tuple[str, Callable[[str], object]]]:
    for metric in metrics().values():
        for rule, score in metric.rules.items():
            for row in GOLD.get(metric.full_name, OTHERS):
                yield f"{metric.full_name} {rule} {row.dataset}", partial(_score, score, row)
    for read in READERS:
        yield str(read), read


def _score(score: Callable[[ScoringRow], object], row: ScoringRow, reply: str) -> object:
    if "judge_outputs" in row.extra:
        return score(replace(row, extra={"judge_outputs": [reply] * 4}))
    return score(replace(row, prediction=reply))


def _seconds(read: Callable[[str], object], reply: str) -> float:
    for cache in (readable, rouge._sentences, chinese._words):
        cache.cache_clear()
    return seconds(read, reply)


@pytest.mark.parametrize("piece", [*PIECES, *(pytest.param(piece, marks=pytest.mark.slow) for piece in MORE_PIECES)])
def test_every_scorer_and_reader_takes_linear_time(piece: str) -> None:
    for name, read in _scorers():
        assert_linear(name, partial(_seconds, read), piece)


def test_the_last_braces_are_those_of_the_released_pattern() -> None:
    for text, last in (("{a} {b{c}", "{b{c}"), ("{a", ""), ("}{", ""), ("{} {", "{}"), ("{\n}", "{\n}")):
        assert _last_braces(text) == last
