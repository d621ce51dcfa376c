"""Three people in Chromium bring samples to acceptance, and every wrong turn that all try at once is refused.

``python performance/studio_walk.py`` walks with two, three and four people, to ten samples each.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chromium import browsers
from fathom.studio.auditing import audit
from studio_group import GROUPS
from studio_walkers import walking

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]
chromium = pytest.fixture(scope="module")(browsers)


@pytest.mark.timeout(600)
def test_three_people_in_browsers_bring_two_samples_to_acceptance(chromium: Browser, tmp_path: Path) -> None:
    with walking(chromium, str(tmp_path / "store"), "three", GROUPS["three"], 2, None) as group:
        work = group.measured()
        assert group.witness is not None
        assert group.witness.faults == [], "\n".join(group.witness.faults)
        assert work.accepted == 2
        assert group.wrong_turns > 200
        outcomes = {ruling.outcome for sample in group.store.samples() for ruling in sample.rulings}
        assert outcomes == {"return", "pass", "accept"}, "one was returned, and on one an expert decided"
        assert group.store.stuck() == []
        assert audit(group.store).problems == ()
        assert 8 < work.clicks < 40
        assert 0 < work.keys < work.words
