"""Checks of what scorers return, and of scorers on gold answers."""

from dataclasses import replace
from numbers import Real

from fathom.plugins import loading
from fathom.plugins.extras import MissingLibraryError
from fathom.storage.time_limits import within_time
from fathom.types import FathomError, Sample, Score, Task


def checked_score(score: object) -> Score:
    """What a scorer returned, with its value as a float.

    Raises:
        TypeError: It is not a ``Score``, or its value is neither a number nor None.
        ValueError: The value is not in [0, 1].
    """
    if not isinstance(score, Score):
        raise TypeError(f"it returned {type(score).__name__}, expected fathom.types.Score")
    if score.value is None:
        return score
    if not isinstance(score.value, Real):
        raise TypeError(f"the value is {score.value!r}, expected a number in [0, 1]")
    if not 0 <= score.value <= 1:
        raise ValueError(f"the value is {score.value}, expected a number in [0, 1]")
    return score if type(score.value) is float else replace(score, value=float(score.value))


def check_scorer(task: Task, sample: Sample) -> None:
    """Check that a task's scorer can score the gold answer of a sample.

    Raises:
        FathomError: The scorer raises an exception, or gives something other than a number in [0, 1]; a task that
            judges score may give None.
    """
    gold = "\n".join(sample.targets if task.lines else sample.targets[:1])
    try:
        with within_time(len(gold)):
            value = checked_score(task.score(gold, sample)).value
    except MissingLibraryError:  # it can be installed before the replies are scored
        return
    except Exception as error:
        where = f" ({place})" if (place := loading.place_of(error)) else ""
        raise FathomError(
            f"{task.name}: its scorer fails on the gold answer of sample {sample.id}: {type(error).__name__}: "
            f"{error}{where}. No reply can be scored like this; correct {task.name}.score and build again"
        ) from None
    if value is None and not task.rubric:
        raise FathomError(
            f"{task.name}: its scorer gives no score for the gold answer of sample {sample.id}, expected a number in "
            f"[0, 1]. No reply can be scored like this; correct {task.name}.score and build again"
        )
