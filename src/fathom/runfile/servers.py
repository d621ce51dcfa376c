"""What the servers of a run stated of the checkpoint that they serve, as ``run.json`` keeps it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fathom.printing import printable
from fathom.runfile.manifest import observe_run, observed_in
from fathom.types import Json

_MOST = 20
"""Servers of a run that are kept."""


def note_server(folder: Path, facts: Mapping[str, Json]) -> None:
    """Record what a server states, unless the last one of the run stated the same.

    Args:
        facts: Facts by name; nothing is recorded if there are none.

    Raises:
        FathomError: ``run.json`` cannot be read or written.
    """
    kept = list(stated_in(observed_in(folder)))
    if facts and dict(facts) not in kept[-1:] and len(kept) < _MOST:
        observe_run(folder, {"servers": [*kept, dict(facts)]})


def stated_in(observed: Mapping[str, Any] | None) -> tuple[dict[str, Json], ...]:
    """The facts of each server, in the order in which the run met them.

    Args:
        observed: ``observed`` of ``run.json``.
    """
    kept = (observed or {}).get("servers")
    return tuple(dict(facts) for facts in kept if isinstance(facts, Mapping)) if isinstance(kept, list) else ()


def checkpoint(facts: Mapping[str, Any]) -> str:
    """What tells one checkpoint from others under the same name; "" if the server does not say."""
    return printable(" ".join(str(facts[name]) for name in ("model", "weights") if facts.get(name)))


def checkpoints(observed: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The different checkpoints of a run, as far as its servers said.

    Args:
        observed: ``observed`` of ``run.json``.
    """
    return tuple(dict.fromkeys(filter(None, map(checkpoint, stated_in(observed)))))


def server_words(facts: Mapping[str, Any]) -> str:
    """A server in one line, such as "vLLM 0.11.0 serves step-2000#1f3a9c02, 8,192 tokens"; "" without its name.

    Args:
        facts: What it states.
    """
    software = printable(" ".join(str(facts[name]) for name in ("software", "version") if facts.get(name)))
    served, window = checkpoint(facts), facts.get("window")
    words = f"{software or 'the server'} serves {served}" if served else software
    return f"{words}, {window:,} tokens" if words and isinstance(window, int) else words


def server_lines(observed: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The servers of a run in words.

    Args:
        observed: ``observed`` of ``run.json``.
    """
    return tuple(filter(None, map(server_words, stated_in(observed))))
