"""The page on security names tests that exist, and some hundred fuzzed requests; the script sends ten thousand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))

from fathom.studio.web.app import ROUTES
from fathom.studio.web.forms import FORMS
from studio_fuzz import FIELDS, description, fuzz

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "studio-security.md"


def test_tests_that_the_page_names_exist() -> None:
    for line in PAGE.read_text("utf-8").splitlines():
        folders = {"studio", *re.findall(r"`tests/(\w+)`", line)}
        there = "".join(
            path.read_text("utf-8") for folder in folders for path in (ROOT / "tests" / folder).glob("test_*.py")
        )
        for name in re.findall(r"`(test_\w+)`", line):
            assert f"def {name}(" in there, name
    assert len(set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))) > 50


def test_every_route_and_form_is_described() -> None:
    paths = description()["paths"]
    assert {(one.method.lower(), one.path) for one in ROUTES} <= {(how, path) for path in paths for how in paths[path]}
    assert {f"/samples/{{id}}/{form}" for form in FORMS} <= set(paths)
    assert set(FIELDS) <= {*FORMS, "verdicts", *(one.path for one in ROUTES)}


@pytest.mark.slow
def test_no_fuzzed_request_is_an_internal_error() -> None:
    found = fuzz(requests=200, seed=19)
    assert found.faults == []
    assert found.requests == 200
    assert {200, 303, 400, 401, 403, 404, 409} <= set(found.statuses)
