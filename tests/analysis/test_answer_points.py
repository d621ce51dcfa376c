"""How models answer: form, copied examples, shortcuts, orders and thirds, and their intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from simulated import row

from fathom.analysis import AnswerPoint, answers, curve
from fathom.report.sections.answers import answers_tables
from fathom.rows import to_frame
from fathom.stats.intervals import jeffreys_interval
from fathom.stats.outcomes import scored_rows
from fathom.types import CONTAINED, Facet, Row, Status

ORDER = "[4, 1, 3, 2]"


def choice(
    answer: str | None,
    gold: int,
    n: int = 4,
    *,
    item: int = 0,
    example: str | None = "A4",
    status: Status = "ok",
    length: int = 1024,
    epoch: int = 1,
    facets: Mapping[str, Facet] | None = None,
) -> Row:
    """A reply to a question with n numbered answers; None is one without a readable answer."""
    value = float(answer == f"A{gold}") if status == "ok" else None
    known: dict[str, Facet] = {"answers": n, "gold": gold, "first": "A1", "longest": f"A{n}"}
    if example is not None:
        known["example"] = example
    known |= facets or {}
    made = row(
        value, task="best", item=item, length=length, status=status, epoch=epoch, valid=answer is not None, facets=known
    )
    return replace(made, answer=answer, target=f"A{gold}", chance=1 / n)


def order(answer: str | None, true: str = "[2, 4, 1, 3]", *, item: int = 0, example: str = ORDER) -> Row:
    """A reply to a task that asks for an order."""
    facets: dict[str, Facet] = {"segments": len(json.loads(true)), "example": example}
    made = row(float(answer == true), task="tsort", item=item, valid=answer is not None, facets=facets)
    return replace(made, answer=answer, target=true, chance=1 / 24)


def only(rows: Sequence[Row] | pl.DataFrame) -> AnswerPoint:
    (found,) = answers(rows if isinstance(rows, pl.DataFrame) else to_frame(rows))
    return found


def thirds(one: AnswerPoint) -> Mapping[str, tuple[float, float | None, float | None, float | None]]:
    return {
        third.name: (
            third.gold,
            third.accuracy.value if third.accuracy else None,
            third.chosen.value if third.chosen else None,
            third.chosen_chance,
        )
        for third in one.thirds
    }


def test_the_arithmetic_of_tables_4_5_and_9() -> None:
    # Ten replies: 2 without an answer, 5 copy the example A4 (once it is right), 2 are right otherwise, 1 is wrong.
    replies = [(None, 1), (None, 2), *[("A4", gold) for gold in (1, 2, 3, 1, 4)], ("A2", 2), ("A3", 3), ("A1", 3)]
    one = only([choice(answer, gold, item=item) for item, (answer, gold) in enumerate(replies)])
    assert (one.replies, one.scored, one.valid) == (10, 10, 8)
    assert one.accuracy.value == pytest.approx(3 / 10)
    assert one.accuracy_valid is not None
    assert one.accuracy_valid.value == pytest.approx(3 / 8)
    assert one.followed.value == pytest.approx(8 / 10)
    assert one.copied is not None
    assert one.copied.value == pytest.approx(5 / 8)
    assert one.copied_expected == pytest.approx(1 / 10)
    assert one.chance == pytest.approx(1 / 4)
    assert one.first == pytest.approx(3 / 10)
    assert one.longest == pytest.approx(1 / 10)
    assert one.orders == 0
    assert (one.tau, one.adjacent, one.adjacent_chance) == (None, None, None)
    for estimate in (one.accuracy, one.accuracy_valid, one.followed, one.copied):
        assert 0 <= estimate.interval.low < estimate.value < estimate.interval.high <= 1


def test_a_model_that_is_always_right_copies_as_often_as_expected() -> None:
    one = only([choice(f"A{1 + item % 4}", 1 + item % 4, item=item) for item in range(40)])
    assert one.copied is not None
    assert one.copied.value == one.copied_expected == pytest.approx(0.25)
    assert one.accuracy.value == 1


def test_examples_differ_from_sample_to_sample() -> None:
    rows = [choice(f"A{1 + item % 4}", 2, item=item, example=f"A{1 + item % 4}") for item in range(8)]
    one = only(rows)
    assert one.copied is not None
    assert one.copied.value == 1
    assert one.copied_expected == pytest.approx(0.25)


def test_front_middle_and_rear() -> None:
    # A model that always takes A1, of 4 answers: it is right where the gold answer is first.
    one = only([choice("A1", gold, item=gold) for gold in (1, 1, 2, 3, 4, 4)] + [choice("A1", 1, item=9)])
    assert thirds(one)["front"] == pytest.approx((2 / 5, 1, 1, 1 / 4))
    assert thirds(one)["middle"] == pytest.approx((2 / 5, 0, 0, 1 / 2))
    assert thirds(one)["rear"] == pytest.approx((1 / 5, 0, 0, 1 / 4))
    assert one.first == pytest.approx(2 / 5)  # items 1 and 9 of five: item 1 was asked twice


@pytest.mark.parametrize("n", [1, 2, 3, 4, 59, 60])
def test_thirds_are_alike_from_both_ends(n: int) -> None:
    one = only([choice("A1", gold, n, item=gold) for gold in range(1, n + 1)])
    shares = thirds(one)
    assert sum(gold for gold, *_ in shares.values()) == pytest.approx(1)
    for gold, _, _, chance in shares.values():
        assert gold == pytest.approx(chance)
    assert shares["front"][0] == pytest.approx(shares["rear"][0])


def test_depth_says_where_the_answer_lies_if_numbers_do_not() -> None:
    rows = [
        replace(row(float(depth < 0.3), item=item, chance=0.1, facets={"depth": depth}), answer="x", target="y")
        for item, depth in enumerate((0.0, 0.2, 0.5, 1.0))
    ]
    one = only(rows)
    assert thirds(one) == {
        "front": (0.5, 1, None, None),
        "middle": (0.25, 0, None, None),
        "rear": (0.25, 0, None, None),
    }
    assert not one.telling


@pytest.mark.parametrize("facets", [{"gold": 9}, {"gold": 0}, {"answers": 0}, {"gold": "A1"}, {"answers": "many"}])
def test_facets_that_say_nothing_of_positions_are_left_aside(facets: dict[str, Facet]) -> None:
    (one,) = answers(to_frame([choice("A1", 1, item=item, facets=facets) for item in range(3)]))
    assert one.thirds == ()
    assert one.accuracy.value == 1


def test_replies_that_were_not_answered_count_as_wrong_and_not_of_the_form() -> None:
    rows = [choice("A1", 1, item=item) for item in range(3)]
    statuses: tuple[Status, ...] = ("overflow", "refused", "incomplete")
    # What a row says of the form of a refusal is not believed.
    rows += [choice("A1", 1, item=5 + item, status=status) for item, status in enumerate(statuses)]
    rows += [choice("A1", 1, item=10 + item) for item in range(9)]
    one = only(rows)
    assert (one.replies, one.scored, one.valid) == (15, 15, 12)
    assert one.followed.value == one.accuracy.value == pytest.approx(12 / 15)
    assert one.accuracy_valid is not None
    assert one.accuracy_valid.value == 1
    dropped = only(scored_rows(to_frame(rows), "drop"))
    assert (dropped.replies, dropped.scored, dropped.valid) == (15, 12, 12)


def test_a_length_that_is_not_measured_has_no_answers() -> None:
    rows = [choice("A1", 1, item=item, length=length) for item in range(3) for length in (1024, 4096)]
    rows[1] = replace(rows[1], value=None, status="error")
    assert [one.length for one in answers(to_frame(rows))] == [1024]
    assert answers(to_frame([choice(None, 1, status="error")])) == []


def test_rows_without_their_context_are_no_replies() -> None:
    alone = replace(choice("A4", 1, item=1), length=0, facets={"context": "none", "example": "A4"})
    assert only([choice("A1", 1), alone]).replies == 1


@pytest.mark.slow
def test_epochs_are_averaged_within_their_item() -> None:
    rows = [choice("A4", 1, item=0, epoch=epoch) for epoch in (1, 2, 3)] + [choice("A1", 1, item=1)]
    one = only([*rows, choice(None, 1, item=1, epoch=2)])
    assert one.accuracy.value == pytest.approx((0 + 1 / 2) / 2)
    assert one.followed.value == pytest.approx((1 + 1 / 2) / 2)
    assert one.copied is not None
    assert one.copied.value == pytest.approx((1 + 0) / 2)
    assert one.accuracy_valid is not None
    assert one.accuracy_valid.value == pytest.approx((0 + 1) / 2)


def test_no_valid_reply_at_all() -> None:
    one = only([choice(None, 1, item=item) for item in range(5)])
    assert one.followed.value == 0
    assert (one.accuracy_valid, one.copied) == (None, None)
    assert one.copied_expected == 0
    assert [third.chosen for third in one.thirds] == [None] * 3


def test_tasks_without_an_example_or_chance_are_no_choice() -> None:
    assert answers(to_frame([])) == []
    assert answers(to_frame([row(1.0, task="qa", facets={"gold": 3, "answers": 9})])) == []
    assert answers(to_frame([row(1.0, task="qa", chance=None)])) == []
    plain = only([row(1.0, task="counting", chance=0.2, valid=item > 0, item=item) for item in range(4)])
    assert plain.followed.value == pytest.approx(3 / 4)
    assert (plain.copied, plain.longest, plain.first) == (None, None, None)
    assert plain.thirds == ()
    assert not plain.telling


def test_orders_have_tau_and_neighbours() -> None:
    # The true order is 2 4 1 3. "2 1 4 3" has one pair of six the wrong way round and no neighbours kept; "4 1 3 2"
    # has three wrong and two neighbours kept (4 1, 1 3); a list of other numbers is no order of these parts.
    rows = [order("[2, 4, 1, 3]"), order("[2,1,4,3]", item=1), order(ORDER, item=2)]
    one = only([*rows, order(None, item=3), order("[2, 4, 1]", item=4), order("[2, 4, 1, 9]", item=5)])
    assert (one.scored, one.valid, one.orders) == (6, 5, 3)
    assert one.tau is not None
    assert one.adjacent is not None
    assert one.copied is not None
    assert one.tau.value == pytest.approx((1 + 4 / 6 + 0) / 3)
    assert -1 <= one.tau.interval.low < one.tau.value < one.tau.interval.high <= 1
    assert one.adjacent.value == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert one.adjacent_chance == pytest.approx(1 / 4)
    assert one.copied.value == pytest.approx(1 / 5)
    assert one.copied_expected == 0
    assert one.chance == pytest.approx(1 / 24)
    assert one.thirds == ()
    assert one.telling


def test_copying_does_not_depend_on_spaces() -> None:
    one = only([order("[4,1,3,2]", true=ORDER, example=" [4, 1,3, 2]")])
    assert one.copied is not None
    assert one.copied.value == one.copied_expected == 1


@pytest.mark.slow
def test_accuracy_and_chance_are_those_of_the_curve() -> None:
    rng = np.random.default_rng(3)
    rows = to_frame(
        choice(f"A{rng.integers(1, n + 1)}", int(rng.integers(1, n + 1)), n, item=item, length=length)
        for length, n in ((1024, 4), (4096, 20))
        for item in range(30)
    )
    points = [point for point in curve(rows, seed=4) if point.task != "all"]
    for one, point in zip(answers(rows, seed=4), points, strict=True):
        assert (one.length, one.accuracy.value, one.chance) == (point.length, point.mean, point.chance)
        assert one.accuracy.interval == point.interval
    assert answers(rows, seed=4) == answers(rows, seed=4)
    assert answers(rows, seed=4) == answers(rows, seed=5)  # 0/1 scores have exact intervals


def test_models_tasks_and_lengths_are_kept_apart() -> None:
    rows = [choice("A1", 1, length=length) for length in (4096, 1024)]
    rows += [replace(choice("A4", 1), model="other", variant="v"), order(ORDER)]
    found = [(one.model, one.variant, one.task, one.length) for one in answers(to_frame(rows))]
    assert found == [
        ("m", "", "best", 1024),
        ("m", "", "best", 4096),
        ("other", "v", "best", 1024),
        ("m", "", "tsort", 2048),
    ]


@pytest.mark.slow
@pytest.mark.long
def test_intervals_cover_the_rates_of_a_simulated_model() -> None:
    """A reader that answers validly in 85%, of these copies in 40% and else chooses at random."""
    rng = np.random.default_rng(11)
    held = {"followed": 0, "copied": 0, "accuracy": 0, "front": 0}
    for _ in range(60):
        rows = []
        for item in range(40):
            gold, example, guess = (int(number) for number in rng.integers(1, 5, 3))
            said = example if rng.random() < 0.4 else guess
            answer = f"A{said}" if rng.random() < 0.85 else None
            rows.append(choice(answer, gold, item=item, example=f"A{example}"))
        (one,) = answers(to_frame(rows))
        assert one.copied is not None
        chosen = one.thirds[0].chosen
        assert chosen is not None
        truths = {"followed": 0.85, "copied": 0.4 + 0.6 / 4, "accuracy": 0.85 / 4, "front": 1 / 4}
        estimates = {"followed": one.followed, "copied": one.copied, "accuracy": one.accuracy, "front": chosen}
        for name, truth in truths.items():
            held[name] += estimates[name].interval.low <= truth <= estimates[name].interval.high
    for name, times in held.items():
        assert 0.9 <= times / 60 <= 0.995, (name, times)


@pytest.mark.slow
def test_the_published_cases_have_the_chance_of_the_paper(shared: Path) -> None:
    """Of all 1,000 published cases the longest answer is right in 39.6%, and the mean of 1/n is 26.2%; 708 are here."""
    import zstandard

    path = shared / "data" / "stackexchange" / "adaleval_stackselect_1k.jsonl.zst"
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode("utf-8")
    rows, inverse = [], []
    for item, record in enumerate(map(json.loads, text.splitlines())):
        candidates = [len(answer) for answer in record["all_answers"]]
        longest = f"A{candidates.index(max(candidates)) + 1}"
        gold = int(record["answer"][1:])
        rows.append(choice(longest, gold, len(candidates), item=item, facets={"longest": longest}))
        inverse.append(1 / len(candidates))
    one = only(rows)
    assert one.scored == 708
    assert one.chance == pytest.approx(float(np.mean(inverse)))
    assert one.chance == pytest.approx(0.262, abs=0.01)
    assert one.longest == one.accuracy.value
    assert one.longest == pytest.approx(0.396, abs=0.01)
    # The paper's 200 cases: a random guess is right in 26.7%.
    (first,) = answers(to_frame(rows[:200]))
    assert first.chance == pytest.approx(0.267, abs=0.005)


def test_questions_of_one_document_are_resampled_together() -> None:
    """Ten documents of two questions that are answered alike say as much as ten questions."""
    replies = [
        choice("A1" if item < 12 else None, 1, item=item, facets={"cluster": f"document {item // 2}"})
        for item in range(20)
    ]
    one = only(replies)
    assert (one.scored, one.followed.value) == (20, 0.6)
    assert one.followed.interval == jeffreys_interval(6, 10)


def test_free_text_has_containment_beside_its_token_f1() -> None:
    """Ten answers: four are the gold answer, four more contain it in sentences, two do not."""
    values, details = [1.0] * 4 + [0.25] * 4 + [0.0] * 2, [""] * 4 + [CONTAINED] * 4 + [""] * 2
    plain = replace(row(0.0, task="qa", valid=True, facets={}), metric="token_f1", chance=0.0)
    rows = [
        replace(plain, value=value, item=f"qa/{item}", sample=f"qa/{item}@1024", detail=detail)
        for item, (value, detail) in enumerate(zip(values, details, strict=True))
    ]
    one = only(rows)
    assert not one.telling
    assert (one.accuracy.value, one.contains and one.contains.value) == (0.5, 0.8)
    assert one.contains is not None
    assert one.contains.interval == jeffreys_interval(8, 10)
    assert one.contained_f1 is not None
    assert one.contained_f1.value == pytest.approx((4 * 1 + 4 * 0.25) / 8)
    (table,) = answers_tables([one])
    assert table.title == "qa: gold answers in replies"
    assert [column.label for column in table.columns[2:]] == ["Token F1", "Contain a gold answer", "Token F1 of these"]
    assert [cell.text for cell in table.rows[0][2:]] == ["50.0", "80.0", "62.5"]
    # Another program's token F1, and the paper's, do not say whether the reply contains the answer.
    for others in (
        [replace(reply, source="lm-eval") for reply in rows],
        [replace(reply, rule="official") for reply in rows],
    ):
        assert answers(to_frame(others)) == []
