"""A reply that reads only the question, or is always the same, must not score above the stated chance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt

import pytest

from engine_calls import configure
from fathom.suites.build import build
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import Sample
from made import write_corpus

pytestmark = pytest.mark.slow

STARS = ("counting_stars", "counting_stars_corrected")
ITEMS = 400
Options = Sequence[tuple[str, ...]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("unread")
    corpus = [str(write_corpus(folder, 150))]
    tasks = ",".join((*STARS, "passage_count"))
    return open_suite(build(configure(tasks, corpus=corpus, lengths=(2048,), items=ITEMS), folder / "suite").folder)


def differing(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def by_places(options: Options, option: Sequence[str]) -> float:
    """Most like the others, place by place."""
    return -sum(differing(option, other) for other in options)


def by_one_place(options: Options, option: Sequence[str]) -> float:
    """One place from most others."""
    return sum(differing(option, other) == 1 for other in options)


def by_rare_number(options: Options, option: Sequence[str]) -> float:
    """Next to the option with the number that fewest options have."""
    often = Counter(number for one in options for number in set(one))
    odd = min(options, key=lambda one: min(often[number] for number in one))
    return -differing(option, odd) if option != odd else float("-inf")


def by_common_numbers(options: Options, option: Sequence[str]) -> float:
    """With the numbers that most options have."""
    often = Counter(number for one in options for number in set(one))
    return sum(often[number] for number in option)


def by_common_order(options: Options, option: Sequence[str]) -> float:
    """With the ranks that most options have."""

    def ranks(one: Sequence[str]) -> list[int]:
        return [sorted(map(int, one)).index(int(number)) for number in one]

    return sum(ranks(option) == ranks(other) for other in options)


@pytest.mark.parametrize("task", STARS)
@pytest.mark.parametrize("likely", [by_places, by_one_place, by_rare_number, by_common_numbers, by_common_order])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_right_option_cannot_be_told_from_the_options(
    built: BuiltSuite, task: str, likely: Callable[[Options, Sequence[str]], float], sign: int
) -> None:
    recipes, texts = built.by_id(), built.texts()
    rates = []
    for sample in built.samples([task]):
        ending = render(recipes[sample.id], texts)[-400:]
        options = [tuple(counts.split(", ")) for counts in re.findall(r"\(\d\) ([\d, ]+)\n", ending)]
        assert len(set(options)) == 5
        values = [sign * likely(options, option) for option in options]
        best = [n for n, value in enumerate(values, start=1) if value == max(values)]
        rates.append((int(sample.targets[0]) in best) / len(best))
    assert len(rates) == ITEMS
    assert abs(sum(rates) / ITEMS - 0.2) <= 4 * sqrt(0.2 * 0.8 / ITEMS)


def test_no_count_of_passages_is_right_much_more_often_than_chance(built: BuiltSuite) -> None:
    by_total: dict[object, list[Sample]] = {}
    for sample in built.samples(["passage_count"]):
        by_total.setdefault(sample.facets["passages"], []).append(sample)
    often = [found for found in by_total.values() if len(found) >= 100]
    assert often
    for found in often:
        ((_, most),) = Counter(sample.targets for sample in found).most_common(1)
        chance = found[0].chance
        assert most / len(found) <= 1.5 * chance + 3 * sqrt(chance * (1 - chance) / len(found))
