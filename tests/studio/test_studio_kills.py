"""A server that is killed while eight people work: what it acknowledged is there, and the log verifies.

python tests/studio/test_studio_kills.py 100 sqlite        # as many kills, with a store in a folder
python tests/studio/test_studio_kills.py 100 postgresql    # with a PostgreSQL that this starts, or its URL
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from fathom.studio.auditing import audit
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import Person, Role
from fathom.studio.web.forms import FORMS
from loopback_studio import serving
from postgres import postgres
from studio_people import Acknowledged, work
from studio_stores import OPERATOR, fill, quick_hasher

TEAM: dict[str, Role] = {
    **{f"annotator{number}": "annotator" for number in range(4)},
    **{f"expert{number}": "expert" for number in range(3)},
    "administrator": "administrator",
}


def kill_often(place: str, kills: int, actions: int) -> tuple[int, int]:
    """Kills a server again and again; gives the numbers of acknowledged actions and of entries of the log.

    Args:
        actions: Each time after so many were acknowledged, in the middle of others.
    """
    seen = Acknowledged()
    with closing(Store(place)) as store:
        fill(store)
        people = People(store, hasher=quick_hasher())
        for name, role in TEAM.items():
            store.set_person(Person(name, role), OPERATOR)
        tokens = {name: people.make_token(name) for name in TEAM}
        for kill in range(kills):
            stop = threading.Event()
            with serving(place) as (address, process):
                workers = [
                    threading.Thread(
                        target=work,
                        args=(address, tokens[name], Person(name, role), store, stop, seen, 100 * kill + number),
                    )
                    for number, (name, role) in enumerate(TEAM.items())
                ]
                for worker in workers:
                    worker.start()
                goal = len(seen.done) + actions
                while len(seen.done) < goal and any(worker.is_alive() for worker in workers):
                    time.sleep(0.005)
                process.kill()
                process.wait()
                stop.set()
                for worker in workers:
                    worker.join()
            log = {(one.kind, one.subject, json.loads(one.body).get("version"), one.person) for one in store.entries()}
            lost = [one for one in seen.done if (FORMS[one[0]].__name__, *one[1:]) not in log]
            assert lost == []
            assert audit(store).problems == ()
        return len(seen.done), store.head().number


@pytest.mark.slow
@pytest.mark.long
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(place: str) -> None:
    acknowledged, entries = kill_often(place, 3, 20)
    assert 60 <= acknowledged < entries


if __name__ == "__main__":
    kills, kind = int(sys.argv[1]), sys.argv[2]
    with postgres() if kind == "postgresql" else tempfile.TemporaryDirectory() as made:
        place = kind if "://" in kind else made
        print("{:,} acknowledged actions, {:,} entries".format(*kill_often(place, kills, 40)))
