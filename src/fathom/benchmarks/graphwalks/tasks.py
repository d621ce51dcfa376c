"""Graphwalks: breadth-first searches and parents in a graph that is a list of edges.

``graphwalks_bfs`` and ``graphwalks_parents`` are generated for any length. As in the one published graph that is
known, every node has four edges, listed together, whose ends may be equal and may be the node itself. Unlike there,
names and the order of nodes are drawn for every graph (there the names are the same in all graphs), and the nodes in
question with all edges that decide the answer are in every length: a longer graph only adds nodes that cannot be
reached in a search, or whose edges do not lead to the node in question. Their edges may lead to those of the search.

A node that is met again is not at a second depth: the depth of a node is that at which it is first reached, as the card
says since 2026-02-27. The parents of a node do not include itself.

``graphwalks_published_bfs`` and ``graphwalks_published_parents`` are the published records, whose prompts are whole.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from fathom.benchmarks.graphwalks.records import ANSWERS, NAME, PROBLEMS, SOURCE_NAME
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks.growing import Growing, Piece, different, enough, growing, no_documents
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Draw, Ending, Plan, Task

METRIC = "graphwalks/card_2026_latest"
DEGREE = 4
DEPTHS = (1, 2, 3)
PARENTS = (0, 1, 2, 3, 4, 6, 8)
EDGE = 10
"""Fewest tokens of an edge."""
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")


def node(rng: Random) -> str:
    """A name of ten hexadecimal digits."""
    return f"{rng.getrandbits(40):010x}"


def answer(nodes: Sequence[str]) -> str:
    """The line that names some nodes."""
    return f"Final Answer: [{', '.join(nodes)}]"


def searched(rng: Random, names: Sequence[str], depth: int) -> tuple[dict[str, list[str]], list[str]]:
    """The part of a graph that decides a search.

    Args:
        names: Names of nodes; the first one is where the search begins.
        depth: Depth of the nodes in question.

    Returns:
        The edges of all nodes up to that depth, and the nodes first reached at it.
    """
    reached, layer, unused = [names[0]], [names[0]], iter(names[1:])
    edges: dict[str, list[str]] = {}
    for _ in range(depth):
        following: list[str] = []
        for source in layer:
            # About half of the ends are new: the others have been met before or are other ends of this layer.
            edges[source] = [
                new if rng.random() < 0.6 and (new := next(unused)) else rng.choice([*reached, *following])
                for _ in range(DEGREE)
            ]
            known = {*reached, *following}
            following += [end for end in dict.fromkeys(edges[source]) if end not in known]
        reached, layer = [*reached, *following], following
    return edges, layer


def plan(draw: Draw, kind: str) -> Plan:
    """A graph whose answer is the same at every length."""
    rng, longest = draw.rng, draw.resources.lengths[-1]
    sources = enough(longest, DEGREE * EDGE)
    names = different(partial(node, rng), sources + DEGREE ** (DEPTHS[-1] + 1))
    if kind == "bfs":
        depth = rng.choice(DEPTHS[: 2 if draw.resources.shortest < 4096 else None])
        edges, gold = searched(rng, names, depth)
        steps, avoided = {"steps": depth}, 0
    else:
        gold, edges = names[1 : 1 + rng.choice(PARENTS)], {}
        steps, depth, avoided = {}, 0, 1  # no other edge leads to the first node
    core = list(edges) if kind == "bfs" else names[: len(gold) + DEGREE]
    known = [*dict.fromkeys([*core, *(end for ends in edges.values() for end in ends), *gold])]
    others = [name for name in names if name not in set(known)][:sources]
    drawn = [*known, *others]
    for number, name in enumerate(drawn):
        # The ends are nodes that are in all graphs that have this one, so that every length has what shorter ones have.
        ends = drawn[avoided : max(len(known), number + 1)]
        if name not in edges:
            edges[name] = rng.choices(ends, k=DEGREE)
    if kind == "parents":
        for name in gold:
            for place in rng.sample(range(DEGREE), rng.choice((1, 1, 1, 2))):
                edges[name][place] = names[0]
    places = {name: rng.random() for name in drawn}
    lines = {name: _lines(name, edges[name], places[name]) for name in drawn}
    question = draw.resources.texts_of(PROMPTS)
    ending = Ending(
        question[kind].format(node=names[0], depth=depth) + question["end"],
        (answer(gold),),
        chance=0.0,
        facets={"nodes": len(gold), **steps},
        inputs={GOLD: json.dumps(list(gold))},
        asked=question[kind].format(node=names[0], depth=depth).strip(),
    )
    context = Growing(
        question["intro"],
        [piece for name in known for piece in lines[name]],
        [piece for name in others for piece in lines[name]],
        lambda pieces: ending,
    )
    return growing(context, draw.resources.counter)


def _lines(source: str, ends: Sequence[str], place: float) -> list[Piece]:
    """The edges of a node, which stand together."""
    return [Piece((f"{source} -> {end}",), place + number * 1e-12) for number, end in enumerate(ends)]


def _published(kind: str) -> Published:
    def ending(record: Document) -> Ending:
        nodes = record.meta[ANSWERS]
        assert isinstance(nodes, list)
        return Ending(
            "",
            (answer(list(map(str, nodes))),),
            chance=0.0,
            facets={"nodes": len(nodes)},
            inputs={GOLD: json.dumps(nodes)},
        )

    return Published(f"{NAME}_{kind}", ending, records=PROBLEMS[kind])


def _task(kind: str, what: str) -> Task:
    return Task(
        name=f"graphwalks_{kind}",
        title=f"Graphwalks, {what}",
        plan=partial(plan, kind=kind),
        score=partial(strict_score, metric=METRIC),
        metric="node_f1",
        max_output_tokens=4096,
        description=f"{what} in a graph that is a list of edges",
        source="Graphwalks, OpenAI 2025",
        pool=no_documents,
        gold=(),
        noise=(),
        official=METRIC,
        published=f"graphwalks_published_{kind}",
    )


def _published_task(kind: str, what: str) -> Task:
    pool, asked = asking(_published(kind))
    return Task(
        name=f"graphwalks_published_{kind}",
        title=f"Graphwalks, {what} (published)",
        plan=asked,
        score=partial(strict_score, metric=METRIC),
        metric="node_f1",
        max_output_tokens=16384,
        description=f"the published records of it: {what}",
        source="Graphwalks, OpenAI 2025",
        languages=("en",),
        pool=pool,
        data=(SOURCE_NAME,),
        needs="records of Graphwalks",
        gold=("record",),
        noise=(),
        official=METRIC,
    )


_KINDS = {"bfs": "breadth-first searches", "parents": "parents of a node"}
TASKS = (
    *(_task(kind, what) for kind, what in _KINDS.items()),
    *(_published_task(kind, what) for kind, what in _KINDS.items()),
)
