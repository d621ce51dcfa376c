"""Guidelines and prompts of tasks, one TOML file each: the 25 tasks of LongBench Pro, and own ones.

A file in a user's folder replaces the task of the same name, or adds a task::

    name = "Clause finder"
    metric = "F1_Score"
    requirement = "partial"
    guideline = "For people and models that write samples: what makes a good one."

    [en]
    task = "What the model has to do."
    output = "What an element of the answer is."
    example = ["Clause 3", "Clause 8"]

Texts are ours; names, metrics and requirements are those of the paper (``fathom.benchmarks.pro.secondary_tasks``).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, TypeAlias

from annotated_types import MaxLen, MinLen

from fathom.benchmarks.pro.secondary_tasks import BY_NAME, SECONDARY, Metric, SecondaryTask
from fathom.plugins.names import unknown
from fathom.storage.foreign import content_of
from fathom.storage.validation import Text, Words, from_toml
from fathom.studio.types import Requirement, Sample
from fathom.types import FathomError

MOST = 100_000
"""Maximum bytes of a file."""
MOST_TEXT = 20_000
"""Maximum characters of one text."""
FOLDER = "tasks"
"""Of the own tasks in the folder of a store."""
MARKERS: Mapping[str, str] = {"en": "[Answer]", "zh": "[答案]"}
_Text: TypeAlias = Annotated[Words, MaxLen(MOST_TEXT)]
_NO_REASONING = {
    "en": "Write {marker} on a line of its own, then the answer and nothing else.",
    "zh": "请先单独输出一行{marker}，然后只输出答案，不要输出其他内容。",
}
_REASONING = {
    "en": "Reason step by step first. Then write {marker} on a line of its own, then the answer and nothing else.",
    "zh": "请先逐步思考并写出推理过程，然后单独输出一行{marker}，之后只输出答案，不要输出其他内容。",
}
_HEADINGS = {"en": ("Question", "Answer format", "Example of the format"), "zh": ("问题", "答案格式", "格式示例")}


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of a standard prompt in one language.

    Attributes:
        task: What the model has to do.
        output: What the elements of the answer are and how they are written.
        example: Elements that show the form.
    """

    task: _Text
    output: _Text
    example: Annotated[tuple[Annotated[Text, MinLen(1)], ...], MinLen(1)]


@dataclass(frozen=True, slots=True)
class _TaskFile:
    """A file with a task."""

    name: _Text
    metric: Metric
    requirement: Requirement
    guideline: _Text
    en: Wording | None = None
    zh: Wording | None = None


@dataclass(frozen=True, slots=True)
class StudioTask:
    """A task for which samples are made.

    Attributes:
        name: Its name, for the 25 tasks as in LongBench Pro's records.
        metric: How answers are scored.
        requirement: The usual requirement of its samples.
        guideline: For people and models that write samples.
        wordings: Parts of its prompts by language.
        source: The file that it is from, for messages.
        changed: Whether that is a file of the user.
    """

    name: str
    metric: Metric
    requirement: Requirement
    guideline: str
    wordings: Mapping[str, Wording]
    source: str = ""
    changed: bool = False

    @property
    def published(self) -> SecondaryTask | None:
        """The task of LongBench Pro; None for an own task."""
        return BY_NAME.get(self.name)

    @property
    def is_summary(self) -> bool:
        """Whether components are whole reference summaries instead of lines of one answer."""
        return self.metric == "Summary"


def studio_tasks(folder: Path | None = None) -> Mapping[str, StudioTask]:
    """All tasks by name: those of LongBench Pro in its order, then own ones.

    Args:
        folder: The user's folder with ``.toml`` files; a missing one is empty.

    Raises:
        FathomError: A file cannot be read or is incomplete, or two of them have the same name.
    """
    tasks = {task.name: task for task in packaged_tasks().values()}
    own: dict[str, StudioTask] = {}
    if folder is not None and folder.is_dir():
        for path in sorted(folder.glob("*.toml")):
            task = replace(read_task(content_of(path), str(path)), changed=True)
            if task.name in own:
                raise FathomError(f"{path}: {own[task.name].source} is the task {task.name!r} too; rename one of them")
            own[task.name] = task
    tasks |= own
    return {name: tasks[name] for name in (*BY_NAME, *sorted(tasks))}


def tasks_folder(place: str) -> Path | None:
    """The folder with the task files of a store; None for a PostgreSQL database."""
    return Path(place) / FOLDER if "://" not in place else None


