"""nginx and Caddy, configured as ``deploy`` does it, in front of the real studio with ``--secure``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import httpx
import pytest
from proxies import NAMES, Proxy, proxy

from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import Person
from fathom.studio.web.visit import HTTPS_ONLY, POLICY
from processes import MAIN, start_program, until
from studio_browser import Forms
from studio_stores import OPERATOR, PASSWORD

pytestmark = [pytest.mark.slow, pytest.mark.long]
MIB = 1 << 20


@pytest.fixture(params=[(name, 20) for name in NAMES], ids=NAMES)
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Proxy]:
    """A proxy in front of a studio with one account."""
    place = tmp_path / "store"
    with closing(Store(str(place))) as store:
        people = People(store)
        store.set_person(Person("ann", "annotator"), OPERATOR)
        people.set_password("ann", PASSWORD)
    name, seconds = request.param
    with (
        served(place, tmp_path) as address,
        proxy(name, "studio", address, tmp_path / "proxy", upload_seconds=seconds) as found,
    ):
        yield found


@contextmanager
def served(place: Path, folder: Path) -> Iterator[str]:
    words = ["studio", "serve", "--port", "0", "--secure", "--proxy", "127.0.0.1", "--store", str(place)]
    log = folder / "server.log"
    with log.open("wb") as stream:
        process = start_program(MAIN, *words, stderr=stream.fileno(), cwd=folder)
    try:
        until(lambda: "studio is at" in log.read_text("utf-8"), process)
        yield re.findall(r"http://\S+", log.read_text("utf-8"))[0]
    finally:
        process.kill()
        process.wait()


@contextmanager
def logged_in(front: Proxy) -> Iterator[httpx.Client]:
    with front.client(headers={"Accept": "text/html", "Origin": front.address.rstrip("/")}) as client:
        answer = client.post("login", data={"name": "ann", "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        yield client


def test_people_log_in_and_add_documents(front: Proxy, tmp_path: Path) -> None:
    with logged_in(front) as client:
        assert {cookie.name for cookie in client.cookies.jar} == {"__Host-fathom-studio"}
        assert all(cookie.secure for cookie in client.cookies.jar)
        page = client.get("documents")
        names = [key.lower() for key, _ in page.headers.multi_items()]
        for one in (*POLICY, *HTTPS_ONLY, "X-Request-ID", "Cache-Control"):
            assert names.count(one.lower()) == 1, one
        csrf = Forms(page.text).found["/logout"]["csrf"]
        form = {"csrf": csrf, "language": "en", "source": "made", "licence": "CC0"}
        text = "The lamp was lit by Ida at six. " * 4000
        added = client.post("documents", data=form, files={"files": ("lamp.txt", text.encode(), "text/plain")})
        assert added.status_code in (200, 303), added.text[:500]
        assert "lamp" in client.get("documents").text
        # The server's limit of one file, with its own words; the proxy's of a form.
        large = {"files": ("large.txt", b"x" * (65 * MIB), "text/plain")}
        refused = client.post("documents", data=form, files=large)
        assert refused.status_code in (200, 303, 413), refused.status_code
        others = client.post("login", data={"name": "ann", "password": "x"}, headers={"Origin": "https://evil.example"})
        assert others.status_code == 403
    assert "127.0.0.1 ann POST /documents" in (tmp_path / "server.log").read_text("utf-8")


@pytest.mark.parametrize("front", [(name, 2) for name in NAMES], ids=NAMES, indirect=True)
def test_a_form_beyond_all_limits_is_refused(front: Proxy) -> None:
    """It is refused by what it announces, before its body is sent."""
    with (
        logged_in(front) as client,
        closing(HTTPSConnection("localhost", front.port, context=front.context, timeout=30)) as connection,
    ):
        connection.putrequest("POST", "/documents")
        for name, value in {
            "Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies.jar),
            "Origin": front.address.rstrip("/"),
            "Content-Type": "multipart/form-data; boundary=x",
            "Content-Length": str(300 * MIB),
        }.items():
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_nginx_limits_logins_of_an_address(tmp_path: Path) -> None:
    with closing(Store(str(tmp_path / "store"))):
        pass
    with (
        served(tmp_path / "store", tmp_path) as address,
        proxy("nginx", "studio", address, tmp_path / "proxy") as front,
        front.client() as client,
    ):
        origin = {"Origin": front.address.rstrip("/")}

        def status(number: int) -> int:
            return client.post("login", data={"name": f"n{number}", "password": "x"}, headers=origin).status_code

        # At once: one after the other, a busy machine may take longer than the limit has them wait.
        with ThreadPoolExecutor(20) as threads:
            assert set(threads.map(status, range(20))) == {401, 429}
        assert client.get("health/live").status_code == 200
