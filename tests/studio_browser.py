"""Somebody's browser in tests of the studio, without a browser: pages, their forms, and cookies."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from fastapi.testclient import TestClient

from studio_stores import PASSWORD

PAGE = {"accept": "text/html"}


class Forms(HTMLParser):
    """The forms of a page: their fields by their address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str]] = {}
        self._fields: dict[str, str] = {}
        self._area = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._fields = self.found.setdefault(values.get("action", ""), {})
        if (
            tag == "input"
            and "name" in values
            and (values.get("type") not in ("radio", "checkbox") or "checked" in values)
        ):
            self._fields[values["name"]] = values.get("value", "")
        if tag == "textarea":
            self._area = values["name"]
            self._fields[self._area] = ""

    def handle_endtag(self, tag: str) -> None:
        self._area = "" if tag == "textarea" else self._area

    def handle_data(self, data: str) -> None:
        if self._area:
            self._fields[self._area] += data


@dataclass
class Browser:
    """Somebody's browser: cookies, and forms that are sent as the page has them."""

    app: Any
    client: TestClient = field(init=False)
    csrf: str = ""
    base: str = "http://testserver"

    def __post_init__(self) -> None:
        self.client = TestClient(self.app, self.base, follow_redirects=False, raise_server_exceptions=False)
        self.client.headers.update(PAGE)

    def log_in(self, name: str, password: str = PASSWORD) -> Browser:
        assert self.client.post("/login", data={"name": name, "password": password}).status_code == 303
        self.csrf = self.forms("/account")["/logout"]["csrf"]
        return self

    def page(self, path: str) -> str:
        answer = self.client.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
        return answer.text

    def forms(self, path: str) -> dict[str, dict[str, str]]:
        return Forms(self.page(path)).found

    def send(self, page: str, action: str, **fields: str) -> Any:
        form = self.forms(page)
        assert action in form, (action, list(form))
        return self.client.post(
            action, data=form[action] | {name.replace("_", "-"): one for name, one in fields.items()}
        )

    def post(self, path: str, **fields: str) -> Any:
        return self.client.post(path, data={"csrf": self.csrf, **fields})
