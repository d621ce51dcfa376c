"""Lists what is available, as records: suites, tasks, metrics, boards, models, their settings, and data sources."""

from collections.abc import Callable

from fathom.suites.registry import boards, suites, tasks
from fathom.tokens.length import format_length
from fathom.types import FathomError, Json

Records = list[dict[str, Json]]


def catalogue(kind: str | None = None) -> Records:
    """List what is available (command ``fathom list``).

    Args:
        kind: ``suites``, ``tasks``, ``metrics``, ``boards``, ``models``, ``settings`` or
            ``data``; None for these kinds themselves.

    Returns:
        One record each, all with the same keys.

    Raises:
        FathomError: The kind is unknown.
    """
    if kind is None:
        return [
            {"kind": name, "entries": len(KINDS[name]()), "content": content, "command": f"fathom list {name}"}
            for name, content in CONTENTS.items()
        ]
    if kind not in KINDS:
        raise FathomError(f"cannot list {kind!r}: choose {', '.join(KINDS)}")
    return KINDS[kind]()


def _suites() -> Records:
    return [
        {
            "suite": suite.name,
            "tasks": list(suite.tasks),
            "lengths": [format_length(length) for length in suite.lengths],
            "items": suite.items,
            "description": suite.description,
            "source": suite.source,
        }
        for suite in suites().values()
    ]


def _tasks() -> Records:
    return [
        {
            "task": task.name,
            "metric": task.metric,
            "languages": list(task.languages),
            "position": "swept" if task.positioned else "",
            "needs": task.needs or "any text",
            "shortcut": task.shortcut,
            "description": task.description,
            "source": task.source,
        }
        for task in tasks().values()
    ]


def _metrics() -> Records:
    from fathom.score.registry import metrics

    return [
        {"metric": name, "rules": sorted(metric.rules), "description": metric.description}
        for name, metric in metrics().items()
    ]


def _boards() -> Records:
    return [
        {
            "board": board.id,
            "title": board.title,
            "suites": list(board.suites),
            "tasks": list(board.tasks),
            "rule": board.rule,
            "description": board.about,
            "citation": board.citation,
        }
        for board in boards().values()
    ]


def _models() -> Records:
    from fathom.models.baselines import baselines
    from fathom.models.prices import price_table

    offline: Records = [
        {"model": name, "window": None, "input": 0.0, "output": 0.0, "checked": "", "description": description}
        for name, description in baselines().items()
    ]
    return offline + [
        {
            "model": name,
            "window": price.window,
            "input": price.input,
            "output": price.output,
            "checked": price.checked,
            "description": price.source,
        }
        for name, price in price_table().items()
    ]


def _settings() -> Records:
    from dataclasses import asdict

    from fathom.models.model_settings import model_table

    return [{"model": name, **asdict(entry)} for name, entry in model_table().items()]


def _data() -> Records:
    from fathom.documents.sources.registry import sources

    return [
        {
            "data": source.name,
            "dataset": source.dataset,
            "revision": source.revision,
            "files": [file.path for file in source.files],
            "licence": source.licence,
            "roles": _roles_of(source.name),
            "description": source.description,
            "citation": source.citation,
        }
        for source in sources().values()
    ]


def _roles_of(name: str) -> list[str]:
    """The roles of a data source, in the suites that use it."""
    played = (role for suite in suites().values() for role, names in suite.sources.items() if name in names)
    return list(dict.fromkeys(played))


KINDS: dict[str, Callable[[], Records]] = {
    "suites": _suites,
    "tasks": _tasks,
    "metrics": _metrics,
    "boards": _boards,
    "models": _models,
    "settings": _settings,
    "data": _data,
}
CONTENTS = {
    "suites": "what `fathom build` and `fathom run` take: tasks, lengths, items",
    "tasks": "tasks of the suites: how they are scored, what they need",
    "metrics": "scorers, for tasks and `fathom score`",
    "boards": "leaderboards of `fathom board`",
    "models": "models with known prices and windows, and the offline baselines",
    "settings": "how models are asked: output caps, temperatures, reasoning",
    "data": "data sets that suites are built from, with licences",
}
