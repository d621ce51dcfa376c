"""The quality study: experts rate accepted samples in five dimensions (LongBench Pro, section 5.7).

Every dimension is rated at three levels. Its mean has an interval over samples, and raters' agreement is Fleiss' kappa
and Krippendorff's alpha (``fathom.stats.agreement``). Raters do not know who made a sample. Ratings count once a sample
has all that it needs: then nobody rates it any more, and so nobody is led by the results.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias, assert_never, get_args

import numpy as np

from fathom.stats.agreement import Agreement, agreement
from fathom.stats.intervals import Floats, Interval, clusters_of, generator, interval_of, mean_interval, resampled_means
from fathom.studio.annotators import annotators, background
from fathom.studio.comments import COMMENT, read_comment
from fathom.studio.histories import Histories, History, Origin
from fathom.studio.log import NoteEntry
from fathom.studio.quotas import Design, cell_of, draw, progress
from fathom.studio.records import from_json
from fathom.studio.states import DONE, RATING
from fathom.studio.statistics import agreements, audits, efforts, pairs_of, with_interval
from fathom.studio.store import Store
from fathom.studio.types import Sample
from fathom.tokens.length import format_length
from fathom.types.choices import StudioTable

Dimension: TypeAlias = Literal["task", "requirement", "authenticity", "difficulty", "correctness"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
TITLES: Mapping[Dimension, str] = {
    "task": "fits the task",
    "requirement": "needs the context that it says it needs",
    "authenticity": "could be a real question",
    "difficulty": "is hard enough",
    "correctness": "has a right and complete answer",
}
Level: TypeAlias = Literal["no", "partly", "yes"]
LEVELS: Mapping[Level, float] = {"no": 0.0, "partly": 0.5, "yes": 1.0}
ORIGINS: tuple[Origin, ...] = get_args(Origin)
ALL: Literal["all"] = "all"
"""All dimensions, or samples of all origins."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's rating of one sample: a level for each dimension."""

    task: Level
    requirement: Level
    authenticity: Level
    difficulty: Level
    correctness: Level

    @property
    def values(self) -> tuple[float, ...]:
        """The levels as numbers, in the order of ``DIMENSIONS``."""
        return tuple(LEVELS[getattr(self, dimension)] for dimension in DIMENSIONS)


@dataclass(frozen=True, slots=True)
class Quality:
    """Ratings of samples of one origin in one dimension.

    Attributes:
        origin: Who made the samples; ``all`` for everybody.
        dimension: The dimension; ``all`` for the mean of all.
        mean: Mean level in [0, 1], each sample's ratings averaged first.
        interval: Its interval over samples.
        kappa: Fleiss' kappa; None with one rating of each sample.
        alpha: Krippendorff's alpha for ordered levels; None with one rating of each sample.
    """

    origin: Origin | Literal["all"]
    dimension: Dimension | Literal["all"]
    samples: int
    mean: float
    interval: Interval
    kappa: Agreement | None
    alpha: Agreement | None

    def as_record(self) -> dict[str, object]:
        """The ratings for a table."""
        record: dict[str, object] = {"origin": self.origin, "dimension": self.dimension, "samples": self.samples}
        record |= with_interval("mean", self.mean, self.interval)
        for name, measure in (("kappa", self.kappa), ("alpha", self.alpha)):
            record |= with_interval(name, *((measure.value, measure.interval) if measure else (None, None)))
        return record


@dataclass(frozen=True, slots=True)
class Making:
    """How long people worked on samples until they were accepted.

    Attributes:
        origin: Who made them.
        bucket: Their length bucket in tokens.
        minutes: Mean of people's time.
        interval: Its interval over samples; None for a single one.
    """

    origin: Origin
    bucket: int
    samples: int
    minutes: float
    interval: Interval | None

    def as_record(self) -> dict[str, object]:
        """The time for a table."""
        record: dict[str, object] = {"origin": self.origin, "length": format_length(self.bucket)}
        return record | {"samples": self.samples} | with_interval("minutes", self.minutes, self.interval)


@dataclass(frozen=True, slots=True)
class Study:
    """The quality study.

    Attributes:
        drawn: Number of samples in it.
        complete: Samples with all ratings.
        begun: Other samples with a rating.
        minutes: Mean time of a rating; None without one.
        qualities: What complete samples are like, by origin and dimension.
    """

    drawn: int
    complete: int
    begun: int
    raters: int
    minutes: float | None
    qualities: tuple[Quality, ...]


def read_rating(body: str) -> Rating:
    """The rating in the body of a note.

    Raises:
        RecordError: It is not a rating.
    """
    return from_json(Rating, body, "rating")


def rated_samples(histories: Iterable[History], design: Design, studio: str) -> tuple[History, ...]:
    """The samples of the study, drawn evenly over first origins, tasks, languages and lengths.

    Args:
        design: Says how many are rated.
        studio: Hash of the studio's first entry.
    """

    def cell(history: History) -> tuple[Hashable, ...]:
        return history.accepted_origin, *cell_of(history)

    return tuple(draw(histories, design.rate_one_in, f"{design.seed}|{studio}|rating", cell))


