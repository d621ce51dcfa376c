"""Disaster and restore: is anything lost that was acknowledged before the last backup began?

Eight people submit bundles to a leaderboard, or act in a studio, through a server of its own. Backups are made
meanwhile. Then the server is killed with SIGKILL in the middle of writes and the store is destroyed: its folder is
deleted, or its database is dropped. The last backup is restored and served. Everything that was acknowledged before
that backup began must be there, byte by byte, and a studio's log must verify. What was acknowledged later is counted:
it is what continuous archiving would keep.

    python performance/restore_servers.py                    # 400 submissions, 20 seconds of a studio; both stores
    python performance/restore_servers.py --submissions 2000 --places sqlite

The script ends with 1 if something is lost.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

PEOPLE = 8
BUNDLE = 300_000


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal showed.

    Attributes:
        before: Acknowledged before the last backup began.
        after: Acknowledged later, until the disaster.
        lost: Of those from before, how many are not there.
        kept: Of those from later, how many are there: they came while the backup was made.
        backup: Seconds for the last backup.
        restore: Seconds for restoring it.
        size: Bytes of the backup.
    """

    before: int
    after: int
    lost: int
    kept: int
    backup: float
    restore: float
    size: int

    def __str__(self) -> str:
        return (
            f"acknowledged before the backup {self.before:,}, lost {self.lost:,}; later {self.after:,}, of which "
            f"{self.kept:,} are in it; backup {self.backup:.1f} s, "
            f"{self.size / 1e6:.1f} MB, restore {self.restore:.1f} s"
        )


def destroy(place: str) -> None:
    """Deletes the folder of a store, or drops its database, while connections are open."""
    if "://" not in place:
        shutil.rmtree(place)
        return
    import psycopg

    base, _, name = place.replace("postgresql+psycopg://", "postgresql://").rpartition("/")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name}".encode())


def rehearse_board(place: str, folder: Path, submissions: int) -> Rehearsed:
    """Load, backups, disaster and restore of a leaderboard.

    Args:
        place: Its store; a folder or a database that only this uses.
        folder: For other files.
        submissions: Until the disaster.
    """
    from fathom.board.serve.backup import KIND
    from fathom.board.serve.store import Store
    from fathom.board.serve.tokens import make_token
    from fathom.server.backup import backup, restore
    from loopback_board import get, post, serving

    with closing(Store(place)) as store:
        headers = {"Authorization": f"Bearer {make_token(store, 'ann', 'submit')}", "Content-Type": "application/zip"}
    acknowledged: list[str] = []
    stop = threading.Event()

    def submit(address: str, person: int) -> None:
        number = person
        while not stop.is_set():
            content = f"good model-{number} ".encode() + hashlib.shake_256(str(number).encode()).digest(BUNDLE)
            with suppress(httpx.HTTPError):
                answer = post(f"{address}api/submissions", content=content, headers=headers)
                if answer.status_code == 201:
                    acknowledged.append(answer.json()["id"])
                    number += PEOPLE

    out = folder / "board.backup"
    with serving(place, folder / "out", limits={"waiting": 10**6, "per_hour": 10**6}) as (address, process):
        with ThreadPoolExecutor(PEOPLE) as threads:
            try:
                people = [threads.submit(submit, address, person) for person in range(PEOPLE)]
                for part in (0.4, 0.8):  # the first is an earlier day's, which the second replaces
                    _until(lambda part=part: len(acknowledged) >= part * submissions)  # type: ignore[misc]
                    before = set(acknowledged)
                    began = time.monotonic()
                    held = backup(place, out, KIND, force=True)
                    took = time.monotonic() - began
                _until(lambda: len(acknowledged) >= submissions)
                process.kill()
            finally:
                stop.set()
        for one in people:
            one.result()
        process.wait()
    everything = set(acknowledged)
    destroy(place)
    shutil.rmtree(folder / "out")
    began = time.monotonic()
    restore(out, place, KIND)
    restored = time.monotonic() - began
    with closing(Store(place)) as store:
        there = {
            id for id in everything if hashlib.sha256(b"".join(store.content(id))).hexdigest() == id and store.find(id)
        }
    with serving(place, folder / "out") as (address, _):
        assert get(f"{address}health/ready").status_code == 200
        listed = get(f"{address}api/submissions", headers=headers).json()["submissions"]
        assert {one["state"] for one in listed} == {"pending"}
    later = everything - before
    return Rehearsed(len(before), len(later), len(before - there), len(later & there), took, restored, held.size)


