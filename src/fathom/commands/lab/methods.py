"""List the methods, with their options and sources."""

from typing import TYPE_CHECKING, Any

from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.extend.methods import Parameter


class MethodsOptions(Json):
    pass


@command(MethodsOptions)
def lab_methods(options: MethodsOptions) -> list[dict[str, Any]]:
    """List the methods, with their options and sources."""
    from fathom.extend.methods import CACHES, METHODS, SYSTEMS

    return [
        {
            "method": kind.name,
            "changes": kind.family,
            "description": kind.description,
            "options": [_with_default(parameter) for parameter in kind.parameters],
            "source": kind.source,
        }
        for kind in (*METHODS.values(), *CACHES.values(), *SYSTEMS.values())
    ]


def _with_default(parameter: "Parameter") -> str:
    """An option with its default, as users write it."""
    default = parameter.default
    if default is None:
        return parameter.name
    text = str(default).lower() if isinstance(default, bool | str) else f"{default:.9g}"
    return f"{parameter.name}={text}"


def main(line: MethodsOptions) -> None:
    """Print a table, or JSON."""
    from fathom.options.terminal import print_json, print_records

    methods = lab_methods.body(line)
    if line.as_json:
        return print_json(methods)
    print_records(
        [{name: record[name] for name in ("method", "changes", "description", "options")} for record in methods],
        denominator="none",
    )