def ratings_of(drawn: Iterable[History], notes: Iterable[NoteEntry], design: Design) -> dict[str, dict[str, Rating]]:
    """Ratings by sample and rater: the first ones of its present content, as many as a sample needs.

    Args:
        drawn: The samples of the study.
        notes: Notes that hold ratings, in the order of the log.
        design: Says how many a sample needs.
    """
    edited = {sample.id: sample.edited for sample in drawn}
    ratings: defaultdict[str, dict[str, Rating]] = defaultdict(dict)
    for note in notes:
        if note.note.subject not in edited or note.number < edited[note.note.subject]:
            continue
        own = ratings[note.note.subject]
        if note.person not in own and len(own) < design.raters:
            own[note.person] = read_rating(note.note.body)
    return ratings


def to_rate(
    drawn: Iterable[History], ratings: Mapping[str, Mapping[str, Rating]], design: Design, person: str
) -> list[str]:
    """Ids of the samples that somebody can rate now, the longest accepted first: nobody rates what they worked on.

    Args:
        drawn: The samples of the study.
        ratings: Ratings by sample and rater.
        design: Says how many ratings a sample needs.
    """
    return [
        sample.id
        for sample in drawn
        if sample.state in DONE
        and person not in sample.workers
        and person not in ratings.get(sample.id, {})
        and len(ratings.get(sample.id, {})) < design.raters
    ]


def without_origin(sample: Sample) -> Sample:
    """A sample without what shows who made it and what others said of it."""
    people = replace(sample, author="", writers=(), first_verdicts=(), reviews=(), rulings=())
    return replace(people, candidates=(), predictions=(), difficulty="")


def study(drawn: Sequence[History], notes: Sequence[NoteEntry], design: Design) -> Study:
    """What the study says so far.

    Args:
        notes: Notes that hold ratings, in the order of the log.
        design: Says how many ratings a sample needs.
    """
    ratings = ratings_of(drawn, notes, design)
    complete = [sample for sample in drawn if len(ratings.get(sample.id, {})) == design.raters]
    begun = sum(sample.id in ratings for sample in drawn) - len(complete)
    groups = {ALL: complete} | {
        origin: [sample for sample in complete if sample.origin == origin] for origin in ORIGINS
    }
    all_qualities: list[Quality] = []
    for origin, members in groups.items():
        if members:
            values = [[rating.values for rating in ratings[member.id].values()] for member in members]
            all_qualities += qualities(origin, np.array(values), design.seed)
    seconds = [note.note.seconds for note in notes]
    minutes = sum(seconds) / len(seconds) / 60 if seconds else None
    return Study(len(drawn), len(complete), begun, len({note.person for note in notes}), minutes, tuple(all_qualities))


def qualities(origin: Origin | Literal["all"], values: Floats, seed: int = 0) -> list[Quality]:
    """What ratings say about each dimension, and about all together.

    Args:
        origin: Who made the samples.
        values: Levels as numbers, samples x ratings x dimensions.
    """
    samples, raters, _ = values.shape
    tables: dict[Dimension | Literal["all"], Floats] = {
        dimension: values[:, :, at] for at, dimension in enumerate(DIMENSIONS)
    }
    tables[ALL] = values.transpose(0, 2, 1).reshape(-1, raters)
    all_qualities = []
    for dimension, table in tables.items():
        rng = generator(seed, f"{origin} {dimension}")
        groups = np.repeat(np.arange(samples), len(table) // samples)
        mean, interval = mean_interval(table.reshape(samples, -1).mean(axis=1), seed)
        kappa = alpha = None
        if raters > 1:
            kappa = agreement(table, rng, measure="kappa", groups=groups)
            alpha = agreement(table, rng, scale="ordinal", groups=groups)
        all_qualities.append(Quality(origin, dimension, samples, mean, interval, kappa, alpha))
    return all_qualities


def makings(histories: Iterable[History], design: Design) -> list[Making]:
    """How long people worked on accepted samples, by origin and length.

    Args:
        design: Has the seed of the intervals.
    """
    minutes: defaultdict[tuple[Origin, int], list[float]] = defaultdict(list)
    for history in histories:
        if history.accepted_origin is not None:
            minutes[history.accepted_origin, history.bucket].append(history.seconds / 60)
    all_makings = []
    for (origin, bucket), each in sorted(minutes.items(), key=lambda item: (ORIGINS.index(item[0][0]), item[0][1])):
        mean = math.fsum(each) / len(each)
        draws = resampled_means(clusters_of(np.array(each)[:, None]), design.seed, prior=0.0)[:, 0]
        all_makings.append(Making(origin, bucket, len(each), mean, interval_of(draws, mean) if len(each) > 1 else None))
    return all_makings


def table(store: Store, topic: StudioTable, design: Design) -> list[dict[str, object]]:
    """A table of a studio.

    Args:
        topic: Time and cost by ``state``, ``sample`` or ``task``; time by ``origin`` and length; the ``quota`` of each
            task, language and length; the ``agreement`` of reviewers; the ``audit`` sample; the ``quality`` study; what
            each ``annotator`` did; their ``background``; each ``comment``.

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
        case "annotator":
            return [asdict(figures) for figures in annotators(all_, store.staff().people)]
        case "background":
            return background(store)
        case "comment":
            notes = store.notes(topic=COMMENT)
            return [
                {"sample": note.note.subject, "at": note.at, "by": note.person, "comment": read_comment(note).text}
                for note in notes
            ]
    assert_never(topic)
