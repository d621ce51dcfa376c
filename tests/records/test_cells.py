"""Cells with lists, in every notation that programs write; none is ever one text."""

from __future__ import annotations

import time

import pytest

from fathom.documents.records.cells import CellError, as_listed, texts_in

TWO = ["two piers", "2"]


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ('["two piers", "2"]', TWO),
        ('["two piers", 2]', TWO),
        ("['two piers', '2']", TWO),
        ("['two piers', 2,]", TWO),
        ("['two piers' '2']", TWO),
        ("['two piers'\n '2']", TWO),
        ("array(['two piers', '2'], dtype=object)", TWO),
        ("[np.str_('two piers'), np.int64(2)]", TWO),
        ("('two piers', '2')", TWO),
        ("{'two piers', '2'}", TWO),
        ("[“two piers”, “2”]", TWO),
        ("[„two piers“, ‘2’]", TWO),
        (" [u'two piers', None, nan, '2'] ", TWO),
        ("{'text': array(['two piers', '2'], dtype=object), 'answer_start': array([3, 9])}", TWO),
        ('[{"text": "two piers", "answer_start": 3}, {"text": "2"}]', TWO),
        ("[['two piers'], ['2']]", TWO),
        ("['it\\'s', \"a 'b'\", 'x\\ny']", ["it's", "a 'b'", "x\ny"]),
        ("[]", []),
        ("[1.50]", ["1.50"]),
        ("two piers", ["two piers"]),
        ("[redacted]", ["[redacted]"]),
        ("[sic] he said, [twice]", ["[sic] he said, [twice]"]),
        ('("Two," he said.)', ['("Two," he said.)']),
        ("(a), (b)", ["(a), (b)"]),
        ("{x}", ["{x}"]),
        (2, ["2"]),
        (None, []),
        ([True, "2"], ["2"]),
    ],
)
def test_lists_are_read_and_texts_stay(cell: object, texts: list[str]) -> None:
    assert list(texts_in(as_listed(cell))) == texts


@pytest.mark.parametrize(
    "cell",
    [
        '["two piers", "2"',
        "['two piers', '2",
        "['two piers''2']",
        "['two piers' '2', '3']",
        "['two' ... '9']",
        "[two piers, 2]",
        "[two piers; 2]",
        "['it's', '2']",
        "['a', datetime.date(2024, 5, 9)]",
        "{'answer_start': [3]}",
        "[“two piers”, “2]",
        "['a'] and more",
        "[" * 99 + "'a'" + "]" * 99,
    ],
)
def test_what_looks_like_a_list_and_is_none_is_refused(cell: str) -> None:
    with pytest.raises(CellError, match="JSON list"):
        list(texts_in(as_listed(cell)))


@pytest.mark.parametrize("piece", ["'a' ", "'a', ", "[", "'\\", "“", "u'", "1 ", "np.str_("])
def test_hostile_cells_take_linear_time(piece: str) -> None:
    cell = "['a', " + piece * (60_000 // len(piece))
    start = time.perf_counter()
    with pytest.raises(CellError):
        as_listed(cell)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("cell", ["[1834 1835]", "array([1834, 1835])", "{1834, 1835}", "np.array([1834 1835])"])
def test_numbers_in_lists_are_no_single_answer(cell: str) -> None:
    assert as_listed(cell) == ["1834", "1835"]
    assert as_listed("(1834)") == "(1834)"