def rehearse_studio(place: str, folder: Path, seconds: float) -> Rehearsed:
    """Load, backup, disaster and restore of a studio; what is counted are entries of its log.

    Args:
        place: Its store; a folder or a database that only this uses.
        folder: For other files.
        seconds: Of work before the backup, and half of that after it.
    """
    from fathom.server.backup import backup, restore
    from fathom.studio.auditing import KIND, audit
    from fathom.studio.people import People
    from fathom.studio.store import Store
    from fathom.studio.types import Person, Role
    from loopback_studio import serving
    from studio_people import Acknowledged, work
    from studio_stores import OPERATOR, fill, quick_hasher

    roles: tuple[Role, ...] = ("annotator", "annotator", "annotator", "annotator", "expert", "expert", "expert")
    team = {f"{role}{number}": role for number, role in enumerate(roles)} | {"ada": "administrator"}
    out, seen, stop = folder / "studio.backup", Acknowledged(), threading.Event()
    with closing(Store(place)) as store:
        fill(store)
        people = People(store, hasher=quick_hasher())
        for name, role in team.items():
            store.set_person(Person(name, role), OPERATOR)
        tokens = {name: people.make_token(name) for name in team}
        with serving(place) as (address, process):
            workers = [
                threading.Thread(
                    target=work, args=(address, tokens[name], Person(name, role), store, stop, seen, number)
                )
                for number, (name, role) in enumerate(team.items())
            ]
            for worker in workers:
                worker.start()
            time.sleep(seconds)
            before = store.head()
            began = time.monotonic()
            held = backup(place, out, KIND)
            took = time.monotonic() - began
            time.sleep(seconds / 2)
            stop.set()  # people act on the store directly too, which the disaster would stop with an exception
            process.kill()
            process.wait()
            for worker in workers:
                worker.join()
        last, hashes = store.head(), {one.number: one.hash for one in store.entries()}
    destroy(place)
    began = time.monotonic()
    restore(out, place, KIND)
    restored = time.monotonic() - began
    with closing(Store(place)) as store:
        assert audit(store).problems == ()
        there = {one.number for one in store.entries() if hashes[one.number] == one.hash}
    with serving(place) as (address, _):
        assert httpx.get(f"{address}/health/ready", trust_env=False).status_code == 200
    lost = sum(number not in there for number in range(1, before.number + 1))
    kept = sum(number > before.number for number in there)
    return Rehearsed(before.number, last.number - before.number, lost, kept, took, restored, held.size)


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.02)


def main() -> int:
    """Rehearses with both kinds of servers and stores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--places", nargs="+", default=("sqlite", "postgresql"))
    asked = parser.parse_args()
    from postgres import postgres

    lost = 0
    with tempfile.TemporaryDirectory() as top, postgres() as database:
        import psycopg

        for kind in asked.places:
            for what in ("board", "studio"):
                folder = Path(top) / f"{what}-{kind}"
                folder.mkdir()
                place = str(folder / "store")
                if kind == "postgresql":
                    with psycopg.connect(database, autocommit=True) as connection:
                        connection.execute(f"CREATE DATABASE {what}".encode())
                    base = database.replace("postgresql://", "postgresql+psycopg://").rpartition("/")[0]
                    place = f"{base}/{what}"
                rehearsed = (
                    rehearse_board(place, folder, asked.submissions)
                    if what == "board"
                    else rehearse_studio(place, folder, asked.seconds)
                )
                print(f"{what}, {kind}: {rehearsed}", flush=True)
                lost += rehearsed.lost
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
