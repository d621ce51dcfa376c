"""List the tasks of a studio, and write their files to edit guidelines and prompts."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.studio.shared import STORE, Store, TasksFolder, libraries, opened
from fathom.options.declare import Options, command, opt, unset
from fathom.options.values import Names
from fathom.types import FathomError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.studio.tasks import StudioTask


class TasksOptions(Options):
    store: Store = STORE
    _: KW_ONLY
    write: Annotated[
        Names,
        opt("Write the files of these tasks, to edit them: names or codes such as T3.2, or all.", metavar="TASK,..."),
    ] = unset
    tasks: TasksFolder = unset


@command(TasksOptions)
def studio_tasks(options: TasksOptions) -> "Mapping[str, StudioTask]":
    """List the tasks of a studio by name, and write their files to edit guidelines and prompts.

    Files that are there are left as they are.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.tasks import write_tasks
        from fathom.studio.work import tasks_of
    if options.write is not None:
        folder = _folder(options)
        if options.tasks is None:
            with opened(options.store):
                pass
        write_tasks(folder, () if options.write == ("all",) else options.write)
    return tasks_of(options.store, options.tasks)


def _folder(options: TasksOptions) -> Path:
    from fathom.studio.tasks import tasks_folder

    folder = options.tasks or tasks_folder(options.store)
    if folder is None:
        raise FathomError(
            "`write`: a PostgreSQL database has no folder; name one with `tasks`, also for serve and draft"
        )
    return folder


def main(line: TasksOptions) -> None:
    """Print the tasks, and which of them are from files of the user."""
    from fathom.options.terminal import tell

    for task in studio_tasks.body(line).values():
        code = f"{task.published.code} " if task.published and not task.name.startswith(task.published.code) else ""
        changed = f"  {task.source}" if task.changed else ""
        print(f"{code}{task.name}  {task.metric}, {task.requirement}, {' and '.join(task.wordings)}{changed}")
    if line.write is not None:
        tell(f"the files are in {_folder(line)}; edit them, and restart the server")
