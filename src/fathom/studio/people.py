"""Accounts: passwords, sessions, tokens, and limits for failed logins.

Passwords are stored as argon2id hashes, sessions and tokens as SHA-256 of random secrets. None of them is in the log.
"""

import calendar
import ipaddress
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from fathom.printing import printable
from fathom.server.database import clear_errors, moment, now
from fathom.server.tokens import NAME, hash_of, is_same, key_of, new_token
from fathom.studio.records import canonical, checked_text
from fathom.studio.schema import failures, people, sessions, tokens
from fathom.studio.states import ACCOUNT, RefusedError
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.types import OPERATOR, ROLES, Note, Person, Role
from fathom.types import FathomError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

log = logging.getLogger("fathom.studio.people")
LEAST_PASSWORD, MOST_PASSWORD = 12, 256
LEAST_GUESSES = 10**9
"""A password that somebody chooses must need this many guesses, as zxcvbn estimates."""
OWN_WORDS = ("fathom", "studio", "longbench", "annotator", "expert", "administrator", "reader")
"""Words that do not make a password harder to guess here, beside the name of the account."""
INITIAL_SECONDS = 7 * 86_400
"""A password that was made for somebody can be used this long, so that nobody else knows theirs for ever."""
IDLE_SECONDS = 12 * 3600
"""A session ends after this time without a request,"""
SESSION_SECONDS = 7 * 86_400
"""and after this time in any case."""
RECENT_SECONDS = 30 * 60
"""Accounts can be changed this long after a login; then the password is asked for again."""
MOST_SESSIONS = 20
"""Sessions of one account; the oldest ends when there are more."""
TOKEN_DAYS = 90.0
WINDOW_SECONDS = 15 * 60
MOST_FAILURES, MOST_FAILURES_OF_ADDRESS = 10, 50
"""Failed logins of one account, and of one address, in that time."""
_MOST_CHECKED = 72
_SESSION = (
    select(sessions, *people.c["role", "active", "initial", "changed"])
    .join(people, people.c.name == sessions.c.person)
    .where(sessions.c.hash == bindparam("secret"))
)
"""A session with its account: every request asks for one, and composing the query would take longer than its answer."""


class LoginError(FathomError):
    """Name or password is wrong; the message never says which."""


class ThrottledError(FathomError):
    """Too many failed logins; ``seconds`` is how long to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many failed logins; wait {max(1, round(seconds / 60))} minutes, or ask an administrator")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Account:
    """An account for a table.

    Attributes:
        active: Whether it may log in.
        password: Day on which the password was set; "" for none.
        sessions: Number of its sessions.
        tokens: Number of its valid tokens.
    """

    name: str
    role: Role
    active: bool
    password: str
    sessions: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is logged in.

    Attributes:
        csrf: Secret that every form of the session repeats; "" for a token, which browsers do not send by themselves.
        recent: Whether they gave their password, or a token, just now; see ``RECENT_SECONDS``.
        until: Day on which the password that was made for them ends; "" for one of their own.
    """

    person: Person
    csrf: str
    recent: bool = True
    until: str = ""


@dataclass(frozen=True, slots=True)
class Login:
    """A session in a list.

    Attributes:
        id: Hash of its secret.
        made: Time of the login.
        used: Time of the last request, to a minute.
    """

    id: str
    made: str
    used: str


