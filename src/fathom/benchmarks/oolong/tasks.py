"""Oolong: counts, most frequent items and comparisons over a long stream of short messages.

Bertsch et al. (2025), arXiv:2511.02817. Every message has a date, a user and a subject that it does not name.
``oolong_counting`` asks about the subjects of two users, ``oolong_timeline`` about one subject on six dates,
``oolong_user`` about one subject among six users: how many messages there are of a kind, which kind has most, or
whether one is more common than another. Messages of the users or dates in question are in every length, so that the
answer stays; a longer prompt has more messages of other users or dates. Who counts messages without their subjects
learns nothing: their numbers are the same whatever the answer is.

The score is the released one: a number that is off by d scores 0.75^d. Chance is the share of one answer of those that
are possible, for numbers what the best constant scores.
"""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from random import Random
from statistics import fmean
from typing import NamedTuple

from fathom.benchmarks.oolong.messages import OPENINGS, SUBJECTS
from fathom.benchmarks.oolong.scoring import COMPARISONS, DATE, DECAY, NUMERIC
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks.growing import Growing, Piece, different, enough, growing, no_documents
from fathom.types import Draw, Ending, Plan, Task

METRIC = "oolong/oolong_synth"
MESSAGE = 20
"""Fewest tokens of a message."""
OPTIONS, USERS = 6, 60
MOST = 12
"""Largest number that is asked for."""
FIRST_DAY, DAYS = date(2024, 1, 1), 360
RELATIONS = (f"{COMPARISONS[0]} than", f"{COMPARISONS[1]} than", f"{COMPARISONS[2]} as")
BEST_CONSTANT = max(
    fmean(DECAY ** abs(guess - number) for number in range(1, MOST + 1)) for guess in range(1, MOST + 1)
)
"""What the same number as every answer scores on average."""
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")
GROUPS: Mapping[str, tuple[str, str]] = {
    "counting": ("of_subject", "subjects of the messages of two users"),
    "timeline": ("of_date", "messages about a subject on six dates"),
    "user": ("of_user", "messages about a subject of six users"),
}
KINDS = ("number", "most", "compare")


class Message(NamedTuple):
    """What a message is: its day, its user and its subject."""

    day: str
    user: str
    subject: str


class Query(NamedTuple):
    """What is asked of some options, how often each occurs, and the answer."""

    kind: str
    options: tuple[str, ...]
    counts: tuple[int, ...]
    answer: str | int


def asked_of(rng: Random, options: list[str], kind: str) -> Query:
    """A question about some options, of which the first, or the first two, are asked about.

    Args:
        kind: ``number``, ``most`` or ``compare``.
    """
    options = rng.sample(options, len(options))
    counts = rng.sample(range(len(options)), len(options))
    answer: str | int
    if kind == "number":
        counts = [rng.randint(1, MOST), *(rng.randrange(len(options)) for _ in options[1:])]
        answer = counts[0]
    elif kind == "most":
        answer = options[counts.index(max(counts))]
    else:
        answer = rng.choice(RELATIONS)
        high, low = max(counts[:2]), min(counts[:2])
        counts[:2] = {RELATIONS[0]: [high, low], RELATIONS[1]: [low, high]}.get(answer, [high, high])
    return Query(kind, tuple(options), tuple(counts), answer)


def filled(rng: Random, query: Query) -> tuple[int, ...]:
    """Counts of the options that add up to the same whatever the answer is, so that it needs the subjects."""
    if query.kind == "most":
        return query.counts
    fixed = query.counts[: 1 if query.kind == "number" else 2]
    more = Counter(rng.choices(range(len(fixed), len(query.options)), k=2 * MOST - sum(fixed)))
    return (*fixed, *(more[number] for number in range(len(fixed), len(query.options))))


