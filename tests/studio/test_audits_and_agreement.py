"""Shares of audited samples that are right, and the agreement of blind reviewers."""

import numpy as np
import pytest

from fathom.stats.agreement import agreement
from fathom.stats.intervals import generator
from fathom.studio.quotas import Design
from fathom.studio.statistics import agreements, audits
from studio_histories import audited, history, pair

EVERY = Design(audit_one_in=1)


def test_shares_are_of_decided_audits_of_drawn_samples() -> None:
    results = [audited()] * 7 + [audited("answer"), audited("attributes", "answer"), audited("answer", open=True)]
    samples = [history(f"s{at}", accepted=at + 1, state="audited", audit=one) for at, one in enumerate(results)]
    samples.append(history("waits", accepted=20))
    samples.append(history("gone", accepted=21, state="rejected"))
    found = audits(samples, EVERY, "")
    assert (found.drawn, found.decided, found.open, found.waiting, found.lost) == (12, 9, 1, ("waits",), 1)
    assert {one.aspect: one.right for one in found.rights} == {"attributes": 8, "answers": 7, "both": 7}
    both = found.rights[2]
    assert both.share == pytest.approx(7 / 9)
    assert 0.4 < both.interval.low < 7 / 9 < both.interval.high < 0.98
    assert found.as_records()[1] | {"share": 0} == {
        "aspect": "answers", "right": 7, "share": 0, "share_low": pytest.approx(both.interval.low, abs=0.02),
        "share_high": pytest.approx(both.interval.high, abs=0.02), "drawn": 12, "decided": 9, "open": 1, "lost": 1,
        "beside": 0, "waiting": 1,
    }  # fmt: skip


def test_two_studios_with_one_seed_draw_others() -> None:
    samples = [history(f"s{at}", accepted=at + 1) for at in range(50)]
    drawn = [audits(samples, Design(), studio).waiting for studio in ("one studio", "another")]
    assert [len(one) for one in drawn] == [10, 10]
    assert drawn[0] != drawn[1]


def test_audits_of_samples_that_were_not_drawn_count_beside() -> None:
    samples = [history("a", accepted=1, state="audited", audit=audited("answer"))]
    found = audits(samples, Design(audit_one_in=0), "")
    assert (found.drawn, found.beside, found.rights) == (0, 1, ())
    assert found.as_records()[0]["share"] is None


def test_agreement_of_reviewers_by_hand() -> None:
    """Four answers with five components in all: one review and two marks differ."""
    pairs = (
        pair(("right", "right"), ("right", "right")),
        pair(("wrong", "wrong")),
        pair(("right", "wrong")),
        pair(("unsure", "wrong")),
    )
    reviews, components = agreements(pairs)
    assert (reviews.pairs, reviews.differ, components.pairs, components.differ) == (4, 0.25, 5, 0.5)
    chance = (3 / 8) ** 2 + (5 / 8) ** 2
    assert reviews.kappa.value == pytest.approx((0.75 - chance) / (1 - chance))
    chance = 0.5**2 + 0.4**2 + 0.1**2
    assert components.kappa.value == pytest.approx((0.6 - chance) / (1 - chance))
    assert components.alpha.value == pytest.approx(1 - 9 / 10 * 0.4 / (1 - chance))
    assert components.as_record()["judged"] == "component"
    assert agreements(()) == ()


def test_components_of_an_answer_count_together() -> None:
    """Five times the same mark says no more than one."""
    rng = np.random.default_rng(0)
    marks = rng.integers(0, 2, 40)
    once = np.stack([marks, np.where(rng.random(40) < 0.2, 1 - marks, marks)], axis=1).astype(float)
    often, groups = np.repeat(once, 5, axis=0), np.repeat(np.arange(40), 5)
    one, many = agreement(once, generator(0, "")), agreement(often, generator(0, ""))
    together = agreement(often, generator(0, ""), groups=groups)

    def width(found: object) -> float:
        return found.interval.high - found.interval.low  # type: ignore[attr-defined, no-any-return]

    assert together.value == many.value
    assert width(together) == pytest.approx(width(one), rel=0.1)
    assert width(many) < 0.6 * width(together)
    alone = agreement(once, generator(0, ""), groups=np.arange(40))
    assert alone == one
