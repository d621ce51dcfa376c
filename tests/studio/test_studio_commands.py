"""Commands of the studio."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.server.backup import backup, restore
from fathom.studio.auditing import KIND
from fathom.studio.store import Store
from fathom.types import FathomError
from studio_stores import fill, person, review, to_answer_review

pytest.importorskip("argon2")
NEEDS = pytest.mark.skipif(shutil.which("pg_dump") is None, reason="there is no pg_dump on this machine")


def made(place: str) -> None:
    with closing(Store(place)) as store:
        fill(store)
        sample = to_answer_review(store)
        store.act(review(sample), person("bo"))
        store.act(review(sample), person("cy"))


def test_a_studio_is_made_once(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("audit",), ("users",), ("stats",), ("users", "add", "ann"), ("serve",)):
        code, _, err = call("studio", *words)
        assert code == 2
        assert "make one: fathom studio init" in err
    assert not Path("studio-store").exists()
    code, out, err = call("studio", "init", "--administrator", "ada")
    assert (code, len(out.strip()) >= 12) == (0, True)
    assert "password of ada" in err
    code, _, err = call("studio", "init")
    assert code == 2
    assert "there is a studio already" in err
    assert Path("studio-store").stat().st_mode & 0o777 == 0o700
    assert Path("studio-store/studio.sqlite").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_accounts(call: Call, place: str) -> None:
    password = api.studio_init(place, administrator="ada")
    store = ("--store", place)
    code, out, err = call("studio", "users", "add", "ann", *store)
    assert code == 0
    assert out.strip() != password
    assert "this is the password of ann" in err
    assert call("studio", "users", "role", "ann", "--role", "expert", *store)[0] == 0
    assert call("studio", "users", "off", "ann", *store)[0] == 0
    code, out, _ = call("studio", "users", "--json", *store)
    shown = {one["name"]: (one["role"], one["active"]) for one in json.loads(out)}
    assert shown == {"ada": ("administrator", True), "ann": ("expert", False)}
    assert [one.name for one in api.studio_users(place)] == ["ada", "ann"]
    assert call("studio", "users", "token", "ada", *store)[1].startswith("fathom-")
    assert api.studio_user("revoke", "ada", place) == ""
    for words, expected in (
        (("add",), "the name of the account is missing"),
        (("list", "ann"), "list takes no name"),
        (("role", "ann"), "give the new role with --role"),
        (("off", "ada"), "last administrator"),
        (("password", "zoe"), "zoe has no account"),
        (("nonsense", "ann"), "expected list, add"),
    ):
        code, _, err = call("studio", "users", *words, *store)
        assert (code, expected in err) == (2, True), (words, err)


def test_stats_are_from_the_log(call: Call, place: str) -> None:
    made(place)
    code, out, _ = call("studio", "stats", "--store", place, "--json", "--hourly", "60")
    assert code == 0
    found = {one["group"]: one for one in json.loads(out)}
    assert (found["accepted"]["samples"], found["accepted"]["actions"]) == (1, 0)
    assert found["drafted"] == {
        "group": "drafted", "samples": 0, "actions": 1, "hours": 0.017, "minutes_each": 1.0, "model_cost": 0.03,
        "people_cost": 1.0,
    }  # fmt: skip
    assert found["answer_review"]["minutes_each"] == 0.5
    (one,) = api.studio_stats(place, by="sample")
    assert (one["group"], one["actions"], one["hours"]) == ("s-1", 6, round(245 / 3600, 3))
    assert [one["group"] for one in api.studio_stats(place, by="task")] == ["qa"]


def test_the_audit_command(call: Call, place: str) -> None:
    made(place)
    code, out, _ = call("studio", "audit", "--store", place)
    assert code == 0
    head = out.partition("head: ")[2].strip()
    assert call("studio", "audit", "--store", place, "--head", head)[0] == 0
    assert call("studio", "audit", "--store", place, "--head", "x")[0] == 2
    with closing(Store(place)) as store, store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE samples SET state = 'rejected'")
    code, out, _ = call("studio", "audit", "--store", place)
    assert code == 1
    assert "differs: samples: s-1" in out
    code, out, _ = call("studio", "audit", "--store", place, "--json")
    assert (code, len(json.loads(out)["problems"])) == (1, 1)


@pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.long, NEEDS])], indirect=True
)
def test_a_backup_is_restored(place: str, tmp_path: Path) -> None:
    made(place)
    with closing(Store(place)) as store:
        held = backup(place, tmp_path / "backup", KIND)
        head = store.head()
        assert held.samples == 1
        assert held.entries == (head.number if "://" not in place else 0)
        with store.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM entries WHERE number > 9")
    with pytest.raises(FathomError, match="`force`"):
        restore(tmp_path / "backup", place, KIND)
    restore(tmp_path / "backup", place, KIND, force=True)
    with closing(Store(place)) as store:
        assert store.head() == head
        assert store.sample("s-1").state == "accepted"


def test_a_backup_of_a_damaged_studio_is_not_made(call: Call, tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    made(place)
    with closing(sqlite3.connect(tmp_path / "store" / "studio.sqlite")) as connection, connection:
        connection.execute("UPDATE entries SET person = 'bo' WHERE number = 9")
    code, _, err = call("studio", "backup", "--store", place, "--out", tmp_path / "backup")
    assert code == 2
    assert "entry 9: it was changed" in err
    assert not (tmp_path / "backup").exists()