def packaged_tasks() -> Mapping[str, StudioTask]:
    """The tasks of LongBench Pro by the names of their files."""
    return {name: read_task(content, name) for name, content in sorted(_packaged().items())}


def write_tasks(folder: Path, names: Sequence[str] = ()) -> tuple[Path, ...]:
    """Write files of LongBench Pro's tasks into a folder, to be edited; a file that is there is left as it is.

    Args:
        folder: The folder, which is made if necessary.
        names: Names or codes of the tasks; all by default.

    Returns:
        The files that are new.

    Raises:
        FathomError: A name is unknown, or the folder cannot be written.
    """
    files_of = {task.name: file for file, task in packaged_tasks().items()}
    named = {task.name: task for task in packaged_tasks().values()}
    wanted = [files_of[find_task(named, name).name] for name in names] or sorted(files_of.values())
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in dict.fromkeys(wanted):
            with suppress(FileExistsError), (folder / file).open("xb") as stream:
                stream.write(_packaged()[file])
                written.append(folder / file)
    except OSError as error:
        raise FathomError(f"{folder}: cannot be written: {error.strerror or error}; give another `tasks`") from error
    return tuple(written)


def _packaged() -> Mapping[str, bytes]:
    return {file.name: file.read_bytes() for file in files(__name__).iterdir() if file.name.endswith(".toml")}


def find_task(tasks: Mapping[str, StudioTask], name: str) -> StudioTask:
    """A task by its name, or by the code of a task of LongBench Pro (``T3.2``).

    Raises:
        FathomError: There is none; the message names similar ones.
    """
    named = {task.code.lower(): task.name for task in SECONDARY}.get(name.strip().lower(), name)
    if named not in tasks:
        raise unknown("task of the studio", name, tasks, see="fathom studio tasks")
    return tasks[named]


def read_task(content: bytes, source: str) -> StudioTask:
    """A task from a file.

    Args:
        source: Its name for messages.

    Raises:
        FathomError: It is not TOML, or a field is missing or invalid.
    """
    if len(content) > MOST:
        raise FathomError(f"{source}: {len(content):,} bytes; at most {MOST:,} are read")
    file = from_toml(_TaskFile, content, source)
    wordings = {language: wording for language in MARKERS if (wording := getattr(file, language))}
    if not wordings:
        raise FathomError(f"{source}: no prompts; add a table [en] or [zh] with task, output and example")
    if (published := BY_NAME.get(file.name)) and published.metric != file.metric:
        raise FathomError(
            f"{source}: metric is {file.metric!r}; {file.name} has {published.metric}, or give the task a new name"
        )
    return StudioTask(file.name, file.metric, file.requirement, file.guideline, wordings, source)


def standard_prompts(task: StudioTask, language: str, question: str) -> tuple[str, str]:
    """The two standard prompts of a question: one that asks for reasoning first, and one for the answer at once.

    Args:
        language: ``en`` or ``zh``.

    Raises:
        FathomError: The task has no prompts in the language.
    """
    wording = wording_of(task, language)
    asked, form, example = _HEADINGS[language]
    thinking, answering = (
        "\n\n".join(
            (
                wording.task,
                f"{asked}:\n{question.strip()}",
                f"{form}:\n{wording.output}\n{way}",
                f"{example}:\n{MARKERS[language]}\n" + "\n".join(wording.example),
            )
        )
        for way in standard_instructions(language)
    )
    return thinking, answering


def standard_instructions(language: str) -> tuple[str, str]:
    """What the two standard prompts say on the way to an answer, the only part in which they differ.

    Args:
        language: ``en`` or ``zh``.
    """
    thinking, answering = (way[language].format(marker=MARKERS[language]) for way in (_REASONING, _NO_REASONING))
    return thinking, answering


def proposed_prompts(tasks: Mapping[str, StudioTask], sample: Sample) -> tuple[str, str]:
    """The standard prompts of a sample; empty ones if its task is unknown or has no wording in its language."""
    task = tasks.get(sample.task)
    if task is None or sample.language not in task.wordings:
        return "", ""
    return standard_prompts(task, sample.language, sample.content.question)


def guideline_of(tasks: Mapping[str, StudioTask], name: str) -> str:
    """The guideline of a task; "" if it is unknown."""
    return tasks[name].guideline if name in tasks else ""


def wording_of(task: StudioTask, language: str) -> Wording:
    """The wording of a task in a language.

    Raises:
        FathomError: It has none.
    """
    if language not in task.wordings:
        raise FathomError(
            f"{task.source}: {task.name} has no prompts in language {language!r}; add a table [{language}] to its file"
        )
    return task.wordings[language]
