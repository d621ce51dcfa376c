from dataclasses import replace

from fathom.studio.log import Head, new_entry
from fathom.studio.states import ACCOUNT, RATING
from fathom.studio.types import EVENTS, Note
from fathom.studio.web.words import DEEDS, NOTES, deed, language

ENTRY = new_entry(Head(), "2026-01-01T00:00:00Z", "eve", Note(RATING, "s-1", "{}"))


def test_every_event_has_words() -> None:
    assert set(DEEDS) == set(EVENTS) - {"Note"}


def test_notes_say_what_they_are() -> None:
    assert deed(ENTRY) == "rated it"
    assert {RATING, ACCOUNT} <= set(NOTES)
    assert deed(replace(ENTRY, body='{"topic":"other"}')) == "other"


def test_languages_have_names() -> None:
    assert [language(code) for code in ("en", "zh", "fr")] == ["English", "Chinese", "fr"]
