from dataclasses import replace

from fathom.studio.log import Head, new_entry
from fathom.studio.states import ACCOUNT, RATING
from fathom.studio.types import ACTIONS, EVENTS, Note
from fathom.studio.web.words import NOTES, deed, language

ENTRY = new_entry(Head(), "2026-01-01T00:00:00Z", "eve", Note(RATING, "s-1", "{}"))


def test_every_event_has_words() -> None:
    assert all(kind.words.deed for kind in EVENTS.values())
    assert all(kind.words.notice for kind in ACTIONS.values() if kind.words.form)


def test_notes_say_what_they_are() -> None:
    assert deed(ENTRY) == "rated it"
    assert {RATING, ACCOUNT} <= set(NOTES)
    assert deed(replace(ENTRY, body='{"topic":"other"}')) == "other"


def test_languages_have_names() -> None:
    assert [language(code) for code in ("en", "zh", "fr")] == ["English", "Chinese", "fr"]
