"""Pages of accounts: login, password, users and the log."""

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from fathom.server.answers import AnswerError
from fathom.studio.annotators import CHOICES, profile_of
from fathom.studio.log import Entry
from fathom.studio.people import SESSION_SECONDS, LoginError, ThrottledError
from fathom.studio.policies import POLICIES
from fathom.studio.states import RefusedError
from fathom.studio.types import ROLES, Role
from fathom.studio.web.visit import Visit
from fathom.types import FathomError

LOGGED = 100
BLIND = ("SubmitVerdicts", "SubmitReview", "Note")
"""What reviewers do before the answer review is decided; their notes are decisions on claims."""


def login_page(visit: Visit) -> Response:
    """The form for name and password."""
    return visit.to("/") if visit.session else visit.page("login", wrong="", name="")


def login(visit: Visit) -> Response:
    """Begins a session; one that there was ends."""
    name = visit.form.text("name").strip()
    try:
        secret = visit.people.log_in(name, visit.form.text("password"), visit.address)
    except (LoginError, ThrottledError) as error:
        status = 429 if isinstance(error, ThrottledError) else 401
        return visit.page("login", status, wrong=str(error), name=name[:64])
    _forget(visit)
    return _with_cookie(visit, visit.to("/"), secret)


def logout(visit: Visit) -> Response:
    """Ends the session."""
    _forget(visit)
    answer = visit.to("/login")
    answer.delete_cookie(visit.cookie, **_cookie_facts(visit))
    if visit.secure:  # browsers ignore it otherwise
        answer.headers["Clear-Site-Data"] = '"cache"'  # texts of documents
    return answer


def account_page(visit: Visit) -> Response:
    """Name, role, another password, and all sessions."""
    return _account(visit)


def confirm(visit: Visit) -> Response:
    """Begins another session after the password was given again, as changes of accounts need."""
    try:
        secret = visit.people.log_in(visit.me.name, visit.form.text("password"), visit.address)
    except (LoginError, ThrottledError) as error:
        status = 429 if isinstance(error, ThrottledError) else 400
        return _account(visit, status, wrong="the password is wrong; try again" if status == 400 else str(error))
    _forget(visit)
    to = "/users" if visit.form.text("to").startswith("/users") else "/account"
    return _with_cookie(visit, visit.to(to, "confirmed"), secret)


def end_sessions(visit: Visit) -> Response:
    """Ends one session of this person, or all others."""
    _check_recent(visit)
    if id := visit.form.text("id"):
        visit.people.end_session(visit.me.name, id)
    else:
        visit.people.log_out_everywhere(visit.me.name, but=visit.request.cookies.get(visit.cookie, ""))
    return visit.to("/account", "sessions")


def change_password(visit: Visit) -> Response:
    """Sets another password; all other sessions end."""
    form = visit.form
    if form.text("new") != form.text("again"):
        return _account(visit, 400, wrong="the two new passwords differ; write the same twice")
    try:
        secret = visit.people.change_password(visit.me.name, form.text("old"), form.text("new"), visit.address)
    except (LoginError, ThrottledError):
        return _account(visit, 400, wrong="the old password is wrong; try again")
    except FathomError as error:
        return _account(visit, 400, wrong=str(error))
    return _with_cookie(visit, visit.to("/account", "password"), secret)


def users_page(visit: Visit) -> Response:
    """All accounts."""
    return _users(visit)


def add_user(visit: Visit) -> Response:
    """Adds an account and shows its password once."""
    _check_recent(visit)
    name = visit.form.text("name").strip()
    try:
        password = visit.people.add(name, _role(visit), by=visit.me)
    except FathomError as error:
        return _users(visit, wrong=str(error))
    return _users(visit, made=(name, password))


def change_user(visit: Visit) -> Response:
    """Changes a role, switches an account off or on, ends sessions, or sets another password, which is shown once.

    Raises:
        AnswerError: The form asks for something else.
    """
    _check_recent(visit)
    name, what = visit.path("name"), visit.form.text("what")
    try:
        match what:
            case "role":
                visit.people.change(name, role=_role(visit), by=visit.me)
            case "off" | "on":
                visit.people.change(name, active=what == "on", by=visit.me)
            case "sessions":
                visit.people.log_out_everywhere(visit.people.person(name).name)
            case "password":
                return _users(visit, made=(name, visit.people.set_password(name, by=visit.me)))
            case _:
                raise AnswerError(400, "expected role, off, on, sessions or password; reload the page")
    except RefusedError as error:
        return _users(visit, wrong=str(error))
    return visit.to("/users", "saved")


def set_policy(visit: Visit) -> Response:
    """Chooses how samples are reviewed that begin a round from now on."""
    _check_recent(visit)
    chosen = next((name for name in POLICIES if name and name == visit.form.text("policy")), None)
    if chosen is None:
        return _users(visit, wrong="choose a policy")
    visit.store.set_policy(chosen, visit.me)
    return visit.to("/users", "saved")


def log_page(visit: Visit) -> Response:
    """What everybody did, the newest first, and the head of the chain."""
    entries = visit.store.log(before=visit.number("before"), limit=LOGGED)
    return visit.page("log", entries=hidden(visit, entries), head=str(visit.store.head()), more=len(entries) == LOGGED)


def hidden(visit: Visit, entries: list[Entry]) -> list[Entry]:
    """Entries without the names of reviewers of samples that are not decided yet."""
    open_ = visit.store.undecided({entry.subject for entry in entries if entry.kind in BLIND})
    return [
        replace(entry, person="(hidden)") if entry.kind in BLIND and entry.subject in open_ else entry
        for entry in entries
    ]


def _account(visit: Visit, status: int = 200, wrong: str = "") -> Response:
    about = {"profile": profile_of(visit.store, visit.me.name), "choices": CHOICES}
    return visit.page("account", status, wrong=wrong, sessions=visit.people.sessions(visit.me.name), **about)


def _check_recent(visit: Visit) -> None:
    """Asks for the password again before accounts are changed, in case the browser was left alone.

    Raises:
        AnswerError: It was given too long ago.
    """
    if visit.session is not None and not visit.session.recent:
        raise AnswerError(403, "give your password again on the page of your account, then send the form again")


def _users(visit: Visit, wrong: str = "", made: tuple[str, str] | None = None) -> Response:
    status = 400 if wrong else 200
    staff = visit.store.staff()
    about = {"staff": staff, "policies": POLICIES, "wrong": wrong, "made": made}
    return visit.page("users", status, users=visit.people.listed(), roles=ROLES, **about)


def _role(visit: Visit) -> Role:
    role = visit.form.text("role")
    if role not in ROLES:
        raise RefusedError(f"expected a role: {', '.join(ROLES)}")
    return role


def _forget(visit: Visit) -> None:
    if secret := visit.request.cookies.get(visit.cookie, ""):
        visit.people.log_out(secret)


def _with_cookie(visit: Visit, answer: Response, secret: str) -> Response:
    answer.set_cookie(visit.cookie, secret, max_age=SESSION_SECONDS, **_cookie_facts(visit))
    return answer


def _cookie_facts(visit: Visit) -> dict[str, Any]:
    return {"path": "/", "httponly": True, "samesite": "lax", "secure": visit.secure}
