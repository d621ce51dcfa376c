"""Fuzzed requests against a server of the studio: how many end in anything but a clear answer.

All routes are described in OpenAPI, with the fields of their forms as people send them and as JSON, and schemathesis
makes requests of them: right ones, and ones that break the description. They are sent to a server of its own with
samples in every state, by somebody without a login, by people of each role, and with a token, mostly with the secret of
the session and sometimes without. No answer may be an internal error, name the program's insides, lack a header or lead
to another host, and afterwards the store must be what its log says. What fails is printed, and the script ends with 1.

    python performance/studio_fuzz.py                    # 10,000 requests: some minutes
    python performance/studio_fuzz.py --requests 500 --seed 3
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fathom.studio.auditing import audit
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import (
    DOCUMENT_STATES,
    STATES,
    AddPredictions,
    Adjudicate,
    Prediction,
    Reject,
    ReviewDocument,
    StudioDocument,
)
from fathom.studio.types import Audit as AuditSample
from fathom.studio.web.app import ROUTES, Route
from fathom.studio.web.forms import FORMS
from fathom.studio.web.visit import POLICY
from loopback_studio import serving
from postgres import postgres
from studio_stores import DOCUMENT, OPERATOR, PEOPLE, create, fill, person, quick_hasher, review, to_answer_review

SECRETLESS = 0.1
"""Share of requests without the secret of the session, which are refused."""
GUEST = "zoe"
"""Whose sessions end, and whose account is changed, so that the others stay logged in."""
ENDING = ("/logout", "/account/password", "/account/confirm", "/account/sessions")
INSIDES = re.compile(r"Traceback|File &#34;|File \"|sqlalchemy|sqlite3|psycopg|/site-packages/|argon2id")
HEADERS = (*POLICY, "Cache-Control")

Fields = Mapping[str, dict[str, Any]]
_ANY: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "string", "pattern": "^[0-9]{1,12}$"}


def _either(*values: str) -> dict[str, Any]:
    """One of these texts; requests that break the description have another one."""
    return {"type": "string", "enum": list(values)}


_EVIDENCE = _either(
    json.dumps([{"document": DOCUMENT, "start": 20, "end": 23, "quote": "Ida"}]),
    json.dumps([{"document": DOCUMENT, "start": 20, "end": 24, "quote": "Ida"}]),
    '[{"document": "x"}]',
    "[" * 2000,
    "null",
)
_VERSION = _either(*map(str, range(1, 8)))
_CONTENT: Fields = {
    "question": _ANY,
    "rationale": _ANY,
    "solution": _ANY,
    "requirement": _either("full", "partial"),
    **{f"component-{at}": _ANY for at in range(3)},
    **{f"component-evidence-{at}": _EVIDENCE for at in range(2)},
    "then": _either("submit"),
}
_REVIEW: Fields = {
    **{f"mark-{at}": _either("right", "wrong", "unsure") for at in range(3)},
    **{f"note-{at}": _ANY for at in range(2)},
    "verdict-evidence-0": _EVIDENCE,
    "missing-0": _ANY,
    "missing-evidence-0": _EVIDENCE,
    "problem": _ANY,
    "reason": _ANY,
}
FIELDS: Mapping[str, Fields] = {
    "select": {"candidate": _either("c1", "c2")},
    "write": _CONTENT,
    "edit": _CONTENT,
    "submit": {},
    "pass": {"reason": _ANY},
    "return": {"reason": _ANY},
    "standardise": {"prompt_thinking": _ANY, "prompt_answering": _ANY},
    "verdicts": _REVIEW,
    "review": _REVIEW,
    "adjudicate": {"decision": _either("accept", "reconstruct"), "reason": _ANY},
    "reconstruct": {},
    "reject": {"reason": _ANY},
    "audit": {"verdict": _either("pass", "problem"), "reason": _ANY},
    "/login": {"name": _either(*PEOPLE), "password": _ANY},
    "/account/password": {"old": _ANY, "new": _ANY, "again": _ANY},
    "/account/confirm": {"password": _ANY, "to": _either("/users", "//evil.test")},
    "/account/sessions": {"id": _ANY},
    "/users": {"name": {"type": "string", "pattern": "^[A-Za-z0-9]{1,9}$"}, "role": _either("reader", "expert")},
    "/users/{name}": {
        "what": _either("role", "on", "off", "password", "sessions"),
        "role": _either("reader", "expert"),
    },
    "/samples": {"document": _either(DOCUMENT), "task": _either("qa")},
    "/documents": {
        "source": _ANY,
        "licence": _ANY,
        "domain": _ANY,
        "format": _ANY,
        "language": _either("en", "zh", ""),
    },
    "/documents/{id}": {"state": _either(*DOCUMENT_STATES), "reason": _ANY, "seconds": _NUMBER},
    "/drafts/{subject}/{form}": {"version": _VERSION, "body": _either('{"question": "Half"}', "{}", "[]", "{")},
}
"""Fields of each form of a sample, and of each other form."""
_OF_A_SAMPLE: Fields = {"version": _VERSION, "seconds": _NUMBER}
_UNKNOWN: Fields = {**_CONTENT, **_REVIEW, "what": _ANY, "name": _ANY, "id": _ANY, "subject": _ANY}
_QUERY: Fields = {
    "state": _either(*STATES, *DOCUMENT_STATES),
    "language": _either("en", "zh"),
    "task": _either("qa"),
    "offset": _NUMBER,
    "before": _NUMBER,
    "done": _either("saved", "edit"),
}


def description() -> dict[str, Any]:
    """All routes in OpenAPI."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        for path, fields in _paths(route):
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, path, fields)
    return {"openapi": "3.1.0", "info": {"title": "fathom studio", "version": "1"}, "paths": paths}