def plan(draw: Draw, group: str) -> Plan:
    """Messages of the users or dates in question among others."""
    rng, language, prompts = draw.rng, draw.resources.language, draw.resources.texts_of(PROMPTS)
    kind, subjects = rng.choice(KINDS), list(SUBJECTS[language])
    users = different(lambda: str(rng.randint(10_000, 99_999)), USERS)
    days = [str(FIRST_DAY + timedelta(number)) for number in range(DAYS)]
    subject = rng.choice(subjects)
    near_days = days[(start := rng.randrange(DAYS - OPTIONS)) : start + OPTIONS]
    near_users = users[: 2 if group == "counting" else OPTIONS]
    options = {"counting": subjects, "timeline": near_days, "user": near_users}[group]
    asked = asked_of(rng, options, kind)
    far_users = users if group == "timeline" else users[len(near_users) :]
    far_days = [day for day in days if day not in near_days] if group == "timeline" else days

    def of(option: str) -> Message:
        if group == "counting":
            return Message(rng.choice(days), rng.choice(near_users), option)
        if group == "timeline":
            return Message(option, rng.choice(users), subject)
        return Message(rng.choice(days), option, subject)

    counts = filled(rng, asked) if group == "counting" else asked.counts
    core = [of(option) for option, count in zip(asked.options, counts, strict=True) for _ in range(count)]
    if group != "counting":
        # With messages about other subjects, every option has as many whatever the answer is.
        others = [other for other in subjects if other != subject]
        in_all = [MOST if asked.kind == "number" and not place else OPTIONS - 1 for place in range(OPTIONS)]
        for option, count, total in zip(asked.options, counts, in_all, strict=True):
            core += [of(option)._replace(subject=rng.choice(others)) for _ in range(total - count)]

    def piece(message: Message) -> Piece:
        text = rng.choice(SUBJECTS[language][message.subject])
        opening = rng.choice(OPENINGS[language])
        return Piece(
            (prompts["message"].format(day=message.day, user=message.user, opening=opening, text=text),), rng.random()
        )

    more = [
        piece(Message(rng.choice(far_days), rng.choice(far_users), rng.choice(subjects)))
        for _ in range(enough(draw.resources.lengths[-1], MESSAGE))
    ]
    named = near_users if group == "counting" else options
    ending = _ending(asked, group, subject, prompts["and"].join(named), prompts)
    intro = prompts["intro"].format(subjects=prompts["and"].join(subjects))
    return growing(Growing(intro, list(map(piece, core)), more, lambda pieces: ending), draw.resources.counter)


def _ending(asked: Query, group: str, subject: str, named: str, prompts: Mapping[str, str]) -> Ending:
    number = list(GROUPS).index(group)
    option, other = (prompts[GROUPS[group][0]].format(name, subject=subject) for name in asked.options[:2])
    question = prompts[group].format(asked=named) + prompts[asked.kind].format(
        option=option,
        other=other,
        which=prompts["which"].split(",")[number],
        among="" if group == "counting" else prompts["among"].format(subject=subject),
        form=prompts["form"].split(",")[number],
    )
    kind, gold = "ANSWER_TYPE.OTHER", f"[{asked.answer!r}]"
    if asked.kind == "number":
        kind = NUMERIC
    elif asked.kind == "most" and group == "timeline":
        day = date.fromisoformat(str(asked.answer))
        kind, gold = DATE, f"[datetime.date({day.year}, {day.month}, {day.day})]"
    chance = {"number": BEST_CONSTANT, "most": 1 / OPTIONS, "compare": 1 / len(RELATIONS)}[asked.kind]
    return Ending(
        f"\n\n{question}",
        (f"Answer: {asked.answer}",),
        chance=chance,
        facets={"asked": asked.kind},
        inputs={GOLD: json.dumps(gold, ensure_ascii=False), "answer_type": kind},
        asked=question,
    )


def _task(group: str, description: str) -> Task:
    return Task(
        name=f"oolong_{group}",
        title=f"Oolong, {group}",
        plan=partial(plan, group=group),
        score=partial(strict_score, metric=METRIC),
        metric="nearness",
        max_output_tokens=512,
        description=description,
        source="Oolong, section 3",
        pool=no_documents,
        gold=(),
        noise=(),
        official=METRIC,
    )


TASKS = tuple(_task(group, f"counts, the most frequent and comparisons: {what}") for group, (_, what) in GROUPS.items())
