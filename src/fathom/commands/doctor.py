"""Check a model's server, or the installation."""

import json
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Json
from fathom.models.settings import Backoff, Reasoning, Sampling, Timeout
from fathom.options.declare import arg, command, fields_of, hidden
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.run.doctor import Diagnosis, Plan


class DoctorOptions(Sampling, Reasoning, Json, Asking):
    model: Annotated[
        str | None, arg("As for fathom run: openai/NAME, vllm/NAME, hf/PATH ...; the installation if left out.")
    ] = None
    _: KW_ONLY
    timeout: Timeout = 120.0
    backoff: Backoff = 1.0
    confirm: Annotated[
        Callable[["Plan"], bool] | None, hidden("Called with what will be sent, before the first prompt; False stops.")
    ] = None
    progress: Annotated[
        Callable[[int, int], None] | None, hidden("Called with (requests so far, the most that there will be).")
    ] = None


@command(DoctorOptions)
def doctor(options: DoctorOptions) -> "Diagnosis":
    """Check a model's server, or the installation.

    Sends small requests, then prompts of growing length with a code word at both ends and in the middle: at most 32k
    tokens, or up to --window. The exit code is 1 if a run would not work, otherwise 0, with warnings too.
    """
    from fathom.run.chosen import choose
    from fathom.run.doctor import check_installation, examine

    if options.model is None:
        return check_installation()
    return examine(
        choose(options.model, options, options),
        given=words_given(options),
        timeout=options.timeout,
        backoff=options.backoff,
        confirm=options.confirm,
        progress=options.progress,
    )


def words_given(options: DoctorOptions) -> dict[str, tuple[str, ...]]:
    """The values of the options for the model that were given, as words of a command line, without secrets."""
    from fathom.safety.secrets import hide_in_address, hide_secrets

    given, shared = options.record()["options"], options.of(Sampling, Reasoning)
    words: dict[str, tuple[str, ...]] = {}
    for field in fields_of(DoctorOptions):
        value = given.get(field.name)
        if field.name not in shared or field.name not in given:
            continue
        if isinstance(value, dict):
            hidden_there = hide_secrets(value).items()
            words[field.flag] = tuple(f"{name}={json.dumps(setting)}" for name, setting in hidden_there)
        elif field.name == "model_base_url":
            words[field.flag] = (hide_in_address(value) or "",)
        else:  # only a temperature that is left to the provider is None
            words[field.flag] = ("-1" if value is None else str(value),)
    return words


def main(line: DoctorOptions) -> int:
    """Print the checks, and what to run next."""
    from fathom.options.terminal import as_typed, confirmed, print_json, print_records, progress_bar, tell
    from fathom.printing import printable

    with progress_bar("checking", line.quiet) as bar:
        asked = line.but(confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet), progress=bar)
        diagnosis = doctor.body(asked)
    if line.as_json:
        print_json(diagnosis)
        return int(not diagnosis.healthy or bool(diagnosis.stopped))
    records = []
    for check in diagnosis.checks:
        records.append({"check": check.name, "state": check.state, "found": as_typed(check.found)})
        if check.consequence:
            records.append({"check": "", "state": "", "found": f"-> {as_typed(check.consequence)}"})
    print_records(records, denominator="none")
    if diagnosis.stopped:
        tell(diagnosis.stopped)
    print()
    print(_verdict(diagnosis))
    if diagnosis.command:
        print(f"  {printable(diagnosis.command)}")
    return int(not diagnosis.healthy or bool(diagnosis.stopped))


def _verdict(diagnosis: "Diagnosis") -> str:
    failed, warnings = diagnosis.count("failed"), diagnosis.count("warning")
    counts = f"{failed} failed, {several(warnings, 'warning')}"
    if not diagnosis.model:
        return f"{counts}."
    if not diagnosis.command:
        return f"{counts}. A run would not work." if failed else f"{counts}."
    return f"{counts}. {'A run works with' if failed else 'Start a run with'}:"
