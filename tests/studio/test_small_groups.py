"""Two, three and four people bring ten samples to acceptance through their pages, and every wrong turn is refused.

``python tests/studio/test_small_groups.py`` prints clicks for each sample, also without a policy.
"""

from __future__ import annotations

import tempfile
from contextlib import closing

import pytest

from fathom.studio.auditing import audit
from fathom.studio.store import Store
from fathom.studio.types import PolicyName
from studio_group import GROUPS, SAMPLES, group_of
from studio_stores import fill, usual_place

place = pytest.fixture(usual_place)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "policy"),
    [
        ("sqlite", "three"),
        *(pytest.param("sqlite", policy, marks=pytest.mark.long) for policy in GROUPS if policy != "three"),
        pytest.param("postgresql", "three", marks=pytest.mark.long),
    ],
    indirect=["place"],
)
def test_ten_samples_are_accepted_and_every_wrong_turn_is_refused(studio: Store, policy: PolicyName) -> None:
    group = group_of(studio, policy, GROUPS[policy])
    assert group.work() == SAMPLES
    assert group.wrong_turns > 100
    samples = list(studio.samples())
    assert all(sample.writers for sample in samples)
    assert {sample.round for sample in samples} == {1, 2}
    assert studio.stuck() == []
    assert audit(studio).problems == ()


@pytest.mark.slow
@pytest.mark.long
def test_three_people_with_the_policy_of_four_begin_another_round_where_nobody_can_decide(studio: Store) -> None:
    group = group_of(studio, "four", GROUPS["three"])
    assert group.work() == SAMPLES
    assert any(not sample.rulings or sample.rulings[-1].kind != "adjudication" for sample in studio.samples())


def main() -> None:
    for policy in ("", *GROUPS):
        for roles in GROUPS.values() if not policy else [GROUPS[policy]]:
            with tempfile.TemporaryDirectory() as folder, closing(Store(folder)) as store:
                fill(store)
                group = group_of(store, policy, roles)
                accepted = group.work()
                each = f"{sum(group.clicks.values()) / accepted:.1f} clicks each" if accepted else "no clicks each"
                print(f"{len(roles)} people, policy {policy or 'none'}: {accepted} accepted, {each}", end="")
                print(f", {group.wrong_turns} wrong turns refused, {dict(store.counts())}")


if __name__ == "__main__":
    main()