def _paths(route: Route) -> Iterator[tuple[str, Fields]]:
    """The paths of a route: one for each form of a sample."""
    if route.path == "/samples/{id}/{form}":
        for form in FORMS:
            yield f"/samples/{{id}}/{form}", {**FIELDS.get(form, _UNKNOWN), **_OF_A_SAMPLE}
    yield route.path, FIELDS.get(route.path, _UNKNOWN)


def _operation(route: Route, path: str, fields: Fields) -> dict[str, Any]:
    parts = [_part(path, name) for name in re.findall(r"{(\w+)}", path)]
    made: dict[str, Any] = {"responses": {"200": {"description": "a page"}}, "parameters": parts}
    if route.method == "GET":
        made["parameters"] += [{"name": name, "in": "query", "schema": one} for name, one in _QUERY.items()]
    else:
        schema = {"type": "object", "properties": dict(fields), "additionalProperties": _ANY}
        whole = schema | {"required": list(fields)}
        kinds = {"application/x-www-form-urlencoded": whole, "application/json": schema}
        if route.files:
            files = {"type": "array", "items": {"type": "string", "format": "binary"}}
            kinds["multipart/form-data"] = whole | {"properties": {**fields, "files": files}}
        made["requestBody"] = {"content": {kind: {"schema": one} for kind, one in kinds.items()}}
    return made


def _part(path: str, name: str) -> dict[str, Any]:
    known = {"name": (GUEST,), "form": tuple(FORMS), "id": (DOCUMENT, "no-text") if "documents" in path else SAMPLES}
    return {"name": name, "in": "path", "required": True, "schema": _either(*known.get(name, SAMPLES))}


SAMPLES = tuple(f"s-{number}" for number in range(48))
KINDS = 12


def fill_all(store: Store) -> None:
    """Samples in each state, most of them at the beginning or in review."""
    fill(store)
    store.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
    store.add_document(StudioDocument("no-text", "No text", "zh", "made"), "")
    for at, id in enumerate(SAMPLES):
        kind = at % KINDS
        now = create(store, id) if kind < 4 else to_answer_review(store, id)
        if kind == 6:
            now = store.act(AddPredictions(id, now.version, (Prediction("m", ("Ida",), False, 1.0),)), OPERATOR)
        if kind > 6:
            now = store.act(review(now), person("bo"))
        if kind > 7:
            now = store.act(review(now, good=kind < 10), person("cy"))
        if kind == 3:
            store.act(Reject(id, now.version, "Not about the text."), person("eve"))
        if kind == 8:
            store.act(AuditSample(id, now.version, "pass"), person("ed"))
        if kind == 11:
            store.act(Adjudicate(id, now.version, "reconstruct", "Bo is right."), person("ed"))


@dataclass
class Found:
    """What came of the requests.

    Attributes:
        requests: Number of requests.
        seconds: Time of all of them.
        statuses: Number of answers by status.
        done: Actions that were done, by path.
        faults: What must not be, the first ones.
    """

    requests: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@dataclass
