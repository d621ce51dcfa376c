"""One request of somebody: who they are, what their form says, and answers."""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fathom.printing import printable
from fathom.server.answers import HEADERS, AnswerError
from fathom.server.limits import ConnectionLimits
from fathom.studio.checks import MOST_BYTES
from fathom.studio.histories import Histories
from fathom.studio.lists import ListedSample
from fathom.studio.people import People, Session
from fathom.studio.quotas import Design
from fathom.studio.states import may
from fathom.studio.store import Store
from fathom.studio.tasks import StudioTask
from fathom.studio.types import Person, Role
from fathom.studio.web.receiving import close, pieces_of, receive_files
from fathom.studio.web.words import NOTICES, STEPS, deed, language, standing

COOKIE = "fathom-studio"
PAGES = Path(__file__).parent / "pages"
STATIC = Path(__file__).parent / "static"
MOST_FIELDS = 20_000
KEPT_ROWS = 10_000
MOST_BEFORE_LOGIN = 1 << 16
"""Maximum bytes of a form of somebody who is not logged in."""
POLICY = HEADERS | {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Referrer-Policy": "same-origin",
}
"""Headers of every response: scripts and styles of this server only, no inline ones."""
HTTPS_ONLY = {"Strict-Transport-Security": "max-age=31536000; includeSubDomains"}
"""Headers of a server whose cookies are sent over HTTPS only."""


_NOBODY = {"until": "", "recent": False}


@dataclass(frozen=True)
class Settings(ConnectionLimits):
    """What a server of the studio is started with.

    Attributes:
        title: Title of its pages.
        tasks: Tasks by name; where there is none, new samples can name any.
        design: Which samples are wanted, and how many are audited and rated.
        secure: Whether cookies are sent over HTTPS only.
        hashes: Passwords that are checked at once; others wait.
        per_hour: Forms that one person may send in an hour.
    """

    title: str = "fathom studio"
    tasks: Mapping[str, StudioTask] = field(default_factory=dict)
    design: Design = Design()  # noqa: RUF009 - a frozen value
    secure: bool = False
    hashes: int = 2
    per_hour: int = 10_000


@dataclass(frozen=True)
class Form:
    """The fields of a form."""

    fields: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """A field with line ends as ``\\n``."""
        return self.fields.get(name, default).replace("\r\n", "\n")

    def number(self, name: str) -> int:
        """A whole number; 0 where the field is none."""
        return _whole(self.fields.get(name, ""))

    @property
    def seconds(self) -> float:
        """Time spent, as the page measured it; a day at most."""
        return float(min(self.number("seconds"), 86_400))


@dataclass(frozen=True)
class Visit:
    """One request of somebody.

    Attributes:
        settings: What the server was started with.
        people: Accounts.
        histories: What happened to samples, for statistics.
        session: Who it is; None before a login.
        form: Fields of its form.
        files: Files of its form, for routes that take some.
    """

    request: Request
    settings: Settings
    store: Store
    people: People
    histories: Histories
    session: Session | None = None
    form: Form = Form()
    files: tuple[UploadFile, ...] = ()

    @property
    def me(self) -> Person:
        """Who it is.

        Raises:
            AnswerError: Nobody is logged in.
        """
        if self.session is None:
            raise AnswerError(401, "log in first")
        return self.session.person

    @property
    def address(self) -> str:
        """Where the request is from."""
        return self.request.client.host if self.request.client else "-"

    @property
    def secure(self) -> bool:
        """Whether the browser talks over HTTPS."""
        return self.settings.secure or self.request.url.scheme == "https"

    @property
    def cookie(self) -> str:
        """Name of the session's cookie: over HTTPS with the prefix that no other host and no plain HTTP can set."""
        return f"__Host-{COOKIE}" if self.secure else COOKIE

    def path(self, name: str) -> str:
        """A part of the path.

        Raises:
            AnswerError: It cannot be the name of anything.
        """
        text = str(self.request.path_params[name])
        if "\0" in text:  # PostgreSQL would refuse the query
            raise AnswerError(404, "there is no such page")
        return text

    def query(self, name: str) -> str:
        """A parameter of the address."""
        return self.request.query_params.get(name, "")[:200].replace("\0", "")

    def number(self, name: str) -> int:
        """A parameter of the address that is a whole number; 0 where it is none."""
        return _whole(self.query(name))

    def page(self, template: str, code: int = 200, **values: Any) -> Response:
        """A page made from a template."""
        me = self.session.person if self.session else None
        about = {"me": me, "csrf": self.session.csrf if self.session else "", "path": self.request.url.path}
        known = {"until": self.session.until, "recent": self.session.recent} if self.session else _NOBODY
        rights = {role: bool(me and may(me.role, role)) for role in ("annotator", "expert", "administrator")}
        text = (
            templates()
            .get_template(f"{template}.html")
            .render(**about, **known, may=rights, notice=self.query("done"), **values)
        )
        return HTMLResponse(with_shown_directions(text), code)

    def to(self, path: str, done: str = "") -> Response:
        """A redirection after a form, with a message."""
        return RedirectResponse(path + (f"?done={done}" if done else ""), 303)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


