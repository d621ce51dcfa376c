"""The facts of the generated corpus: in causal order, told once, with near misses, before a word is written."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from fathom.world.corpus.district import KINDS, TOWNS, Draft, Event, district
from fathom.world.facts import BEFORE, BUILT
from fathom.world.names import grammar

DISTRICTS = 100


def drafts() -> Iterator[Draft]:
    return (draft for number in range(DISTRICTS) for draft in district(5, number))


@pytest.mark.slow
def test_no_effect_comes_before_its_cause() -> None:
    for number in range(DISTRICTS):
        days: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        for event in (event for draft in district(5, number) for event in draft.events):
            days[event.town, event.record.work][event.record.act] = event.day
        for told in days.values():
            for act, day in told.items():
                assert all(told[cause] < day for cause in BEFORE.get(act, ()) if cause in told)


@pytest.mark.slow
def test_each_act_of_a_work_is_told_in_one_article_alone() -> None:
    works: dict[tuple[int, int], set[int]] = defaultdict(set)
    for place, draft in enumerate(drafts()):
        for event in draft.events:
            works[event.town, event.record.work].add(place)
        keys = [(event.town, event.record.work, event.record.act) for event in draft.events]
        assert len(set(keys)) == len(keys)
    assert all(len(places) == 1 for places in works.values())


@pytest.mark.slow
def test_most_acts_have_two_near_misses_in_their_article_and_all_values_differ() -> None:
    siblings: Counter[bool] = Counter()
    for draft in drafts():
        by_act: dict[str, list[Event]] = defaultdict(list)
        for event in draft.events:
            by_act[event.record.act].append(event)
        for events in by_act.values():
            siblings[len(events) >= 3] += len(events)
            for slot in ("money", "count"):
                values = [event.record.values[slot] for event in events if slot in event.record.values]
                assert len(set(values)) == len(values)
    assert siblings[True] > 0.85 * siblings.total()


@pytest.mark.slow
def test_a_work_has_one_builder_and_a_firm_or_person_of_an_article_is_in_all_of_its_works() -> None:
    for draft in drafts():
        builders: dict[tuple[int, int], set[int]] = defaultdict(set)
        for event in draft.events:
            if event.record.act in BUILT:
                builders[event.town, event.record.work].add(event.record.values["firm"])
        assert all(len(firms) == 1 for firms in builders.values())
        if draft.kind in ("firm", "person"):
            works = {(event.town, event.record.work) for event in draft.events}
            with_subject = {
                (event.town, event.record.work)
                for event in draft.events
                if event.record.values.get(draft.kind) == draft.subject
            }
            assert works == with_subject


def test_a_district_has_every_kind_of_article_about_its_own_towns() -> None:
    for number in (0, 7):
        known = district(5, number)
        assert Counter(draft.kind for draft in known) == Counter(kind for kind, _, _ in KINDS)
        towns = {event.town for draft in known for event in draft.events}
        assert towns == set(range(number * TOWNS, (number + 1) * TOWNS))


def test_defects_materials_and_causes_fit_any_work_in_any_season() -> None:
    """A bridge has no roof and a weir no cellar, and papers of July tell of damage too."""
    english = grammar("en")
    words = " ".join(word for slot in ("defects", "materials", "causes") for word in english[slot])
    assert not re.findall("roof|cellar|wall|door|skylight|slate|pipe|frost|snow|ice|heat|drought", words)