class Senders:
    """Headers of people who send requests."""

    people: People
    rng: random.Random
    kept: dict[str, dict[str, str]] = field(default_factory=dict)

    def headers(self, path: str) -> dict[str, str]:
        """Headers of somebody."""
        name = GUEST if path in ENDING else self.rng.choice(("", "token", "ray", "ann", "bo", "eve", "ed", "ada"))
        if name == "":
            return {}
        if name == GUEST or name not in self.kept:
            self.kept[name] = self._log_in(name)
        headers = dict(self.kept[name]) | {"accept": self.rng.choice(("text/html", "*/*"))}
        if self.rng.random() < SECRETLESS:
            headers.pop("x-csrf", None)
        return headers

    def _log_in(self, name: str) -> dict[str, str]:
        if name == "token":
            return {"authorization": f"Bearer {self.people.make_token('cy')}"}
        if name == GUEST:
            self.people.change(name, role="annotator", active=True)
        secret = self.people.new_session(name)
        session = self.people.session(secret)
        assert session is not None
        return {"cookie": f"fathom-studio={secret}", "x-csrf": session.csrf}


def fuzz(requests: int, seed: int, kind: str = "sqlite") -> Found:
    """Send so many requests, and see what comes of them."""
    with postgres() if kind == "postgresql" else tempfile.TemporaryDirectory() as place, closing(Store(place)) as store:
        fill_all(store)
        people = People(store, hasher=quick_hasher())
        people.add(GUEST, "annotator")
        with serving(place) as (address, process):
            found = _send_all(requests, seed, address, Senders(people, random.Random(seed)))
            if process.poll() is not None:
                found.faults.append("the server ended")
        found.faults += audit(store).problems
    return found


def _send_all(requests: int, seed: int, address: str, senders: Senders) -> Found:
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import Unsatisfiable
    from requests import Session
    from schemathesis.core.result import Ok

    described = schemathesis.openapi.from_dict(description()).get_all_operations()
    operations = [one.ok() for one in described if isinstance(one, Ok)]
    assert len(operations) >= len(ROUTES)
    modes = list(schemathesis.GenerationMode)
    found, began, turn = Found(), time.monotonic(), 0
    with Session() as session:
        while found.requests < requests:
            left = requests - found.requests
            each = max(1, min(40, left // (len(operations) * len(modes))))
            before = found.requests
            for operation in operations:
                for mode in modes:
                    if found.requests >= requests:
                        break

                    @seeded(seed + turn)
                    @settings(
                        max_examples=each,
                        database=None,
                        deadline=None,
                        phases=[Phase.generate],
                        suppress_health_check=list(HealthCheck),
                    )
                    @given(operation.as_strategy(generation_mode=mode))
                    def send(case: Any) -> None:
                        if found.requests < requests:
                            _send(case, session, address, senders, found)

                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        with suppress(Unsatisfiable):  # nothing breaks a description without fields
                            send()
            turn += 1
            assert found.requests > before
    found.seconds = time.monotonic() - began
    return found


def _send(case: Any, session: Any, address: str, senders: Senders, found: Found) -> None:
    headers = senders.headers(case.path)
    session.cookies.clear()
    answer = case.call(base_url=address, session=session, headers=headers, allow_redirects=False, timeout=120)
    found.requests += 1
    found.statuses[answer.status_code] += 1
    if case.method.upper() == "POST" and answer.status_code in (200, 303):
        found.done[case.path] += 1
    named = {name.lower() for name in answer.headers}
    place = next(iter(answer.headers.get("location", ["/"])))
    text = answer.content.decode("utf-8", "replace")
    reasons = {
        "an internal error": answer.status_code >= 500,
        "the program's insides": INSIDES.search(text) is not None,
        "a header is missing": not {name.lower() for name in HEADERS} <= named,
        "it leads to another host": re.match(r"/(?![/\\])", place) is None,
    }
    for reason, is_so in reasons.items():
        if is_so and len(found.faults) < 20:
            found.faults.append(
                f"{reason}: {case.method} {case.formatted_path} {case.body!r:.300}: {answer.status_code}"
            )


def main() -> int:
    """Print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    chosen = parser.parse_args()
    found = fuzz(chosen.requests, chosen.seed, chosen.store)
    counts = ", ".join(f"{count:,} of status {status}" for status, count in sorted(found.statuses.items()))
    print(f"{found.requests:,} requests in {found.seconds:.0f} s: {counts}")
    print(f"{sum(found.done.values()):,} forms were accepted, of {len(found.done)} of {len(ROUTES)} routes and forms")
    for path, count in sorted(found.done.items()):
        print(f"  {path}: {count:,}")
    for one in found.faults:
        print(f"FAULT: {one}")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
