"""LongProc: procedures of many lines that follow exactly from what a prompt says, generated for any length.

Ye et al. (2025), arXiv:2501.05414. ``longproc_path`` asks for the route between two cities, each of which has one
connection; ``longproc_tom`` for what a person believes about the place of a thing after every step of a story;
``longproc_countdown`` for equations that make a target of four numbers, in one of many puzzles. The lines that decide
the answer are in every length, and so is the answer; a longer prompt adds cities off the route, other people who move
other things, and other puzzles. Unlike in the published records, where only the answer grows, the input grows here.

The score of a route and of beliefs is the share of lines that are right before the first wrong one.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial

from fathom.benchmarks.longproc.puzzles import Link, Puzzle, Step, beliefs, links, solution, sums
from fathom.benchmarks.ruler.tasks import coined
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import depths
from fathom.suites.tasks.growing import Growing, Piece, different, enough, growing, no_documents
from fathom.types import Draw, Ending, Plan, Task

SOURCE = "LongProc, section 3"
LINK, EVENT, PUZZLE = 14, 8, 20
"""Fewest tokens of a connection, an event and a puzzle."""
STEPS, EVENTS = (8, 16, 24), (6, 10, 14)
PEOPLE = {
    "en": "Anna,Bruno,Clara,David,Elena,Felix,Greta,Hugo,Irene,Jonas",
    "zh": "安娜,博文,晨曦,大伟,恩慈,方远,高洁,海涛,佳宁,建国",
}
THINGS = {
    "en": "band-aid,teapot,hammer,lantern,scarf,compass,violin,stapler,umbrella,candle",
    "zh": "创可贴,茶壶,锤子,灯笼,围巾,指南针,小提琴,订书机,雨伞,蜡烛",
}
ROOMS = {"en": "attic,cellar,kitchen,library,pantry", "zh": "阁楼,地窖,厨房,书房,储藏室"}
CONTAINERS = {"en": "shelf,table,bench", "zh": "架子,桌子,长凳"}
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")
Texts = Mapping[str, str]


def plan_path(draw: Draw) -> Plan:
    """A route among the connections of other cities."""
    rng, prompts, longest = draw.rng, draw.resources.texts_of(PROMPTS), draw.resources.lengths[-1]
    steps = rng.choice(STEPS[: 2 if draw.resources.shortest < 2048 else None])
    route, more = links(rng, steps, enough(longest, LINK), draw.resources.language)
    gold = "\n".join(prompts["hop"].format(**link._asdict()) for link in route)

    def piece(link: Link) -> Piece:
        return Piece((prompts["link"].format(**link._asdict()),), rng.random())

    ending = Ending(
        prompts["path_question"].format(start=route[0].start, end=route[-1].end),
        (f"<Route>\n{gold}\n</Route>",),
        chance=0.0,
        facets={"steps": steps},
        inputs={GOLD: json.dumps(gold, ensure_ascii=False)},
    )
    # The connection that leads on from the last city is always there.
    core = [piece(link) for link in (*route, more[0])]
    return growing(
        Growing(prompts["path"], core, list(map(piece, more[1:])), lambda pieces: ending), draw.resources.counter
    )


def plan_tom(draw: Draw) -> Plan:
    """A story of one person and one thing among other people with other things."""
    rng, prompts, language = draw.rng, draw.resources.texts_of(PROMPTS), draw.resources.language
    people, things, rooms, containers = (names[language].split(",") for names in (PEOPLE, THINGS, ROOMS, CONTAINERS))
    person, thing = (names.pop(rng.randrange(len(names))) for names in (people, things))
    steps = rng.choice(EVENTS[: 2 if draw.resources.shortest < 2048 else None])
    story = beliefs(rng, steps, person, people, rooms, containers)

    def event(step: Step) -> str:
        kind = "first" if not step.mover else "walk" if step.mover == person else "put"
        container, home = step.place
        name = step.mover or person
        return prompts[kind].format(person=name, room=step.room, thing=thing, container=container, home=home)

    def other() -> str:
        kind = rng.choice(("walk", "put"))
        home = rng.choice(rooms)
        return prompts[kind].format(
            person=rng.choice(people), room=home, thing=rng.choice(things), container=rng.choice(containers), home=home
        )

    gold = "\n".join(_belief(step, person, thing, prompts) for step in story)
    ending = Ending(
        prompts["tom_question"].format(person=person, thing=thing), (gold,), chance=0.0, facets={"steps": steps}
    )
    core = [Piece((event(step),), place) for step, place in zip(story, (-1.0, *depths(draw, steps)), strict=True)]
    more = [Piece((other(),), rng.random()) for _ in range(enough(draw.resources.lengths[-1], EVENT))]
    return growing(Growing(prompts["tom"], core, more, lambda pieces: ending), draw.resources.counter)


def _belief(step: Step, person: str, thing: str, prompts: Texts) -> str:
    container, home = step.place
    seen = step.believed
    believed = prompts["place"].format(home=seen[1], container=seen[0]) if seen else prompts["unknown"]
    return prompts["belief"].format(
        person=person, room=step.room, thing=thing, home=home, container=container, believed=believed
    )


def plan_countdown(draw: Draw) -> Plan:
    """One puzzle among others."""
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    keys = different(partial(coined, rng, 3), 1 + enough(draw.resources.lengths[-1], PUZZLE))
    asked = sums(rng)
    equations = solution(asked.numbers, asked.target)
    assert equations is not None

    def piece(key: str, puzzle: Puzzle, place: float) -> Piece:
        numbers = ", ".join(map(str, puzzle.numbers))
        return Piece((prompts["puzzle"].format(key=key, numbers=numbers, target=puzzle.target),), place)

    ending = Ending(
        prompts["countdown_question"].format(key=keys[0]),
        ("\n".join(("<Solution>", *equations, "</Solution>")),),
        chance=0.0,
        inputs={"nums": json.dumps(asked.numbers), "target": asked.target},
    )
    core = [piece(keys[0], asked, draw.depth)]
    more = [piece(key, sums(rng), rng.random()) for key in keys[1:]]
    return growing(Growing(prompts["countdown"], core, more, lambda pieces: ending), draw.resources.counter)


def _task(kind: str, plan: Callable[[Draw], Plan], metric: str, official: str, description: str) -> Task:
    return Task(
        name=f"longproc_{kind}",
        title=f"LongProc, {kind}",
        plan=plan,
        score=partial(strict_score, metric=official),
        metric=metric,
        max_output_tokens=2048,
        description=description,
        source=SOURCE,
        positioned=kind == "countdown",
        pool=no_documents,
        gold=(),
        noise=(),
        official=official,
    )


TASKS = (
    _task(
        "path",
        plan_path,
        "prefix",
        "longproc/path_traversal_partial_accuracy",
        "the route between two cities among the connections of many",
    ),
    _task(
        "tom",
        plan_tom,
        "prefix",
        "longproc/tom_tracking_partial_accuracy",
        "what a person believes about the place of a thing after every step of a story",
    ),
    _task(
        "countdown",
        plan_countdown,
        "accuracy",
        "longproc/countdown_accuracy",
        "equations that make a target of four numbers, in one of many puzzles",
    ),
)
