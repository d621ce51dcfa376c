"""Accounts: passwords, throttling, sessions and tokens."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fathom.studio import people as module
from fathom.studio.auditing import audit
from fathom.studio.people import IDLE_SECONDS, SESSION_SECONDS, WINDOW_SECONDS, LoginError, People, ThrottledError
from fathom.studio.schema import people as table
from fathom.studio.schema import sessions, tokens
from fathom.studio.states import RefusedError
from fathom.studio.store import Store
from fathom.studio.types import Person
from fathom.types import FathomError
from studio_stores import PASSWORD, quick_hasher

pytest.importorskip("argon2")


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(studio: Store, clock: Clock) -> People:
    found = People(studio, clock, quick_hasher())
    found.set_password("ann", PASSWORD)
    return found


def test_a_password_opens_a_session(accounts: People) -> None:
    secret = accounts.log_in("ann", PASSWORD, "127.0.0.1")
    session = accounts.session(secret)
    assert session is not None
    assert (session.person.name, session.person.role, len(session.csrf)) == ("ann", "annotator", 43)
    assert accounts.log_in("ann", PASSWORD, "127.0.0.1") != secret
    accounts.log_out(secret)
    assert accounts.session(secret) is None
    assert accounts.session("") is None


def test_a_password_that_is_reset_during_a_login_opens_no_session(
    accounts: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches = accounts._matches

    def slowly(hashed: str, password: str) -> bool:
        right = matches(hashed, password)
        accounts.set_password("ann", "an entirely different one")
        return right

    monkeypatch.setattr(accounts, "_matches", slowly)
    with pytest.raises(LoginError):
        accounts.log_in("ann", PASSWORD, "127.0.0.1")
    with accounts.store.reading.connect() as connection:
        assert connection.execute(sessions.select()).all() == []


def test_neither_passwords_nor_secrets_are_stored(accounts: People) -> None:
    secret, token = accounts.log_in("ann", PASSWORD, "x"), accounts.make_token("ann")
    with accounts.store.reading.connect() as connection:
        kept = [str(connection.execute(one.select()).all()) for one in (table, sessions, tokens)]
        log = str(list(accounts.store.entries()))
    for one in (PASSWORD, secret, token, token.split("-", 2)[2]):  # a secret may hold dashes itself
        assert all(one not in text for text in (*kept, log))
    assert "$argon2id$" in kept[0]
    assert "$argon2id$" not in log


def test_the_default_is_argon2id_with_the_parameters_of_the_library() -> None:
    from argon2 import PasswordHasher, Type

    hasher = module._argon2()
    assert hasher.type is Type.ID
    assert hasher.memory_cost >= 19 * 1024  # OWASP's least
    assert hasher.time_cost == PasswordHasher().time_cost


@pytest.mark.parametrize(
    ("name", "password"), [("ann", "wrong"), ("nobody", PASSWORD), ("bo", ""), ("a b", "x"), ("ann", "x" * 5000)]
)
def test_every_failure_says_the_same(accounts: People, name: str, password: str) -> None:
    with pytest.raises(LoginError, match="name or password is wrong"):
        accounts.log_in(name, password, "x")


def test_failures_are_limited_for_an_account_and_for_an_address(accounts: People, clock: Clock) -> None:
    for at in range(module.MOST_FAILURES):
        with pytest.raises(LoginError):
            accounts.log_in("ann", "wrong", f"10.0.0.{at}")
    with pytest.raises(ThrottledError, match="wait 15 minutes") as throttled:
        accounts.log_in("ann", PASSWORD, "10.0.1.1")
    assert throttled.value.seconds == WINDOW_SECONDS
    clock.now += WINDOW_SECONDS + 1
    accounts.log_in("ann", PASSWORD, "10.0.1.1")
    for at in range(module.MOST_FAILURES_OF_ADDRESS):
        with pytest.raises(LoginError):
            accounts.log_in(f"user{at}", "wrong", "10.0.0.1")
    with pytest.raises(ThrottledError):
        accounts.log_in("ann", PASSWORD, "10.0.0.1")
    accounts.log_in("ann", PASSWORD, "10.0.0.2")


def test_a_success_forgets_failures_of_the_account(accounts: People) -> None:
    for _ in range(3):
        for _ in range(module.MOST_FAILURES - 1):
            with pytest.raises(LoginError):
                accounts.log_in("ann", "wrong", "x")
        accounts.log_in("ann", PASSWORD, "x")


def test_sessions_expire(accounts: People, clock: Clock) -> None:
    secret = accounts.log_in("ann", PASSWORD, "x")
    clock.now += IDLE_SECONDS - 1
    assert accounts.session(secret)
    clock.now += IDLE_SECONDS - 1
    assert accounts.session(secret)
    clock.now += IDLE_SECONDS + 61
    assert accounts.session(secret) is None
    secret, end = accounts.log_in("ann", PASSWORD, "x"), clock.now + SESSION_SECONDS
    while clock.now + IDLE_SECONDS // 2 <= end:
        clock.now += IDLE_SECONDS // 2
        assert accounts.session(secret)
    clock.now = end + 1
    assert accounts.session(secret) is None


def test_sessions_end_when_an_account_changes(accounts: People) -> None:
    secret, token = accounts.log_in("ann", PASSWORD, "x"), accounts.make_token("ann")
    accounts.change("ann", role="expert")
    assert accounts.session(secret) is None
    holder = accounts.holder(token)
    assert holder is not None
    assert holder.person.role == "expert"
    accounts.change("ann", active=False)
    assert accounts.holder(token) is None
    with pytest.raises(LoginError):
        accounts.log_in("ann", PASSWORD, "x")
    accounts.change("ann", active=True)
    secret = accounts.log_in("ann", PASSWORD, "x")
    accounts.set_password("ann", "other words to remember")
    assert accounts.session(secret) is None
    assert accounts.holder(token) is None


def test_the_log_says_who_set_a_password_or_made_a_token(accounts: People) -> None:
    accounts.set_password("bo", by=Person("ada", "administrator"))
    accounts.make_token("bo")
    accounts.revoke_tokens("bo")
    accounts.set_password("ray", PASSWORD)
    accounts.change_password("ray", PASSWORD, "other words to remember", "x")
    found = [(one.person, one.note.subject, one.note.body) for one in accounts.store.notes(topic="account")]
    assert found[1:] == [
        ("ada", "bo", '{"what":"password"}'),
        ("operator", "bo", '{"what":"token"}'),
        ("operator", "bo", '{"what":"revoke"}'),
        ("operator", "ray", '{"what":"password"}'),
        ("ray", "ray", '{"what":"password"}'),
    ]
    assert audit(accounts.store).problems == ()


def test_a_person_changes_their_password(accounts: People) -> None:
    with pytest.raises(LoginError):
        accounts.change_password("ann", "wrong", "other words to remember", "x")
    secret = accounts.change_password("ann", PASSWORD, "other words to remember", "x")
    assert accounts.session(secret)
    accounts.log_in("ann", "other words to remember", "x")


def test_tokens(accounts: People, clock: Clock) -> None:
    token = accounts.make_token("ann", days=1)
    holder = accounts.holder(token)
    assert holder is not None
    assert (holder.person.name, holder.csrf) == ("ann", "")
    for wrong in ("", "fathom-", token[:-1], token[:-1] + ("A" if token[-1] != "A" else "B"), token.replace("-", "_")):
        assert accounts.holder(wrong) is None
    clock.now += 86_401
    # The store's present time decides what is listed, the clock what is valid.
    assert accounts.holder(accounts.make_token("ann", days=1)) is not None
    assert accounts.revoke_tokens("ann") == 2
    for days in (0, -1, 4000, float("nan")):
        with pytest.raises(FathomError, match="expected more than 0"):
            accounts.make_token("ann", days)


def test_accounts_are_added_and_listed(accounts: People) -> None:
    password = accounts.add("zoe", "expert")
    accounts.log_in("zoe", password, "x")
    zoe = next(one for one in accounts.listed() if one.name == "zoe")
    assert (zoe.role, zoe.active, zoe.sessions, zoe.tokens) == ("expert", True, 1, 0)


@pytest.mark.parametrize(
    ("name", "role", "password", "words"),
    [
        ("ann", "expert", "", "has an account already"),
        ("ANN", "expert", "", "has an account already"),
        ("Operator", "expert", "", "and not operator"),
        ("a b", "expert", "", "expected letters"),
        ("", "expert", "", "expected letters"),
        ("../x", "expert", "", "expected letters"),
        ("zoe", "owner", "", "expected reader, annotator"),
        ("zoe", "expert", "short", "expected 12 to 256"),
        ("zoe", "expert", "x" * 257, "expected 12 to 256"),
        ("zoe", "expert", "aaaaaaaaaaaaaaaa", "too easy"),
        ("zoeabcdefg12", "expert", "Zoeabcdefg12", "too easy"),
        ("zoe", "expert", "\ud800" * 20, "no text"),
    ],
)
def test_wrong_accounts_are_refused(accounts: People, name: str, role: str, password: str, words: str) -> None:
    with pytest.raises(FathomError, match=words):
        accounts.add(name, role, password)  # type: ignore[arg-type]


def test_unknown_accounts_are_named(accounts: People) -> None:
    for wrong in (
        lambda: accounts.set_password("none"),
        lambda: accounts.change("none", active=False),
        lambda: accounts.make_token("none"),
        lambda: accounts.revoke_tokens("none"),
    ):
        with pytest.raises(RefusedError, match="none has no account"):
            wrong()


@pytest.mark.parametrize(
    "password",
    ["passwordpassword", "Password123456!", "qwertyuiop123", "annannannannann", "fathomstudio", "studioexpert1",
     "abcdefghijklmnop", "P@ssw0rd1234", "iloveyou12345", "111122223333"],
)  # fmt: skip
def test_passwords_that_are_easy_to_guess_are_refused(accounts: People, password: str) -> None:
    with pytest.raises(RefusedError, match="too easy to guess"):
        accounts.change_password("ann", PASSWORD, password, "x")
    accounts.log_in("ann", PASSWORD, "x")


def test_a_password_that_was_made_ends_after_a_week(accounts: People, clock: Clock) -> None:
    made = accounts.add("zoe", "annotator")
    session = accounts.session(accounts.log_in("zoe", made, "x"))
    assert session is not None
    assert session.until == "2027-01-22"
    secret = accounts.log_in("ann", PASSWORD, "x")
    own = accounts.session(secret)
    assert own is not None
    assert own.until == ""
    clock.now += module.INITIAL_SECONDS
    accounts.log_in("zoe", made, "x")
    clock.now += 1
    with pytest.raises(LoginError):
        accounts.log_in("zoe", made, "x")
    accounts.log_in("ann", PASSWORD, "x")
    accounts.change_password("zoe", accounts.set_password("zoe"), "other words to remember", "x")
    clock.now += 2 * module.INITIAL_SECONDS
    accounts.log_in("zoe", "other words to remember", "x")


def test_an_account_has_so_many_sessions(accounts: People, clock: Clock) -> None:
    first = accounts.log_in("ann", PASSWORD, "x")
    for _ in range(module.MOST_SESSIONS - 1):
        clock.now += 1
        last = accounts.log_in("ann", PASSWORD, "x")
    assert accounts.session(first)
    accounts.log_in("ann", PASSWORD, "x")
    assert accounts.session(first) is None
    assert accounts.session(last)
    assert len(accounts.sessions("ann")) == module.MOST_SESSIONS


@pytest.mark.parametrize(
    ("address", "counted"),
    [("10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"), ("testclient", "testclient"),
     ("a\nb", "a\ufffdb"), ("x" * 99, "x" * 64)],
)  # fmt: skip
def test_addresses_whose_failures_are_counted(address: str, counted: str) -> None:
    assert module._network(address) == counted
