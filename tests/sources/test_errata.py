"""Faulty questions of public data sets, by fingerprint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.sources.errata import Erratum, checksum, corrected, fingerprint, own_errata, read_errata
from fathom.types import FathomError, Question
from made import make_document

ENTRY = '["{name}"]\nsource = "mine"\nfault = "{fault}"\nreason = "two answers are right"\n'
NAME = "0123456789abcdef"


def write(path: Path, name: str = NAME, fault: str = "ambiguous") -> str:
    path.write_text(ENTRY.format(name=name, fault=fault))
    return str(path)


def test_a_fingerprint_is_of_the_question_with_its_answers() -> None:
    known = fingerprint("Who keeps it?", ["Ann", "Bob"])
    assert known == fingerprint("  WHO keeps\n it?", ("bob", "Ann", "ann"))
    assert known != fingerprint("Who keeps it?", ["Ann"])
    assert known != fingerprint("Who kept it?", ["Ann", "Bob"])


@given(st.text(), st.lists(st.text()))
def test_a_fingerprint_is_always_sixteen_digits(question: str, answers: list[str]) -> None:
    found = fingerprint(question, answers)
    assert len(found) == 16
    assert found == fingerprint(question, reversed(answers))


def test_fathoms_own_errata_give_reasons_and_no_text_of_the_data() -> None:
    own = own_errata()
    assert len(own) >= 20
    assert all(erratum.reason and erratum.source for erratum in own.values())
    assert {erratum.fault for erratum in own.values()} == {"absent", "ambiguous", "dependent", "wrong", "unsuitable"}


def test_a_faulty_question_or_summary_is_left_out_and_the_text_stays() -> None:
    made = make_document(1)
    other = Question("Which volume is it?", ("1",))
    made = replace(made, questions=(*made.questions, other))
    wrong = fingerprint(made.questions[0].text, made.questions[0].answers)
    errata = {name: Erratum("made", "wrong", "a test") for name in (wrong, fingerprint("", [made.summary]))}
    kept, found = corrected(made, errata)
    assert (kept.questions, kept.summary, kept.text) == ((other,), "", made.text)
    assert set(found) == set(errata)
    assert corrected(made, {NAME: Erratum("made", "wrong", "a test")}) == (made, [])


def test_an_entry_without_answers_is_about_a_question_with_any_answer() -> None:
    made = make_document(1)
    asked, other = made.questions[0], Question("Which volume is it?", ("1",))
    made = replace(made, questions=(asked, replace(asked, answers=("another answer",)), other))
    kept, found = corrected(made, {fingerprint(asked.text, ()): Erratum("made", "ambiguous", "a test")})
    assert kept.questions == (other,)
    assert found == [fingerprint(asked.text, ())] * 2


def test_a_users_file_adds_to_fathoms_own_or_replaces_it(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.toml")
    assert set(read_errata([file])) == {*own_errata(), NAME}
    assert read_errata(["none", file]) == {NAME: Erratum("mine", "ambiguous", "two answers are right")}
    assert read_errata(["none"]) == {}
    assert checksum(read_errata([file])) != checksum(own_errata()) == checksum(read_errata([]))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (ENTRY.format(name="How big?", fault="wrong"), "expected a fingerprint of 16 hexadecimal digits"),
        (ENTRY.format(name=NAME, fault="bad"), "the field 'fault' is 'bad'; expected one of absent, ambiguous"),
        (f'["{NAME}"]\nfault = "wrong"\n', "the field 'source' is missing; expected a text"),
        (f'"{NAME}" = "wrong"\n', "holds a value of type str; expected an object"),
        ("[", "not valid TOML"),
    ],
)
def test_a_wrong_entry_is_named_with_what_was_expected(tmp_path: Path, content: str, named: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content)
    with pytest.raises(FathomError, match=r"mine\.toml") as raised:
        read_errata([str(file)])
    assert named in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"`errata` .*missing\.toml: cannot be read"):
        read_errata([str(tmp_path / "missing.toml")])
