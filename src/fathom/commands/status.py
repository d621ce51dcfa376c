"""Show where a run stands; also while it runs, from another terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json
from fathom.options.declare import arg, command

if TYPE_CHECKING:
    from fathom.run import RunStatus


class StatusOptions(Json):
    folder: Annotated[Path | str, arg("A run folder.")]


@command(StatusOptions)
def status(options: StatusOptions) -> "RunStatus":
    """Show where a run stands; also while it runs, from another terminal."""
    from fathom.run import status

    return status(Path(options.folder))


def main(line: StatusOptions) -> None:
    """Print a table, or JSON."""
    from fathom.terminal import print_json, print_records

    found = status.body(line)
    if line.as_json:
        return print_json(found)
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items() if count) or "none yet"
    rate = f"{found.rate:.2f} replies a second" if found.rate else ""
    eta = f"about {found.eta / 60:.0f} minutes left" if found.eta else ""
    lines = {
        "model": found.model,
        "suite": found.suite,
        "replies": f"{found.finished:,} of {found.total:,} ({counts})",
        "tokens": f"{found.tokens_in:,} in, {found.tokens_out:,} out",
        "cost": _money(found),
        "working": f"{found.alive} processes" + "".join(f", {words}" for words in (rate, eta) if words),
    }
    print_records([{"": key, " ": value} for key, value in lines.items()])


def _money(found: "RunStatus") -> str:
    if found.cost is None:
        return "unknown"
    unknown = f", and {found.unpriced:,} replies of unknown price" if found.unpriced else ""
    return f"${found.cost:,.4f}{unknown}"
