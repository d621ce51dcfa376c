"""The facts of the generated world agree with each other, before a word is written."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fathom.documents.world.cluster import cluster_of
from fathom.documents.world.facts import Cluster, Firm, Person

LANGUAGES = ("en", "zh")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_facts_agree(language: str) -> None:
    for number in range(250):
        cluster = cluster_of(5, language, number)
        for person in cluster.people:
            check_person(person, cluster)
        for firm in cluster.firms:
            check_firm(firm, cluster)
        check_places(cluster)
        check_happenings(cluster)


def check_person(person: Person, cluster: Cluster) -> None:
    assert 50 <= person.age <= 91
    assert 12 <= person.apprentice_age <= 16
    assert person.born.year + 22 < person.married.year < person.died.year
    assert 1 <= person.rank <= person.siblings
    for post in person.posts:
        assert person.apprenticed < post.start < post.end <= person.died.year
        employer = next((firm for firm in cluster.firms if firm.name == post.employer), None)
        assert employer is None or employer.founded.year < post.start < post.end < employer.closed
    assert all(before.end <= after.start for before, after in pairwise(person.posts))
    years = [work.year for work in person.works] + [award.year for award in person.awards]
    years += [journey.year for journey in person.journeys]
    assert all(person.born.year + 20 < year <= person.died.year for year in years)


def check_firm(firm: Firm, cluster: Cluster) -> None:
    founder = next(person for person in cluster.people if person.name == firm.founder)
    assert founder.born.year + 24 <= firm.founded.year <= founder.born.year + 40
    assert firm.founded < firm.fire
    assert firm.fire.year < firm.closed
    assert all(firm.founded.year < figure.year < firm.closed for figure in firm.revenue)
    assert all(before.year < after.year for before, after in pairwise(firm.revenue))
    assert all(before.value < after.value for before, after in pairwise(firm.hands))
    assert firm.heads[0].name == firm.founder
    assert firm.founder_left <= founder.died.year
    assert firm.heads[-1].end == firm.closed
    assert all(before.end == after.start for before, after in pairwise(firm.heads))


def check_places(cluster: Cluster) -> None:
    for place in cluster.places:
        assert all(before.year < after.year for before, after in pairwise(place.censuses))
        assert all(figure.value > 0 for figure in place.censuses)
        assert all(place.founded < mark.built for mark in place.landmarks)
        assert all(before.built < after.built for before, after in pairwise(place.landmarks))
        assert place.chief != place.name


def check_happenings(cluster: Cluster) -> None:
    living = {person.name: person for person in cluster.people}
    for event in cluster.events:
        assert event.start < event.end
        leader = living[event.leader]
        assert leader.born.year + 28 <= event.start.year < leader.died.year
        values = [share.value for share in event.shares]
        assert len(set(values)) == len(values)
    for ledger in cluster.ledgers:
        assert ledger.income == sum(entry.amount for entry in ledger.receipts)
        assert ledger.outlay == sum(entry.amount for entry in ledger.payments)
        assert ledger.closing == ledger.opening + ledger.income - ledger.outlay
        assert any(ledger.year == figure.year and ledger.income == figure.value for figure in ledger.firm.revenue)
        assert all(entry.day.year == ledger.year for entry in (*ledger.receipts, *ledger.payments))
        assert ledger.audited.year == ledger.year + 1
    for chronicle in cluster.chronicles:
        days = [step.day for step in chronicle.steps]
        assert all(before < after for before, after in pairwise(days))
        assert chronicle.cost == sum(step.spent for step in chronicle.steps)
        assert living[chronicle.master].died > days[-1]
