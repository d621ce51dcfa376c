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
PROMPTS = {
    "en": {
        "path": "Below are connections between cities. From each city one can go to one other city only, and only in "
        "the "
        "given direction.\n\n",
        "link": "From {start} one can only go to {end}, by {transit}.",
        "hop": "From {start}, take a {transit} to {end}.",
        "path_question": "\n\nWrite the route from {start} to {end}, one line for each connection, in this form and "
        "with "
        "nothing else:\n<Route>\nFrom CITY, take a TRANSIT to CITY.\nFrom CITY, take a TRANSIT to CITY.\n</Route>",
        "tom": "Below is a story about people and things in a house, in the order of events. Somebody who is in the "
        "room "
        "of a thing sees where it is. Somebody who is not goes on believing that it is where they last saw it, and "
        "knows nothing if they never saw it.\n\n",
        "first": "At first {person} is in the {room}, and the {thing} is on the {container} of the {home}.",
        "walk": "{person} goes to the {room}.",
        "put": "{person} puts the {thing} on the {container} of the {home}.",
        "belief": "- {person}: {room}; {thing}: {home}, {container}; belief: {believed}",
        "place": "{home}, {container}",
        "unknown": "unknown",
        "tom_question": "\n\nFollow {person} and the {thing}. Write a line for how it is at first, and one for each "
        "event "
        "in which {person} goes somewhere or anybody puts the {thing} somewhere, in their order: where both are after "
        "it, and where {person} believes the {thing} to be. Use exactly this form, and write nothing else:\n"
        "- {person}: ROOM; {thing}: ROOM, CONTAINER; belief: ROOM, CONTAINER\nIf {person} has not seen the {thing} "
        "yet, "
        "end the line with `belief: unknown`.",
        "countdown": "Below are puzzles. Each has four numbers and a target.\n\n",
        "puzzle": "Puzzle {key}: the numbers {numbers}, the target {target}.",
        "countdown_question": "\n\nSolve puzzle {key}: use each of its four numbers once, with +, -, * and /, to reach "
        "its target. Results on the way are positive whole numbers. End your reply with three equations of two numbers "
        "each, where results may be used further, in this form:\n<Solution>\na + b = c\nc - d = e\ne * f = "
        "g\n</Solution>",
    },
    "zh": {
        "path": "下面是城市之间的交通线路。从每个城市只能前往另一个城市，而且只能按所写的方向前往。\n\n",
        "link": "从{start}只能乘{transit}前往{end}。",
        "hop": "从{start}乘{transit}到{end}。",
        "path_question": "\n\n请写出从{start}到{end}的路线，每段线路一行，形式如下，不要写别的内容：\n"
        "<Route>\n从城市乘交通工具到城市。\n从城市乘交通工具到城市。\n</Route>",
        "tom": "下面是一个关于一所房子里的人和物品的故事，按事情发生的先后排列。与某件物品同在一个房间的人看得到它放在"
        "哪里；"
        "不在那个房间的人仍认为它在自己最后一次看到的地方，从未看到过的人则不知道。\n\n",
        "first": "起初，{person}在{room}，{thing}放在{home}的{container}上。",
        "walk": "{person}去了{room}。",
        "put": "{person}把{thing}放到了{home}的{container}上。",
        "belief": "- {person}：{room}；{thing}：{home}，{container}；认为：{believed}",
        "place": "{home}，{container}",
        "unknown": "不知道",
        "tom_question": "\n\n请跟踪{person}和{thing}。先为起初的情况写一行，再按先后为{person}去某处或有人放置"
        "{thing}的每件事各写"
        "一行：此后两者在哪里，以及{person}认为{thing}在哪里。形式必须如下，不要写别的内容：\n"
        "- {person}：房间；{thing}：房间，家具；认为：房间，家具\n如果{person}还没有看到过{thing}，这一行以“认为：不知"
        "道”结尾。",
        "countdown": "下面是一些题目，每题有四个数和一个目标数。\n\n",
        "puzzle": "题目{key}：四个数是{numbers}，目标数是{target}。",
        "countdown_question": "\n\n请解题目{key}：用加减乘除（+、-、*、/）得到目标数，四个数各用一次，中间结果为正整数"
        "。"
        "回复以三个等式结尾，每个等式两个数，结果可以继续使用，形式如下：\n"
        "<Solution>\na + b = c\nc - d = e\ne * f = g\n</Solution>",
    },
}
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
