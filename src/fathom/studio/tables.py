"""The numbers of the pages about progress and quality, as tables."""

from typing import Literal, TypeAlias, assert_never, get_args

from fathom.studio.histories import Histories
from fathom.studio.quality import makings, rated_samples, study
from fathom.studio.quotas import Design, progress
from fathom.studio.states import RATING
from fathom.studio.statistics import agreements, audits, efforts, pairs_of
from fathom.studio.store import Store

Topic: TypeAlias = Literal["state", "sample", "task", "origin", "quota", "agreement", "audit", "quality"]
TOPICS: tuple[Topic, ...] = get_args(Topic)


def table(store: Store, topic: Topic, design: Design) -> list[dict[str, object]]:
    """A table of a studio.

    Args:
        store: The store.
        topic: Time and cost by ``state``, ``sample`` or ``task``; time by ``origin`` and length; the ``quota`` of each
            task, language and length; the ``agreement`` of reviewers; the ``audit`` sample; the ``quality`` study.
        design: The design.

    Raises:
        BrokenLogError: The log is damaged.
    """
    histories = Histories(store)
    all_ = histories.all().values()
    match topic:
        case "state" | "sample" | "task":
            return [effort.as_record() for effort in efforts(all_, topic, design.hourly)]
        case "origin":
            return [making.as_record() for making in makings(all_, design)]
        case "quota":
            return [cell.as_record() for cell in progress(design, all_)]
        case "agreement":
            return [agreement.as_record() for agreement in agreements(pairs_of(all_), design.seed)]
        case "audit":
            return audits(all_, design, histories.start).as_records()
        case "quality":
            result = study(rated_samples(all_, design, histories.start), store.notes(topic=RATING), design)
            return [quality.as_record() for quality in result.qualities]
    assert_never(topic)
