"""Opens a system by its name."""

from fathom.extend.methods import AGENT, WHOLE, Method
from fathom.run.systems.agent import Agent
from fathom.run.systems.retrieval import Retrieval
from fathom.run.systems.system import System


def open_system(method: Method) -> System | None:
    """The system of that name; None for ``whole``, which is none.

    Args:
        method: One of ``fathom.extend.methods.SYSTEMS`` with its options.
    """
    if method == WHOLE:
        return None
    if method.name == AGENT:
        return Agent(method.whole("steps"), method.whole("top"), method.whole("passage"), method.whole("read"))
    return Retrieval(method.whole("top"), method.whole("passage"))
