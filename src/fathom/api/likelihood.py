"""Questions about an order, answered by how likely a model finds the texts: ``likelihood``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.api.replies import plain_name

if TYPE_CHECKING:
    from fathom.run import Progress, RunSummary


def likelihood(
    suite: Path | str,
    model: str,
    out: Path | str | None = None,
    *,
    method: str = "orders",
    tell: Callable[[str], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> RunSummary:
    """Answer the questions of a suite that ask for an order by perplexity (command ``fathom likelihood``).

    Args:
        suite: A folder that ``build`` wrote.
        model: ``openai/NAME`` with the setting ``model_base_url``, or ``hf/PATH`` for a local Hugging Face model.
        out: Run folder; by default ``runs/SUITE/MODEL-METHOD``.
        method: ``orders`` or ``pairs``.
        tell: Told what is ahead before the first text.
        progress: Told the state after every reply.
        settings: Everything else that ``fathom.run.likelihood`` takes.

    Raises:
        FathomError: See ``fathom.run.likelihood``.
    """
    from fathom.run import likelihood
    from fathom.suitefile import open_suite

    folder = Path(suite)
    name = str(open_suite(folder).manifest["suite"])
    place = Path(out) if out is not None else Path("runs") / plain_name(name) / plain_name(f"{model}-{method}")
    return likelihood(folder, model, out=place, method=method, tell=tell, progress=progress, **settings)
