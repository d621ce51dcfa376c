"""What LongProc's generated tasks ask, before any text is around it: routes, beliefs and sums, each with its answer."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from random import Random
from typing import NamedTuple

from fathom.benchmarks.ruler.tasks import coined
from fathom.suites.tasks.growing import different

TRANSITS = {"en": ("bus", "train", "ferry", "plane"), "zh": ("客车", "火车", "渡轮", "飞机")}
NUMBERS, HIGHEST = range(1, 50), 2000
TARGETS = range(10, 51)


class Link(NamedTuple):
    """The one connection of a city."""

    start: str
    end: str
    transit: str


def links(rng: Random, steps: int, others: int, language: str) -> tuple[list[Link], list[Link]]:
    """A route and other connections, one from each city.

    Args:
        others: Number of other connections. Each leads to a city that the route or an earlier one has, so that any
            number of the first ones is a whole map.

    Returns:
        The route from its first to its last city; the others, the first of which leads on from there.
    """
    cities = different(lambda: coined(rng, 3).capitalize(), steps + 1 + others)
    transit = TRANSITS[language]
    route = [Link(*pair, rng.choice(transit)) for pair in pairwise(cities[: steps + 1])]
    ends = (rng.choice(cities[: steps + number]) for number in range(others))
    more = [Link(start, end, rng.choice(transit)) for start, end in zip(cities[steps:], ends, strict=False)]
    return route, more


class Step(NamedTuple):
    """What happens to a person and a thing, and what is so afterwards; a place is a container and its room."""

    mover: str
    room: str
    place: tuple[str, str]
    believed: tuple[str, str] | None


def beliefs(
    rng: Random, steps: int, person: str, movers: Sequence[str], rooms: Sequence[str], containers: Sequence[str]
) -> list[Step]:
    """Where a person is, where a thing is, and where the person believes it to be, at first and after each step.

    A step is either the person's, who goes to another room, or that of somebody who puts the thing elsewhere.

    Args:
        movers: The others.
    """
    places = [(container, room) for room in rooms for container in containers]
    story = [Step("", rng.choice(rooms), rng.choice(places), None)]
    for _ in range(steps):
        _, room, place, _ = story[-1]
        if rng.random() < 0.5:
            story.append(Step(person, rng.choice([other for other in rooms if other != room]), place, None))
        else:
            story.append(
                Step(rng.choice(movers), room, rng.choice([other for other in places if other != place]), None)
            )
    believed = None
    for number, step in enumerate(story):
        believed = step.place if step.place[1] == step.room else believed
        story[number] = step._replace(believed=believed)
    return story


class Puzzle(NamedTuple):
    """Four numbers, and one that they make."""

    numbers: tuple[int, ...]
    target: int


def sums(rng: Random) -> Puzzle:
    """Numbers and a target that ``solution`` reaches."""
    while True:
        numbers = tuple(rng.choices(NUMBERS, k=4))
        left = list(numbers)
        while len(left) > 1:
            first, second = (left.pop(rng.randrange(len(left))) for _ in range(2))
            left.append(rng.choice([result for _, result in results(first, second)]))
        if left[0] in TARGETS:
            return Puzzle(numbers, left[0])


def results(first: int, second: int) -> Iterator[tuple[str, int]]:
    """The equations of two numbers, the larger one first, whose results are whole, positive and at most 2000."""
    high, low = max(first, second), min(first, second)
    quotient = high // low if high % low == 0 else 0
    for sign, result in (("+", high + low), ("-", high - low), ("*", high * low), ("/", quotient)):
        if 0 < result <= HIGHEST:
            yield f"{high} {sign} {low} = {result}", result


def solution(numbers: Sequence[int], target: int) -> list[str] | None:
    """The first equations that a depth-first search finds: pairs in their order, with ``+ - * /`` for each.

    Returns:
        One equation for each number but one; None if there are none.
    """
    if len(numbers) == 1:
        return [] if numbers[0] == target else None
    for first, second in combinations(range(len(numbers)), 2):
        left = [number for at, number in enumerate(numbers) if at not in (first, second)]
        for equation, result in results(numbers[first], numbers[second]):
            rest = solution([result, *left], target)
            if rest is not None:
                return [equation, *rest]
    return None