@cache
def templates() -> Environment:
    """Templates, in which every value is escaped."""
    rules: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True}
    environment = Environment(loader=FileSystemLoader(PAGES), auto_reload=False, **rules)
    environment.globals["notices"] = NOTICES
    environment.globals["steps"] = STEPS
    environment.filters["plain"] = printable
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["label"] = lambda name: str(name).replace("_", " ")
    environment.filters["language"] = language
    environment.filters["deed"] = deed
    environment.filters["standing"] = standing
    environment.filters["when"] = lambda text: text.replace("T", " ").removesuffix("Z")
    environment.filters["record"] = _record
    environment.filters["mined_key"] = mined_key
    environment.filters["row"] = _row
    return environment


_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # not the marks of ordinary Arabic and Hebrew texts
_TAGS = re.compile(r"(<(?:textarea|title)\b[^>]*>[^<]*|<script\b.*?</script>|<[^>]*>)", re.DOTALL)


def with_shown_directions(page: str) -> str:
    """A page in which direction controls in texts are named, because they make a text look like another one.

    Values of fields keep them, so that what is saved is what was there. Every value of a page is escaped: within tags
    and fields there is no ``<`` or ``>``.
    """
    if _DIRECTIONS.search(page) is None:
        return page
    parts = _TAGS.split(page)
    parts[::2] = [_DIRECTIONS.sub(lambda mark: f"<mark>U+{ord(mark[0]):04X}</mark>", text) for text in parts[::2]]
    return "".join(parts)


def mined_key(text: str) -> str:
    """The end of the names of a mined component's fields: the same for a draft, whatever models answer meanwhile."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=KEPT_ROWS)
def _row(listed: ListedSample, state: str, at_work: str = "") -> Markup:
    """A sample in the queue. Rows are kept because most requests show the same; they show nothing but these values."""
    return Markup(templates().get_template("row.html").render(one=listed, state=state, at_work=at_work))


def _record(value: Any) -> str:
    from fathom.studio.records import as_record

    return json.dumps(as_record(value))


def known(visit: Visit, least: Role | None) -> Visit:
    """A request with who sent it.

    Args:
        least: The role it needs; None for none.

    Raises:
        AnswerError: They are not logged in, or have not the right.
    """
    visit = replace(visit, session=_session(visit))
    visit.request.state.visit = visit
    visit.request.state.holder = visit.session.person.name if visit.session else "-"
    if least is not None and not may(visit.me.role, least):
        raise AnswerError(403, f"this needs the role {least}; ask an administrator")
    return visit


async def with_form(visit: Visit, least: Role | None, *, files: bool = False) -> Visit:
    """A request with its form.

    Args:
        visit: The request with who sent it.
        least: The role it needs; None for none.
        files: Whether the form may have files, which are to be closed.

    Raises:
        AnswerError: The form cannot be read, or is not from a page of this server.
    """
    session = visit.session
    _check_origin(visit.request)
    most = 2 * MOST_BYTES if session is not None else MOST_BEFORE_LOGIN
    if files and visit.request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        fields, received = await receive_files(visit.request)
        visit = replace(visit, form=Form(fields), files=received)
    else:
        visit = replace(visit, form=await _form(visit.request, most))
    sent = visit.request.headers.get("x-csrf", "") or visit.form.text("csrf")
    by_token = "authorization" in visit.request.headers  # browsers do not send that by themselves
    needed = least is not None and session is not None and not by_token  # the login page has no session yet
    if needed and session is not None and not hmac.compare_digest(sent.encode(), session.csrf.encode()):
        close(visit.files)
        raise AnswerError(403, "the form is too old; go back, reload the page and send it again")
    visit.request.state.visit = visit
    return visit


def _session(visit: Visit) -> Session | None:
    header = visit.request.headers.get("authorization")
    if header is not None:
        kind, _, token = header.partition(" ")
        holder = visit.people.holder(token.strip()) if kind.lower() == "bearer" else None
        if holder is None:
            raise AnswerError(401, "the token is unknown, expired or revoked; ask an administrator for another")
        return holder
    secret = visit.request.cookies.get(visit.cookie, "")
    return visit.people.session(secret) if secret else None


def _check_origin(request: Request) -> None:
    """Refuses forms of other sites, also before a login."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = origin is None or origin.partition("://")[2] == request.headers.get("host")
    # Browsers say where a form is from; the origin is compared for those that do not.
    if not (own if site is None else site in ("same-origin", "none")):
        raise AnswerError(403, "this form was sent by another site; use the pages of the studio")


async def _form(request: Request, most: int) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = b"".join([piece async for piece in pieces_of(request, most)])
    if not body:
        return Form()
    try:
        text = body.decode("utf-8")
        if kind == "application/x-www-form-urlencoded":
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
            return Form(dict(pairs))
        if kind == "application/json":
            return Form(texts_of(text))
    except (ValueError, RecursionError):
        pass
    raise AnswerError(400, "the form cannot be read; send fields as application/x-www-form-urlencoded or as JSON texts")


def texts_of(text: str) -> dict[str, str]:
    """The fields of a form from JSON.

    Raises:
        ValueError: It is no object of texts, has too many, or half of a surrogate pair, which no page can show.
        RecursionError: It is nested too deeply.
    """
    values = json.loads(text)
    if not isinstance(values, dict) or len(values) > MOST_FIELDS:
        raise ValueError("no object, or too many fields")
    if not all(isinstance(value, str) for value in values.values()):
        raise ValueError("a field is no text")
    for value in (*values, *values.values()):
        value.encode()
    return values
