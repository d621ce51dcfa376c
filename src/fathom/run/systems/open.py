"""Opens a system by its name."""

from fathom.extend.methods import WHOLE, Method
from fathom.run.systems.retrieval import Retrieval
from fathom.run.systems.system import System


def open_system(method: Method) -> System | None:
    """The system of that name; None for ``whole``, which is none.

    Args:
        method: One of ``fathom.extend.methods.SYSTEMS`` with its options.
    """
    if method == WHOLE:
        return None
    return Retrieval(method.whole("top"), method.whole("passage"))