class People:
    """Accounts of a store.

    Args:
        clock: Seconds since the epoch.
        hasher: Hashes passwords; argon2id with the library's parameters by default.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float] = time.time, hasher: "PasswordHasher | None" = None
    ) -> None:
        self.store = store
        self._clock = clock
        self._hasher = hasher or _argon2()
        self._unknown = ""

    # Accounts

    def add(self, name: str, role: Role, password: str = "", by: Person = AT_SERVER) -> str:
        """Adds an account and returns its password.

        Args:
            name: Letters, digits and ``._@-``, 64 at most.
            role: Its role.
            password: Its password; "" for a random one.
            by: Who adds it.

        Raises:
            FathomError: The name is invalid or taken, the role unknown, the password too short or long.
        """
        if not NAME.fullmatch(name) or name.casefold() == OPERATOR:
            raise RefusedError(
                f"name {name[:70]!r}: expected letters, digits and ._@- (64 at most), and not {OPERATOR}"
            )
        if role not in ROLES:
            raise RefusedError(f"role {role}: expected {', '.join(ROLES)}")
        if any(account.name.casefold() == name.casefold() for account in self.listed()):
            raise RefusedError(
                f"{name} has an account already; change its password with `fathom studio users password`"
            )
        initial = not password
        password = password or secrets.token_urlsafe(15)
        hashed = self._hashed(password, name)
        self.store.set_person(Person(name, role), by)
        with clear_errors(), self.store.engine.begin() as connection:
            self._put_password(connection, name, hashed, initial)
        return password

    def change(
        self, name: str, *, role: Role | None = None, active: bool | None = None, by: Person = AT_SERVER
    ) -> None:
        """Changes the role of an account or switches it on or off; its sessions end.

        Raises:
            RefusedError: There is none, or it is the last active administrator.
        """
        accounts = {account.name: account for account in self.listed()}
        if (before := accounts.get(name)) is None:
            raise RefusedError(f"{name[:70]} has no account; see `fathom studio users`")
        if role is not None and role not in ROLES:
            raise RefusedError(f"role {role}: expected {', '.join(ROLES)}")
        after = Person(name, role or before.role, before.active if active is None else active)
        self.store.set_person(after, by)
        self.log_out_everywhere(name)

    def set_password(self, name: str, password: str = "", by: Person = AT_SERVER) -> str:
        """Sets another password and returns it; all sessions and tokens of the account end.

        That it was done, and by whom, is in the log: otherwise somebody could act under the name of others unseen.

        Raises:
            FathomError: There is no account, or the password is too short or long.
        """
        self.person(name)
        initial = not password
        password = password or secrets.token_urlsafe(15)
        hashed = self._hashed(password, name)
        self._log(name, "password", by)
        log.info("new password of %s by %s", name, by.name)
        with clear_errors(), self.store.engine.begin() as connection:
            self._put_password(connection, name, hashed, initial)
            connection.execute(delete(sessions).where(sessions.c.person == name))
            connection.execute(delete(tokens).where(tokens.c.person == name))
            connection.execute(delete(failures).where(failures.c.key == f"name {name}"))
        return password

    def person(self, name: str) -> Person:
        """The person of an account.

        Raises:
            RefusedError: There is none.
        """
        row = self.store.row(select(people).where(people.c.name == name))
        if row is None:
            raise RefusedError(f"{name[:70]} has no account; see `fathom studio users`")
        return Person(row.name, row.role, bool(row.active))

    def listed(self) -> list[Account]:
        """All accounts by name."""
        present = now()
        with self.store.reader() as connection:
            open_ = Counter(connection.execute(select(sessions.c.person)).scalars())
            token_counts = Counter(
                connection.execute(select(tokens.c.person).where(tokens.c.expires > present)).scalars()
            )
            return [
                Account(
                    row.name,
                    row.role,
                    bool(row.active),
                    row.changed[:10],
                    open_[row.name],
                    token_counts[row.name],
                )
                for row in connection.execute(select(people).order_by(people.c.name))
            ]

    # Logging in

    def log_in(self, name: str, password: str, address: str) -> str:
        """Checks a password and returns the secret of a new session.

        Args:
            address: Where the request is from; failures count for it too.

        Raises:
            LoginError: Name or password is wrong, or the account is switched off.
            ThrottledError: Too many failures.
        """
        name = name if NAME.fullmatch(name) else ""
        address = _network(address)
        row = self.store.row(select(people).where(people.c.name == name))
        # What was typed as the name may be a password, so it is in no log.
        who = row.name if row is not None else "(no account)"
        try:
            self._throttle(name, address)
        except ThrottledError:
            log.warning("login of %s from %s: too many failures", who, address)
            raise
        hashed = row.password if row is not None and row.password else self._hash_of_nobody()
        right = len(password) <= MOST_PASSWORD and self._matches(hashed, password)
        if not right or row is None or not row.password or not row.active or self._is_over(row):
            log.warning("login of %s from %s: refused", who, address)
            self._failed(name, address)
        new = self._hasher.hash(password) if self._hasher.check_needs_rehash(hashed) else hashed
        secret = self._session_of(name, hashed, new)
        if secret is None:
            log.warning("login of %s from %s: the password was changed meanwhile", who, address)
            self._failed(name, address)
        log.info("login of %s from %s", who, address)
        return secret

    def _is_over(self, row: Row[Any]) -> bool:
        return bool(row.initial) and row.changed < moment(self._clock() - INITIAL_SECONDS)

    def new_session(self, name: str) -> str:
        """Begins a session of somebody who has just been checked, and returns its secret."""
        secret = self._session_of(name)
        assert secret is not None
        return secret

    def _session_of(self, name: str, checked: str = "", new: str = "") -> str | None:
        """Begins a session, and returns its secret; None if the password is not the one that was checked any more.

        Args:
            checked: The hash against which the password was checked; "" if nothing was.
            new: The hash to store in its place.
        """
        secret, present = secrets.token_urlsafe(32), int(self._clock())
        values = {"hash": hash_of(secret), "person": name, "csrf": secrets.token_urlsafe(32)}
        with clear_errors(), self.store.engine.begin() as connection:
            # The update locks the account, so that a new password ends this session or is seen here.
            same = (people.c.name == name) & (people.c.password == checked) & (people.c.active == 1)
            if checked and not connection.execute(update(people).where(same).values(password=new)).rowcount:
                return None
            old = (sessions.c.used < present - IDLE_SECONDS) | (sessions.c.made < present - SESSION_SECONDS)
            connection.execute(delete(sessions).where(old))
            connection.execute(delete(failures).where(failures.c.key == f"name {name}"))
            own = select(sessions.c.hash).where(sessions.c.person == name).order_by(sessions.c.made, sessions.c.hash)
            many = connection.execute(own).scalars().all()[: -(MOST_SESSIONS - 1)]
            connection.execute(delete(sessions).where(sessions.c.hash.in_(many)))
            connection.execute(insert(sessions).values(**values, made=present, used=present))
        return secret

    def session(self, secret: str) -> Session | None:
        """Who has a session; None if it ended."""
        present = int(self._clock())
        row = self.store.row(_SESSION, {"secret": hash_of(secret)})
        if row is None or not row.active:
            return None
        if row.used < present - IDLE_SECONDS or row.made < present - SESSION_SECONDS:
            return None
        if row.used < present - 60:
            self.store.leave_state()
            with clear_errors(), self.store.engine.begin() as connection:
                connection.execute(update(sessions).where(sessions.c.hash == row.hash).values(used=present))
        until = moment(_seconds(row.changed) + INITIAL_SECONDS)[:10] if row.initial else ""
        return Session(Person(row.person, row.role), row.csrf, row.made >= present - RECENT_SECONDS, until)

    def sessions(self, name: str) -> list[Login]:
        """The sessions of an account, the newest first."""
        query = select(sessions).where(sessions.c.person == name).order_by(sessions.c.made.desc(), sessions.c.hash)
        return [Login(row.hash, moment(row.made), moment(row.used)) for row in self.store.rows(query)]

    def end_session(self, name: str, id: str) -> None:
        """Ends one session of an account; see ``Login.id``."""
        with clear_errors(), self.store.engine.begin() as connection:
            connection.execute(delete(sessions).where(sessions.c.person == name, sessions.c.hash == id))

    def log_out(self, secret: str) -> None:
        """Ends a session."""
        with clear_errors(), self.store.engine.begin() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == hash_of(secret)))

    def log_out_everywhere(self, name: str, but: str = "") -> None:
        """Ends all sessions of an account, except that of the secret ``but``."""
        with clear_errors(), self.store.engine.begin() as connection:
            others = sessions.c.hash != hash_of(but)
            connection.execute(delete(sessions).where(sessions.c.person == name, others))

    def change_password(self, name: str, old: str, new: str, address: str) -> str:
        """Sets another password after checking the old one, and returns the secret of a new session.

        Raises:
            FathomError: The old one is wrong, or the new one is too short or long.
        """
        self.log_out(self.log_in(name, old, address))
        self.set_password(name, self._checked(new, name), self.person(name))
        return self.new_session(name)

    # Tokens

    def make_token(self, name: str, days: float = TOKEN_DAYS) -> str:
        """Makes a token for programs and returns it; only its hash is stored.

        Raises:
            FathomError: There is no account, or the days are out of range.
        """
        self.person(name)
        token, stored = new_token(days, self._clock())
        self._log(name, "token", AT_SERVER)
        with clear_errors(), self.store.engine.begin() as connection:
            connection.execute(insert(tokens).values(person=name, **asdict(stored)))
        return token

    def revoke_tokens(self, name: str) -> int:
        """Revokes all tokens of an account and returns their number."""
        self.person(name)
        self._log(name, "revoke", AT_SERVER)
        with clear_errors(), self.store.engine.begin() as connection:
            return connection.execute(delete(tokens).where(tokens.c.person == name)).rowcount

    def holder(self, token: str) -> Session | None:
        """Who has a token; None if it is unknown, expired or revoked, or the account is switched off."""
        if (key := key_of(token)) is None:
            return None
        query = select(tokens, people.c.role, people.c.active).join(people, people.c.name == tokens.c.person)
        row = self.store.row(query.where(tokens.c.key == key))
        if row is None or not row.active or not is_same(row.hash, token):
            return None
        return Session(Person(row.person, row.role), "") if row.expires > moment(self._clock()) else None

    # Failed logins

    def _throttle(self, name: str, address: str) -> None:
        since = int(self._clock()) - WINDOW_SECONDS
        for key, most in ((f"name {name[:64]}", MOST_FAILURES), (f"from {address[:64]}", MOST_FAILURES_OF_ADDRESS)):
            query = select(func.count(), func.min(failures.c.at)).where(failures.c.key == key, failures.c.at > since)
            with self.store.reader() as connection:
                count, first = connection.execute(query).one()
            if count >= most:
                raise ThrottledError(int(first) - since)

    def _failed(self, name: str, address: str) -> NoReturn:
        present = int(self._clock())
        with clear_errors(), self.store.engine.begin() as connection:
            connection.execute(delete(failures).where(failures.c.at < present - WINDOW_SECONDS))
            for key in (f"name {name[:64]}", f"from {address[:64]}"):
                connection.execute(insert(failures).values(key=key, at=present))
        raise LoginError("name or password is wrong; an administrator can set another password")

    # Passwords

    def _hashed(self, password: str, name: str) -> str:
        return self._hasher.hash(self._checked(password, name))

    def _checked(self, password: str, name: str) -> str:
        checked_text(password, "password")
        if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
            raise RefusedError(
                f"the password has {len(password)} characters; expected {LEAST_PASSWORD} to {MOST_PASSWORD}"
            )
        from zxcvbn import zxcvbn  # type: ignore[import-untyped]

        # Longer ones are not easier to guess than their beginning, and would take long to check.
        guesses = zxcvbn(password[:_MOST_CHECKED], user_inputs=[name, *OWN_WORDS])["guesses"]
        if guesses < LEAST_GUESSES:
            raise RefusedError("the password is too easy to guess; choose several words, or let one be made")
        return password

    def _matches(self, hashed: str, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError

        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return False

    def _hash_of_nobody(self) -> str:
        """A hash to compare with where there is no account, so that this takes as long."""
        self._unknown = self._unknown or self._hasher.hash(secrets.token_urlsafe(15))
        return self._unknown

    def _log(self, name: str, what: str, by: Person) -> None:
        self.store.note(Note(ACCOUNT, name, canonical({"what": what})), by)

    def _put_password(self, connection: Connection, name: str, hashed: str, initial: bool) -> None:
        values = {"password": hashed, "changed": moment(self._clock()), "initial": int(initial)}
        connection.execute(update(people).where(people.c.name == name).values(**values))


@cache
def _argon2() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher()


def _seconds(text: str) -> int:
    """The reverse of ``moment``."""
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def _network(address: str) -> str:
    """The address whose failures are counted: of IPv6, the network that one person usually has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return printable(address[:64])  # a proxy may send anything
    return str(parsed) if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
