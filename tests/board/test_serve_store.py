"""The store of a server: what is in it stays, once, whatever happens beside it; the same in SQLite and PostgreSQL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from fathom.board.serve import schema, tokens
from fathom.board.serve.store import (
    KEPT_DAYS,
    PIECE,
    KnownError,
    LostError,
    State,
    Store,
    Submission,
    WaitingError,
)
from fathom.board.serve.tokens import ExpiredError, Holder, holder_of, make_token, revoke
from fathom.server.database import FullStoreError, StoreError, now
from fathom.types import FathomError

ONE = Submission("a" * 64, "ann", "2026-01-31T10:00:00Z", 5, "pending", {"model": "m\0\ud800"})


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_submission_comes_back_as_it_went_in(store: Store, tmp_path: Path) -> None:
    content = bytes(range(256)) * 9000  # three pieces, the last one cut
    assert 2 * PIECE < len(content) < 3 * PIECE
    store.add(ONE, written(tmp_path / "bundle", content), 10)
    assert store.find(ONE.id) == ONE
    assert b"".join(store.content(ONE.id)) == content
    assert store.find("b" * 64) is None
    assert list(store.content("b" * 64)) == []


def test_the_same_bundle_stands_once(store: Store, tmp_path: Path) -> None:
    bundle = written(tmp_path / "bundle", b"x")
    store.add(ONE, bundle, 10)
    with pytest.raises(KnownError) as known:
        store.add(replace(ONE, submitter="bob"), bundle, 10)
    assert known.value.submission == ONE
    assert store.listed() == [ONE]


@pytest.mark.parametrize("again", ["withdrawn", "refused by the check"])
def test_what_does_not_stand_may_come_again(store: Store, tmp_path: Path, again: str) -> None:
    bundle = written(tmp_path / "bundle", b"x")
    if again == "withdrawn":
        store.add(ONE, bundle, 10)
        assert store.decide(ONE.id, ["pending"], "withdrawn", by="ann", reason="")
    else:
        store.add(replace(ONE, state="refused", reason="no zip"), None, 10)
        assert list(store.content(ONE.id)) == []
    later = replace(ONE, submitter="bob", received="2026-02-01T10:00:00Z")
    store.add(later, bundle, 10)
    assert store.listed() == [later]
    assert list(store.content(ONE.id)) == [b"x"]


def test_what_a_moderator_refused_stays_refused(store: Store, tmp_path: Path) -> None:
    bundle = written(tmp_path / "bundle", b"x")
    store.add(ONE, bundle, 10)
    assert store.decide(ONE.id, ["pending", "accepted"], "refused", by="mo", reason="a copy")
    with pytest.raises(KnownError):
        store.add(ONE, bundle, 10)


def test_a_decision_is_made_once(store: Store, tmp_path: Path) -> None:
    store.add(ONE, written(tmp_path / "bundle", b"x"), 10)
    assert store.decide(ONE.id, ["pending"], "accepted", by="mo", reason="")
    assert not store.decide(ONE.id, ["pending"], "withdrawn", by="ann", reason="")
    found = store.find(ONE.id)
    assert found is not None
    assert (found.state, found.decided_by) == ("accepted", "mo")
    assert found.decided
    assert store.accepted() == [ONE.id]


def test_lists_are_of_a_person_and_a_state(store: Store, tmp_path: Path) -> None:
    bundle = written(tmp_path / "bundle", b"x")
    for number, (who, when) in enumerate([("ann", "03"), ("bob", "05"), ("ann", "04")]):
        store.add(replace(ONE, id=str(number) * 64, submitter=who, received=f"2026-01-{when}T00:00:00Z"), bundle, 10)
    store.decide("0" * 64, ["pending"], "accepted", by="mo", reason="")
    assert [one.id[0] for one in store.listed()] == ["1", "2", "0"]
    assert [one.id[0] for one in store.listed(submitter="ann")] == ["2", "0"]
    assert [one.id[0] for one in store.listed(submitter="ann", state="pending")] == ["2"]


def test_a_person_waits_for_decisions(store: Store, tmp_path: Path) -> None:
    bundle = written(tmp_path / "bundle", b"x")
    store.add(ONE, bundle, 1)
    with pytest.raises(WaitingError, match="1 submissions of ann are already pending"):
        store.add(replace(ONE, id="b" * 64), bundle, 1)
    store.add(replace(ONE, id="b" * 64, submitter="bob"), bundle, 1)
    store.decide(ONE.id, ["pending"], "accepted", by="mo", reason="")
    store.add(replace(ONE, id="c" * 64), bundle, 1)


def test_many_writers_lose_nothing(opened: Callable[[], Store], tmp_path: Path) -> None:
    """Two stores on one place, as of two servers; each bundle is sent by two threads."""
    stores = [opened(), opened()]
    bundle = written(tmp_path / "bundle", b"x" * 3000)
    outcomes: list[str] = []

    def send(store: Store, number: int) -> None:
        try:
            store.add(replace(ONE, id=f"{number:064}"), bundle, 1000)
            outcomes.append("added")
        except KnownError as known:
            outcomes.append("known" if known.submission.id == f"{number:064}" else "another")

    threads = [threading.Thread(target=send, args=(store, number)) for number in range(12) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["added"] * 12 + ["known"] * 12
    assert len(stores[0].listed()) == 12
    assert all(b"".join(stores[1].content(f"{number:064}")) == b"x" * 3000 for number in range(12))


def test_two_servers_may_make_a_store_at_once(opened: Callable[[], Store]) -> None:
    made: list[Store] = []
    threads = [threading.Thread(target=lambda: made.append(opened())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    with made[0].reading.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM migrations")).scalar_one() == len(schema.MIGRATIONS)


def test_the_steps_make_the_tables_that_are_asked(store: Store) -> None:
    from sqlalchemy import inspect

    there = inspect(store.engine)
    for table in schema.metadata.sorted_tables:
        assert {column["name"] for column in there.get_columns(table.name)} == set(table.columns.keys())


def test_a_store_of_a_later_fathom_is_left_alone(store: Store, place: str) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("INSERT INTO migrations VALUES (99)"))
    with pytest.raises(FathomError, match="a later fathom made it"):
        Store(place)


# ------------------------------------------------------------------------------------- decisions and undoing


def test_each_decision_is_kept_with_who_when_and_why(store: Store, tmp_path: Path) -> None:
    store.add(ONE, written(tmp_path / "bundle", b"x"), 10)
    assert store.decide(ONE.id, ["pending"], "accepted", by="mo", reason="seems right")
    assert store.decide(ONE.id, ["pending", "accepted"], "refused", by="jo", reason="a copy")
    assert not store.decide(ONE.id, ["pending"], "accepted", by="mo", reason="again")
    found = store.decisions()
    assert [(one.decided_by, one.action, one.before, one.after, one.reason) for one in found] == [
        ("jo", "refused", "accepted", "refused", "a copy"),
        ("mo", "accepted", "pending", "accepted", "seems right"),
    ]
    assert all(one.submission == ONE.id and one.decided for one in found)
    assert store.decisions([ONE.id]) == found
    assert store.decisions(["b" * 64]) == []


def test_what_was_refused_comes_back_with_its_bytes(store: Store, tmp_path: Path) -> None:
    store.add(ONE, written(tmp_path / "bundle", b"content"), 10)
    store.decide(ONE.id, ["pending"], "accepted", by="mo", reason="right")
    store.decide(ONE.id, ["accepted"], "refused", by="mo", reason="a slip")
    assert store.accepted() == []
    last = store.decisions([ONE.id])[0].number
    assert store.undo(ONE.id, last, by="jo", reason="it was right")
    assert store.accepted() == [ONE.id]
    assert list(store.content(ONE.id)) == [b"content"]
    assert not store.undo(ONE.id, last, by="mo", reason="I was slower")  # of two at once, one undoes
    assert [decision.action for decision in store.decisions([ONE.id])] == ["undone", "refused", "accepted"]
    first = store.decisions([ONE.id])[0].number
    assert store.undo(ONE.id, first, by="jo", reason="no, it was a copy")
    found = store.find(ONE.id)
    assert found is not None
    assert (found.state, found.decided_by, found.reason) == ("refused", "jo", "no, it was a copy")


@pytest.mark.slow
def test_bytes_are_kept_for_a_while(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add(ONE, written(tmp_path / "bundle", b"x"), 10)
    store.add(replace(ONE, id="b" * 64), tmp_path / "bundle", 10)
    store.decide(ONE.id, ["pending"], "refused", by="mo", reason="a copy")
    late = time.time() + (KEPT_DAYS + 1) * 86_400
    monkeypatch.setattr("fathom.server.database.time.time", lambda: late)
    store.decide("b" * 64, ["pending"], "accepted", by="mo", reason="right")
    assert list(store.content(ONE.id)) == []
    assert list(store.content("b" * 64)) == [b"x"]
    with pytest.raises(LostError, match="30 days"):
        store.undo(ONE.id, store.decisions([ONE.id])[0].number, by="mo", reason="a slip")
    assert store.find(ONE.id).state == "refused"  # type: ignore[union-attr]


def test_two_moderators_at_once_decide_once(opened: Callable[[], Store], tmp_path: Path) -> None:
    stores = [opened() for _ in range(4)]
    stores[0].add(ONE, written(tmp_path / "bundle", b"x"), 10)
    for again in range(5):
        done: list[bool] = []
        ready = threading.Barrier(8)

        def act(store: Store, to: State, ready: threading.Barrier = ready, done: list[bool] = done) -> None:
            ready.wait(30)
            done.append(store.decide(ONE.id, ["pending"], to, by="mo", reason="x"))

        last = len(stores[0].decisions([ONE.id]))
        threads = [
            threading.Thread(target=act, args=(stores[number % 4], ("accepted", "refused")[number % 2]))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == [False] * 7 + [True], again
        history = stores[0].decisions([ONE.id])
        assert len(history) == last + 1
        assert stores[0].undo(ONE.id, history[0].number, by="jo", reason="once more")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_store_of_the_first_form_becomes_one_of_today(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("fathom.board.serve.store.BOARD", replace(schema.BOARD, migrations=schema.MIGRATIONS[:1]))
        with closing(Store(place)) as old, old.engine.begin() as connection:
            for statement in (
                f"INSERT INTO submissions VALUES ('{'a' * 64}', 'ann', '2026-01-31T10:00:00Z', 1, 'accepted', '{{}}', "
                "'fine', 'mo', '2026-02-01T10:00:00Z')",
                f"INSERT INTO submissions VALUES ('{'b' * 64}', 'ann', '2026-01-31T10:00:00Z', 1, 'pending', '{{}}', "
                "'', '', '')",
                f"INSERT INTO pieces VALUES ('{'a' * 64}', 0, 'x')",
                "INSERT INTO tokens VALUES ('mo', '0123456789abcdef', 'moderate', 'hash', '2026-01-31T10:00:00Z')",
            ):
                connection.execute(text(statement))
    with closing(Store(place)) as store:
        (decision,) = store.decisions()
        assert (decision.submission, decision.decided_by, decision.after) == ("a" * 64, "mo", "accepted")
        assert (decision.reason, decision.decided) == ("fine", "2026-02-01T10:00:00Z")
        (token,) = tokens.listed(store)
        assert (token.name, token.expired, token.used) == ("mo", False, "")
        assert store.accepted() == ["a" * 64]
        assert store.undo("a" * 64, decision.number, by="jo", reason="look again")


# ------------------------------------------------------------------------------------------------- who reads


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("before", ["new", "open to all"])
def test_nobody_else_reads_a_store(tmp_path: Path, before: str) -> None:
    folder = tmp_path / "store"
    if before == "open to all":
        Store(str(folder)).close()
        folder.chmod(0o755)
        (folder / "board.sqlite").chmod(0o644)
    mask = os.umask(0)
    try:
        with closing(Store(str(folder))) as store:
            make_token(store, "ann", "submit")
            assert mode(folder) == 0o700
            assert {path.name: mode(path) for path in folder.iterdir()} == {
                "board.sqlite": 0o600,
                "board.sqlite-wal": 0o600,
                "board.sqlite-shm": 0o600,
            }
    finally:
        os.umask(mask)


def test_a_folder_with_other_things_keeps_its_permissions(tmp_path: Path) -> None:
    """Such as a home folder: ``--store .`` must not shut out everybody else."""
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "page.html").touch()
    Store(str(folder)).close()
    assert (mode(folder), mode(folder / "board.sqlite")) == (0o755, 0o600)


# ------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_full_disk_takes_nothing_and_harms_nothing(store: Store, tmp_path: Path) -> None:
    bundle = written(tmp_path / "bundle", b"x" * (PIECE // 2))
    store.add(ONE, bundle, 10)

    from sqlalchemy import event

    @event.listens_for(store.engine, "begin")
    def full(connection: object) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()  # type: ignore[attr-defined]
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")  # type: ignore[attr-defined]

    with pytest.raises(FullStoreError, match="no space is left"):
        store.add(replace(ONE, id="b" * 64), bundle, 10)
    assert store.listed() == [ONE]
    assert sum(map(len, store.content(ONE.id))) == PIECE // 2


def test_a_store_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="database error") as error:
        Store("postgresql+psycopg://board:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)
    (tmp_path / "file").write_text("")
    with pytest.raises(FathomError, match="cannot be made"):
        Store(str(tmp_path / "file" / "store"))
    (tmp_path / "board.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store(str(tmp_path))


@pytest.mark.parametrize("url", ["mysql://root:secret@host/db", "postgresql://u:secret@h:port/db", "://secret"])
def test_a_url_that_is_none_is_said_without_its_password(url: str) -> None:
    with pytest.raises(FathomError, match=r"postgresql\+psycopg://USER@HOST") as error:
        Store(url)
    assert "secret" not in str(error.value)


# --------------------------------------------------------------------------------------------------- tokens


def test_a_token_says_who_and_is_not_in_the_store(store: Store, place: str) -> None:
    token = make_token(store, "ann", "submit")
    other = make_token(store, "mo", "moderate")
    assert holder_of(store, token) == Holder("ann", "submit")
    assert holder_of(store, other) == Holder("mo", "moderate")
    assert holder_of(store, token[:-1] + ("A" if token[-1] != "A" else "B")) is None
    assert holder_of(store, "fathom-") is None
    assert holder_of(store, token.replace("fathom", "other")) is None
    secret = token[24:]
    with store.reading.connect() as connection:
        kept = str(connection.execute(schema.tokens.select()).all())
    assert secret not in kept
    if "://" not in place:
        assert not any(secret.encode() in path.read_bytes() for path in Path(place).iterdir())


def test_a_revoked_token_is_nobodys(store: Store) -> None:
    token = make_token(store, "ann", "submit")
    with pytest.raises(FathomError, match="already has a token"):
        make_token(store, "ann", "moderate")
    revoke(store, "ann")
    assert holder_of(store, token) is None
    with pytest.raises(FathomError, match="no token"):
        revoke(store, "ann")
    assert holder_of(store, make_token(store, "ann", "submit")) == Holder("ann", "submit")


def test_a_token_ends_with_its_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    token = make_token(store, "ann", "submit", days=1)
    assert holder_of(store, token) == Holder("ann", "submit")
    end = tokens.listed(store)[0].expires
    monkeypatch.setattr(tokens, "now", lambda: end)
    assert tokens.listed(store)[0].expired
    with pytest.raises(ExpiredError, match=end):
        holder_of(store, token)
    assert holder_of(store, token[:-1] + ("A" if token[-1] != "A" else "B")) is None
    with pytest.raises(FathomError, match="already has a token"):
        make_token(store, "ann", "submit")
    other = tokens.rotate(store, "ann", days=2)
    assert holder_of(store, token) is None
    assert holder_of(store, other) == Holder("ann", "submit")


def test_tokens_are_listed_without_what_opens_the_store(store: Store) -> None:
    token = make_token(store, "mo", "moderate")
    make_token(store, "ann", "submit")
    assert [(one.name, one.role, one.used, one.expired) for one in tokens.listed(store)] == [
        ("ann", "submit", "", False),
        ("mo", "moderate", "", False),
    ]
    holder_of(store, token)
    holder_of(store, token[:-1] + ("A" if token[-1] != "A" else "B"))
    used = {one.name: one.used for one in tokens.listed(store)}
    assert used == {"ann": "", "mo": now()[:10]}
    assert token[24:] not in str(tokens.listed(store))


@pytest.mark.parametrize("days", [0, -1, 1e6, float("nan"), float("inf")])
def test_days_are_some(store: Store, days: float) -> None:
    with pytest.raises(FathomError, match="`days`"):
        make_token(store, "ann", "submit", days)


def test_nobody_rotates_what_is_not_there(store: Store) -> None:
    with pytest.raises(FathomError, match="no token"):
        tokens.rotate(store, "ann")


@pytest.mark.parametrize(("name", "role"), [("a b", "submit"), ("", "submit"), ("-", "submit"), ("ann", "admin")])
def test_names_and_roles_are_plain(store: Store, name: str, role: str) -> None:
    with pytest.raises(FathomError, match="expected"):
        make_token(store, name, role)
