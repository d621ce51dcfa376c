"""The quality study: its results, and the page on which experts rate a sample without knowing who made it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from starlette.responses import Response

from fathom.studio.histories import History
from fathom.studio.lists import ListedSample
from fathom.studio.log import NoteEntry
from fathom.studio.quality import (
    ALL,
    DIMENSIONS,
    LEVELS,
    ORIGINS,
    TITLES,
    Rating,
    makings,
    rated_samples,
    ratings_of,
    study,
    to_rate,
    without_origin,
)
from fathom.studio.records import RecordError, as_record, canonical, from_record
from fathom.studio.states import DONE, RATING, RefusedError, may
from fathom.studio.tasks import guideline_of
from fathom.studio.types import Note, Sample
from fathom.studio.web.visit import Form, Visit
from fathom.tokens.length import format_length


def quality_page(visit: Visit) -> Response:
    """What the study says so far, and what somebody can rate."""
    design = visit.settings.design
    figures = visit.histories.cached("study", lambda all_: study(_drawn(visit, all_), _notes(visit), design))
    waiting = _waiting(visit)
    # Where all samples of a length are of one origin, the times would tell a rater the origin of what they rate.
    times = [] if waiting else visit.histories.cached("makings", lambda all_: makings(all_, design))
    return visit.page(
        "quality",
        design=design,
        study=figures,
        qualities={(quality.origin, quality.dimension): quality for quality in figures.qualities},
        origins=[
            origin for origin in (ALL, *ORIGINS) if any(quality.origin == origin for quality in figures.qualities)
        ],
        dimensions=(*DIMENSIONS, ALL),
        titles=TITLES,
        waiting=waiting,
        times={(time.origin, time.bucket): time for time in times},
        made_by=[origin for origin in ORIGINS if any(time.origin == origin for time in times)],
        lengths=sorted({time.bucket for time in times}),
        format_length=format_length,
    )


def rating_page(visit: Visit) -> Response:
    """A sample to rate, without who made it and what others said of it."""
    return _rating(visit, _ratable(visit), Form())


def rate(visit: Visit) -> Response:
    """Records a rating."""
    sample, form = _ratable(visit), visit.form
    if form.number("version") != sample.version:
        return _rating(visit, sample, form, "the sample was changed while you looked at it; look again", 409)
    try:
        rating = from_record(Rating, {dimension: form.text(dimension) for dimension in DIMENSIONS})
    except RecordError:
        return _rating(visit, sample, form, "choose no, partly or yes for every question", 400)
    visit.store.note(Note(RATING, sample.id, canonical(as_record(rating)), form.seconds), visit.me)
    waiting = _waiting(visit)
    return visit.to(f"/quality/{waiting[0]}" if waiting else "/quality", "rate")


def rates(visit: Visit, sample: Sample) -> bool:
    """Whether somebody can rate a sample; until they have, no page shows them who made it and what others said."""
    return sample.state in DONE and sample.id in _waiting(visit)


def without_authors(visit: Visit, listed: Sequence[ListedSample]) -> list[ListedSample]:
    """Samples of a list, without the names of those that somebody can rate."""
    waiting = set(_waiting(visit)) if any(sample.state in DONE for sample in listed) else set()
    return [replace(sample, author="") if sample.id in waiting else sample for sample in listed]


def _ratable(visit: Visit) -> Sample:
    sample = visit.store.sample(visit.path("id"))
    if not rates(visit, sample):
        raise RefusedError(
            f"sample {sample.id}: you cannot rate it; it is not in the quality study, it has all its ratings, or you "
            "have rated it or worked on it"
        )
    return sample


def _rating(visit: Visit, sample: Sample, form: Form, wrong: str = "", status: int = 200) -> Response:
    return visit.page(
        "rating",
        status,
        sample=without_origin(sample),
        documents=[visit.store.document(id) for id in sample.documents],
        titles=TITLES,
        levels=tuple(LEVELS),
        form=form,
        wrong=wrong,
        guideline=guideline_of(visit.settings.tasks, sample.task),
    )


def _waiting(visit: Visit) -> list[str]:
    """Ids of the samples that this person can rate."""
    if not may(visit.me.role, "expert"):
        return []
    design = visit.settings.design

    def compute(all_: Iterable[History]) -> tuple[tuple[History, ...], dict[str, dict[str, Rating]]]:
        drawn = _drawn(visit, all_)
        return drawn, ratings_of(drawn, _notes(visit), design)

    drawn, ratings = visit.histories.cached("ratings", compute)
    return to_rate(drawn, ratings, design, visit.me.name)


def _drawn(visit: Visit, histories: Iterable[History]) -> tuple[History, ...]:
    return rated_samples(histories, visit.settings.design, visit.histories.start)


def _notes(visit: Visit) -> list[NoteEntry]:
    return visit.store.notes(topic=RATING)
