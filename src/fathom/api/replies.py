"""Replies of models, and what judges say of them: ``run``, ``likelihood``, ``judge`` and ``status``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.commands.values import folder_name

if TYPE_CHECKING:
    from fathom.run import Progress, RunStatus, RunSummary


def check_judge(model: str, model_base_url: str | None = None) -> None:
    """Make sure that a judge can be asked, without asking it; see ``fathom.run.check_judge``."""
    from fathom.run import check_judge

    check_judge(model, model_base_url)


def status(folder: Path | str) -> RunStatus:
    """Where a run stands, from any process (command ``fathom status``).

    Raises:
        FathomError: The folder holds no run.
    """
    from fathom.run import status

    return status(Path(folder))


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
    place = Path(out) if out is not None else Path("runs") / folder_name(name) / folder_name(f"{model}-{method}")
    return likelihood(folder, model, out=place, method=method, tell=tell, progress=progress, **settings)
