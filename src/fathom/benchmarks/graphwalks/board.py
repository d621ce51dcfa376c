"""The board of Graphwalks, of published scores alone: those are of all graphs up to a length, measured ones of one."""

from fathom.types.boards import Board, Category, Part

_KINDS = {"bfs": "Searches", "parents": "Parents"}

BOARDS = (
    Board(
        id="graphwalks",
        title="Graphwalks",
        suites=(),
        about="Breadth-first searches and parents of a node in a graph that is a list of edges. 128k is all graphs of "
        "up to 128k tokens, 256k and 1M are one length each.",
        rule="mean of searches and parents up to 128k; longer ones are shown and do not count",
        categories=tuple(
            Category(kind, title, (Part((f"graphwalks_published_{kind}",)),)) for kind, title in _KINDS.items()
        ),
        lengths=(131072, 262144, 1048576),
        counted={f"graphwalks_published_{kind}": (131072,) for kind in _KINDS},
        extras={
            f"{kind}_beyond": (f"{title} beyond 128k", "the graphs of 256k to 1M tokens together", True)
            for kind, title in _KINDS.items()
        },
        licence="MIT",
        citation="OpenAI (2025), GraphWalks, huggingface.co/datasets/openai/graphwalks",
        url="https://huggingface.co/datasets/openai/graphwalks",
        order=16,
    ),
)
