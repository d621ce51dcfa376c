"""The texts of some samples of a run: question, gold answer and reply."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.browse.marks import segments, task_of
from fathom.browse.replies import find_suite
from fathom.runfile.manifest import read_manifest
from fathom.runfile.store import replies
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Sample


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one sample.

    Attributes:
        question: The question, "" if it is not known.
        gold: The gold answers.
        reply: The first reply to it.
    """

    question: str
    gold: str
    reply: str


def texts_of(folder: Path, samples: Collection[str], suites: Sequence[Path] = ()) -> dict[str, Texts]:
    """The texts of some samples of a run, by id.

    Args:
        samples: Ids of samples; those that the run has no reply to are left out.
        suites: Built suites, one of which may be that of the run; its prompts have questions that runs do not store.

    Raises:
        FathomError: The folder holds no run.
    """
    stored = {reply.sample: reply for reply in replies(folder) if reply.sample in samples and reply.epoch == 1}
    silent = {sample for sample, reply in stored.items() if not reply.asked}
    asked = _questions(folder, silent, suites) if silent else {}
    return {
        sample: Texts(reply.asked or asked.get(sample, ""), " | ".join(reply.targets), reply.reply.text)
        for sample, reply in stored.items()
    }


def _questions(folder: Path, samples: Collection[str], suites: Sequence[Path]) -> dict[str, str]:
    """The questions in the prompts of a suite; none if it is not found."""
    try:
        suite = find_suite(folder, read_manifest(folder), [open_suite(Path(path)) for path in suites])
    except FathomError:
        return {}
    return {sample.id: _question(sample) for sample in suite.samples(only=samples) if sample.id in samples}


def _question(sample: Sample) -> str:
    """The last part of a prompt that is the question."""
    parts = [segment.part for segment in segments(sample, task_of(sample.task)) if segment.kind == "question"]
    return next((part.strip() for part in reversed(parts) if isinstance(part, str) and part.strip()), "")
