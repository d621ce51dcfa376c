"""What the compliance review shows of a text: personal data, licences, copyright lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.studio.compliance import SHOWN, findings


def found(text: str) -> dict[str, list[str]]:
    return {one.kind.split()[0]: [words for words, _ in one.examples] for one in findings(text) if one.count}


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("Write to ida.holm+x@mail.example.org.", "e-mail", "ida.holm+x@mail.example.org"),
        ("call +44 20 7946 0018 now", "phone", "+44 20 7946 0018"),
        ("Tel. (0171) 123 456", "phone", "(0171) 123 456"),
        ("555-010-9999", "phone", "555-010-9999"),
        ("电话13912345678。", "phone", "13912345678"),
        ("邮箱ida@example.org。", "e-mail", "ida@example.org"),
        ("under CC BY-SA 4.0 or later", "names", "CC BY-SA 4.0"),
        ("the GNU General Public License", "names", "GNU General Public License"),
        ("from Project Gutenberg", "names", "Project Gutenberg"),
        ("x\n  © 2019 Holm  \ny", "lines", "© 2019 Holm"),
        ("版权所有 2020", "lines", "版权所有 2020"),
        ("STRICTLY CONFIDENTIAL", "lines", "STRICTLY CONFIDENTIAL"),
    ],
)
def test_what_is_found(text: str, kind: str, words: str) -> None:
    assert found(text) == ({kind: [words]})


@pytest.mark.parametrize(
    "text",
    ["In 1786 and 1845, of 12,000 guilders.", "2019-03-04", "3.14159265358979", "a@b", "1.000.000.000", "ISBN",
     "accept", "10:30-11:45", "§ 12 (3) 4", "x1391234567812345"],
)  # fmt: skip
def test_what_is_nothing_of_that(text: str) -> None:
    assert found(text) == {}


def test_the_most_frequent_are_shown_with_their_number() -> None:
    text = " ".join(f"n{number}@example.org" for number in range(20)) + " n3@example.org"
    mail = findings(text)[0]
    assert (mail.count, len(mail.examples), mail.examples[0]) == (21, SHOWN, ("n3@example.org", 2))


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["a", "a.", "1 ", "+1", "@", "(1", "a@b.", "\n", "©", "CC BY ", "0-", "é"])
def test_a_hostile_text_takes_no_more_time_than_another(piece: str) -> None:
    findings(piece * 300_000)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_text_has_findings_that_are_in_it(text: str) -> None:
    for one in findings(text):
        assert one.count >= len(one.examples)
        assert all(words == words.strip() for words, _ in one.examples)
