"""Opens a system by its name."""

from collections.abc import Callable

from fathom.extend.methods import AGENT, WHOLE, Method
from fathom.plugins.extras import require
from fathom.run.systems.agent import Agent
from fathom.run.systems.embeddings import WORDS, by_embeddings
from fathom.run.systems.memory import WAYS, Memory
from fathom.run.systems.notes import Compaction, MapReduce
from fathom.run.systems.retrieval import Retrieval
from fathom.run.systems.system import System


def open_system(
    method: Method, sent: Callable[[int], int] = lambda notes: notes, embedding_base_url: str | None = None
) -> System | None:
    """The system of that name; None for ``whole``, which is none.

    Args:
        method: One of ``fathom.extend.methods.SYSTEMS`` with its options.
        sent: The output cap that is sent for notes of so many tokens: with room for reasoning.
        embedding_base_url: Address of the server of embeddings; None for OpenAI's.

    Raises:
        FathomError: An embedding model is not named as it should be, or its library or key is missing; an address is
            given without one; or Inspect is not installed, which an agent needs.
    """
    by = str(method["by"] or WORDS) if method.name == "retrieval" else WORDS
    embed = by_embeddings(by, embedding_base_url)
    if method == WHOLE:
        return None
    if method.name == AGENT:
        require("inspect_ai")  # it has the messages and the tools
        steps, top, passage, read = (method.whole(name) for name in ("steps", "top", "passage", "read"))
        return Agent(steps, top, passage, read, sent=sent)
    if method.name == "map-reduce":
        return MapReduce(_tokens(method, "chunk"), method.whole("notes"), sent)
    if method.name == "compaction":
        return Compaction(_tokens(method, "chunk"), method.whole("notes"), sent)
    if method.name == "memory":
        return Memory(WAYS[str(method["keep"])], _tokens(method, "context"), method.whole("notes"), sent)
    chosen = Retrieval(method.whole("top"), method.whole("passage"))
    return chosen if embed is None else Retrieval(chosen.top, chosen.passage, embed)


def _tokens(method: Method, name: str) -> int | None:
    return None if method[name] is None else method.whole(name)


def hints_of(system: System | None) -> tuple[str, ...]:
    """What there is to say of a system after a run, beside its replies."""
    hint = getattr(getattr(system, "rank", None), "hint", "")
    return (hint,) if hint else ()
