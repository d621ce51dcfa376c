"""Metrics of a studio's server beyond those of its requests: samples and documents by state."""

from pathlib import Path
from typing import get_args

from fathom.server.metrics import Metrics
from fathom.studio.schema import documents, samples
from fathom.studio.store import Store
from fathom.studio.types import DocumentState, State


def watch_store(metrics: Metrics, store: Store, folders: dict[str, Path]) -> None:
    """Adds samples and documents by state, the connections to the store and the free space of folders."""
    tables = {"samples": (samples, get_args(State)), "documents": (documents, get_args(DocumentState))}

    def census() -> dict[str, dict[str, int]]:
        none = {name: dict.fromkeys(states, 0) for name, (_, states) in tables.items()}
        return {name: none[name] | store.by_state(table) for name, (table, _) in tables.items()}

    metrics.watch(store, folders, census)
