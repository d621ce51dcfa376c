"""Show what exists: suites, tasks, metrics, boards, models, settings, data sets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from fathom.commands.shared import Json
from fathom.options.declare import arg, command

if TYPE_CHECKING:
    from fathom.catalogue import Records

LONGEST = 30
"""Entries of a list that a table shows."""
_SHOWN = {
    *("suite", "tasks", "lengths", "task", "metric", "needs", "rules", "model", "window", "input", "output", "data"),
    *("shortcut", "dataset", "licence", "roles", "description", "board", "title", "suites"),
    *("kind", "entries", "content"),
}
"""Fields of records that a table shows."""


Kind: TypeAlias = Literal["suites", "tasks", "metrics", "boards", "models", "settings", "data"]


class ListOptions(Json):
    kind: Annotated[Kind | None, arg(f"One of {', '.join(get_args(Kind))}; none lists these kinds.")] = None


@command(ListOptions)
def catalogue(options: ListOptions) -> "Records":
    """Show what exists: suites, tasks, metrics, boards, models, their settings, and the data sets of suites."""
    from fathom.catalogue import catalogue

    return catalogue(options.kind)


def main(line: ListOptions) -> None:
    """Print a table, or JSON."""
    from fathom.options.terminal import print_json, print_records, tell

    records: list[dict[str, Any]] = catalogue.body(line)
    if line.as_json:
        print_json(records)
    elif line.kind == "settings":
        print_records([_settings(record) for record in records], denominator="none")
        tell("output caps and temperatures are those without/with thinking; --json shows all settings")
    else:
        shown = [{name: _short(value) for name, value in record.items() if name in _SHOWN} for record in records]
        print_records(shown, denominator="none")


def _short(value: Any) -> Any:
    """A value for a table: of a list too long for it the two ends, and how many there are."""
    if not isinstance(value, list) or len(value) <= LONGEST:
        return value
    return f"{value[0]} ... {value[-1]} ({len(value)} in all)"


def _settings(record: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one model in few columns, so that its name stays whole in a narrow terminal."""
    pairs = {name: (record[name], record[f"{name}_thinking"]) for name in ("output", "temperature")}
    return {
        "model": record["model"],
        "kind": record["kind"],
        "cut to": record["truncation"],
        **{name: "/".join("-" if number is None else str(number) for number in pair) for name, pair in pairs.items()},
    }
