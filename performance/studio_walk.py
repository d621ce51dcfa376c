"""Walks of two to five people through the studio in Chromium, and what a sample takes them.

Everybody edits every draft; experts return a quarter once; a reviewer finds a problem in a third. In each new situation
everybody tries at once, from their own browser, every form that their page does not offer; all must be refused. Clicks,
keys and words of pages are counted; minutes follow from them by a model (``tests/studio_walkers.py``), without reading
the documents and thinking about them.

    python performance/studio_walk.py                             # two to five people, ten samples each
    python performance/studio_walk.py --policy none               # without a policy
    python performance/studio_walk.py --database postgresql --pictures FOLDER
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from chromium import browsers
from fathom.studio.auditing import audit
from postgres import postgres
from studio_group import GROUPS, SAMPLES
from studio_walkers import walking

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from fathom.studio.types import PolicyName, Role


PEOPLE: dict[str, tuple[PolicyName, dict[str, Role]]] = {
    **{name: (name, roles) for name, roles in GROUPS.items()},
    "five": ("four", {**GROUPS["four"], "cy": "annotator"}),
}
"""The policy and the people of each walk; five are enough without a policy too."""


def walk(chromium: Browser, place: str, people: str, arguments: argparse.Namespace) -> None:
    """One walk, and its figures."""
    policy, roles = PEOPLE[people]
    policy = "" if arguments.policy == "none" else policy
    pictures = arguments.pictures and arguments.pictures / people
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    with walking(chromium, place, policy, roles, arguments.samples, pictures) as group:
        work = group.measured()
        assert group.witness is not None
        problems = [*group.witness.faults, *audit(group.store).problems]
        print(
            f"{people} people, policy {policy or 'none'}, {arguments.database}: {work.accepted} of {arguments.samples}"
        )
        if work.accepted:
            print(f"  a sample: {work.clicks:.1f} clicks, {work.keys:.0f} keys, {work.words:.0f} words,", end=" ")
            print(f"{work.minutes:.2f} minutes")
        print(f"  {group.wrong_turns} wrong turns refused, {len(group.witness.checked)} kinds of pages, ", end="")
        print(
            f"{group.witness.requests} requests, problems: {problems or 'none'}; {dict(group.store.counts())}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", nargs="*", choices=list(PEOPLE), default=list(PEOPLE))
    parser.add_argument("--policy", choices=("own", "none"), default="own")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    with contextmanager(browsers)() as chromium:
        for people in arguments.people:
            with postgres() if arguments.database == "postgresql" else tempfile.TemporaryDirectory() as place:
                walk(chromium, place, people, arguments)


if __name__ == "__main__":
    main()
