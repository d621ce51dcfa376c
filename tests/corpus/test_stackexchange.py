"""Threads of Stack Exchange: text of posts, dumps with traps, JSONL."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from html import escape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.corpus import Problem
from fathom.documents.corpus.stackexchange import Answer, Thread, post_text, read_threads
from fathom.documents.corpus.stackexchange import dump as dump_module
from fathom.documents.corpus.stackexchange.dump import PostsParser, site_of
from fathom.types import FathomError

DATE = "2014-01-{:02}T20:00:00.000"


def split(path: Path) -> tuple[list[Thread], list[Problem]]:
    found = list(read_threads(path))
    return [one for one in found if isinstance(one, Thread)], [one for one in found if isinstance(one, Problem)]


def question(number: int, accepted: int | None = None, tags: str = "|beer|history|", body: str = "<p>Q</p>") -> str:
    gold = f'AcceptedAnswerId="{accepted}" ' if accepted else ""
    facts = f'Id="{number}" PostTypeId="1" {gold}CreationDate="{DATE.format(1)}" Score="3"'
    return f'<row {facts} Body="{escape(body)}" Title="Why  &quot;{number}&quot;?" Tags="{escape(tags)}" />'


def answer(number: int, parent: int, day: int = 2, body: str = "<p>A</p>", score: str = "-1") -> str:
    facts = f'Id="{number}" PostTypeId="2" ParentId="{parent}" CreationDate="{DATE.format(day)}" Score="{score}"'
    return f'<row {facts} Body="{escape(body)}" />'


def dump(folder: Path, *rows: str, name: str = "Posts.xml", end: str = "</posts>") -> Path:
    path = folder / name
    lines = ['\ufeff<?xml version="1.0" encoding="utf-8"?>', "<posts>", *("  " + row for row in rows), end]
    path.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    return path


# Posts as text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>one\ntwo</p>\n\n<p>three</p>", "one two\n\nthree"),
        ("a<br>b<br/><br>c", "a\nb\n\nc"),
        ("<p>5 &lt; 6 &amp;&nbsp;&#8217;s &eacute; &amp;lt;</p>", "5 < 6 & ’s é &lt;"),
        ('<p>see <a href="http://x.org/?a=1&amp;b" title="a > b">the page</a>.</p>', "see the page."),
        ("<p>run <code>ls  -l</code> and <code>a`b</code></p>", "run `ls -l` and ``a`b``"),
        ("<p>10<sup>6</sup> H<sub>2</sub>O</p>", "10^6 H_2O"),
        (
            "<p>so</p>\n<pre class='lang-py'><code>def f():\n\n\n    return &quot;&lt;p&gt;&quot;  \n</code></pre>",
            'so\n\n```\ndef f():\n\n\n    return "<p>"\n```',
        ),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("<pre><code>if a <b>c</b>:<br>  <i>d</i>", "```\nif a c:\n  d\n```"),
        ("<blockquote>\n<p>a</p>\n<p>b</p>\n</blockquote>\n<p>c</p>", "> a\n>\n> b\n\nc"),
        ("<blockquote><pre>x\n\ny</pre></blockquote>", "> ```\n> x\n>\n> y\n> ```"),
        ("<p>x</p><ul>\n<li>a</li>\n<li>b <ol><li>c</li></ol></li></ul><p>d</p>", "x\n\n- a\n- b\n  1. c\n\nd"),
        ('<ol start="9"><li>a<li>b</ol>', "9. a\n10. b"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b"),
        ("<table><tr><th>h</th><th>i</th></tr><tr><td>1</td><td>2</td></tr></table>", "h | i\n1 | 2"),
        ("a<script>alert('<p>x</p>')</script><style>p{}</style><!-- <p>no</p> -->b", "ab"),
        ("a <!-- never closed <p>b</p>", "a"),
        ("x < y <a <b", "x < y <a <b"),
        ("a\x00\ufeff\ud800b&#0;&#xD800;", "ab\ufffd\ufffd"),
        ("</p></li></blockquote></pre></code>a", "a"),
        ("", ""),
    ],
)
def test_text_of_a_post(source: str, text: str) -> None:
    assert post_text(source).text == text


@pytest.mark.parametrize(
    ("source", "text", "has_images"),
    [
        ('<img src="x.png" alt="enter image description here">', "[image]", True),
        ("<p>so: <img alt='a &quot;red&quot;\n fox' src='x'/></p>", 'so: [image: a "red" fox]', True),
        ('<a href="https://i.stack.imgur.com/Ab1.jpg">here</a>', "here", True),
        ('<a href="https://x.org/jpg.html">here</a>', "here", False),
        ("&lt;img src='x.png'&gt;", "<img src='x.png'>", False),
    ],
)
def test_images_are_noted(source: str, text: str, has_images: bool) -> None:
    assert (post_text(source).text, post_text(source).has_images) == (text, has_images)


@given(
    st.text()
    | st.lists(st.sampled_from(["<p>", "</", "<pre", ">", "<li>", '"', "&lt;", "<ol>", "`", "a"])).map("".join)
)
def test_any_string_gives_text(source: str) -> None:
    post_text(source).text.encode()


PLAIN = st.text("abc &<>\n\"'é`", max_size=12)
TAGS = st.sampled_from(
    ("p", "div", "ul", "ol", "li", "blockquote", "pre", "code", "em", "a", "h1", "tr", "td", "sup", "span")
)
TREES = st.recursive(
    PLAIN.map(lambda text: escape(text.translate({60: None, 62: None}))),
    lambda inner: st.builds(
        lambda tag, title, parts: f'<{tag} title="{escape(title)}">{"".join(parts)}</{tag}>',
        TAGS, PLAIN, st.lists(inner, max_size=4),
    ),
    max_leaves=20,
)  # fmt: skip


@given(TREES)
def test_no_tag_and_no_letter_is_lost_or_left(source: str) -> None:
    text = post_text(source).text
    assert not re.search("</?[a-z]", text)
    letters = re.sub("<[^>]*>", "", source).replace("&amp;", "").replace("&quot;", "").replace("&#x27;", "")
    assert re.sub("[^abcé]", "", text) == re.sub("[^abcé]", "", letters)


@given(st.lists(st.text("ab <>&\"'` ", max_size=8).map(str.rstrip), min_size=1, max_size=6))
def test_code_is_kept_letter_by_letter(lines: list[str]) -> None:
    code = "\n".join(["first", *lines, "last"])
    text = post_text(f"<p>x</p><pre><code>{escape(code)}</code></pre>").text
    assert text.split("\n", 3)[3].rpartition("\n")[0] == code


def test_deep_nesting_does_not_blow_up() -> None:
    assert len(post_text("<blockquote>a" * 2000).text) < 200_000


# Dumps


def test_dump_with_answers_anywhere(tmp_path: Path) -> None:
    rows = (
        answer(5, 4, day=3, body="<p>late</p>"),  # before its question
        question(1, accepted=3),
        answer(2, 1, day=9),
        question(4, tags="<c++><.net>"),
        '<row Id="7" PostTypeId="5" Body="a tag wiki" />',
        answer(3, 1, day=2, body='<p>gold</p><img src="x">', score="12"),
        answer(6, 4, day=3),
    )
    (tmp_path / "alcohol.stackexchange.com").mkdir()
    threads, problems = split(dump(tmp_path / "alcohol.stackexchange.com", *rows))
    assert not problems
    first, second = threads
    assert (first.id, first.title, first.tags) == ("alcohol:1", 'Why "1"?', ("beer", "history"))
    assert first.answers[0] == Answer(3, "gold\n\n[image]", True, DATE.format(2), 12, True)
    assert [one.id for one in first.answers] == [3, 2]
    assert first.accepted == first.answers[0]
    assert (second.tags, second.accepted, [one.id for one in second.answers]) == (("c++", ".net"), None, [5, 6])


def test_missing_and_repeated_posts_are_reported(tmp_path: Path) -> None:
    rows = (question(1, accepted=99), answer(2, 1), question(3), question(3), answer(4, 77),
            '<row Id="5" PostTypeId="2" CreationDate="d" Body="b" />', '<row PostTypeId="1" />')  # fmt: skip
    threads, problems = split(dump(tmp_path, *rows))
    assert [thread.id.rpartition(":")[2] for thread in threads] == ["3"]
    said = sorted((problem.line or 0, problem.reason.split(";")[0]) for problem in problems)
    assert said == [
        (0, "1 answer whose question is missing"),
        (3, "question 1: its accepted answer 99 is missing"),
        (6, "duplicate post 3"),
        (8, "answer 5 has no ParentId"),
        (9, "a post without Id, Body or CreationDate"),
    ]


def test_many_problems_are_counted(tmp_path: Path) -> None:
    _, problems = split(dump(tmp_path, *(question(number, accepted=999) for number in range(1, 51))))
    assert len(problems) == 21
    assert sum(problem.count for problem in problems) == 50


def test_truncated_dump_keeps_what_came_before(tmp_path: Path) -> None:
    whole = dump(tmp_path, question(1, accepted=2), answer(2, 1), question(3)).read_bytes()
    cut = tmp_path / "cut" / "Posts.xml"
    cut.parent.mkdir()
    cut.write_bytes(whole[: whole.index(b'Id="3"') + 40])
    threads, problems = split(cut)
    assert [thread.id for thread in threads] == ["cut:1"]
    assert [(problem.line, "ends in the middle" in problem.reason) for problem in problems] == [(5, True)]


@pytest.mark.parametrize(
    "damage", ['<row Id="8" Body="&#x1;" />', '<row Id="8" Body="a', "<<>>", "<row a='' a='' />", "&x;"]
)
def test_rows_after_damage_are_kept(tmp_path: Path, damage: str) -> None:
    threads, problems = split(dump(tmp_path, question(1), damage, question(2), question(3)))
    assert [thread.id.rpartition(":")[2] for thread in threads] == ["1", "2", "3"]
    assert {problem.line for problem in problems} <= {4, 5}
    assert problems


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
def test_damage_is_found_however_the_bytes_come(tmp_path: Path, size: int) -> None:
    data = dump(tmp_path, question(1), '<row Id="8" Body="&#x1;" />', question(2), question(3)).read_bytes()
    rows: list[tuple[int, str]] = []
    faults: list[int] = []
    parser = PostsParser(lambda line, post: rows.append((line, post["Id"])), lambda line, reason: faults.append(line))
    for start in range(0, len(data), size):
        parser.feed(data[start : start + size])
    parser.close()
    assert rows == [(3, "1"), (5, "2"), (6, "3")]
    assert faults == [4]


def test_row_without_end_does_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_module, "LONGEST_ROW", 1000)
    rows: list[str] = []
    reasons: list[str] = []
    parser = PostsParser(lambda line, post: rows.append(post["Id"]), lambda line, reason: reasons.append(reason))
    for piece in [b"<posts><row Id='1'/><row Id='", *[b"x" * 100] * 30, b"\n<row Id='2'/></posts>"]:
        parser.feed(piece)
    parser.close()
    assert rows == ["1", "2"]
    assert "a row of more than" in reasons[0]


def test_entities_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    path.write_text('<!DOCTYPE p [<!ENTITY a "aaaa">]><posts><row Id="1" Body="&a;"/></posts>', encoding="utf-8")
    with pytest.raises(FathomError, match=r"Posts\.xml: declares entities"):
        split(path)


def test_compressed_dump_and_progress(tmp_path: Path) -> None:
    plain = dump(tmp_path, question(1))
    packed = tmp_path / "Posts.xml.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    told: list[tuple[int, int | None]] = []
    for path in (plain, packed):
        assert len(list(read_threads(path, lambda read, size: told.append((read, size))))) == 1
    size = plain.stat().st_size
    assert [total for _, total in told] == [size, None]
    assert all(size - 3 <= read <= size for read, _ in told)  # without the byte order mark


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("Posts.xml", "<posts></posts>", "no posts"),
        ("Posts.xml", "not xml at all", "no posts"),
        ("threads.csv", "a,b", "unknown format"),
        ("nothing", None, "no such file"),
    ],
)
def test_what_is_no_dump(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(FathomError, match=message):
        split(path)


def test_temporary_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    threads = read_threads(dump(tmp_path, question(1), question(2)))
    next(threads)
    assert list((tmp_path / "scratch").iterdir())
    threads.close()  # type: ignore[attr-defined]
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize(
    ("path", "site"),
    [
        ("a/alcohol.stackexchange.com.7z", "alcohol"),
        ("a/stackoverflow.com-Posts.7z", "stackoverflow"),
        ("a/meta.cooking.stackexchange.com/Posts.xml", "meta.cooking"),
        ("coffee/posts.xml.zst", "coffee"),
    ],
)
def test_site_by_name(path: str, site: str) -> None:
    assert site_of(Path(path)) == site


# Archives


def test_archive(tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    asked = [question(number, accepted=1000 + number) for number in range(1, 200)]
    posts = dump(
        tmp_path, *asked, *(answer(1000 + number, number, body=str(number * 7919)) for number in range(1, 200))
    )
    path = tmp_path / "beer.stackexchange.com.7z"
    with py7zr.SevenZipFile(path, "w") as archive:
        archive.writestr("<badges />", "Badges.xml")
        archive.write(posts, "Posts.xml")
    told: list[tuple[int, int | None]] = []
    threads = list(read_threads(path, lambda read, size: told.append((read, size))))
    assert len(threads) == 199
    assert threads[0] == Thread(
        "beer:1", 'Why "1"?', "Q", ("beer", "history"), DATE.format(1), 3, False,
        (Answer(1001, "7919", True, DATE.format(2), -1, False),),
    )  # fmt: skip
    assert told[-1] == (posts.stat().st_size, posts.stat().st_size)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FathomError, match="truncated before"):
        split(path)


@pytest.mark.slow
def test_damaged_archive_keeps_what_came_before(tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    noise = random.Random(4)  # py7zr unpacks 1 MiB at a time: what was unpacked before the damage is more than that
    posts = dump(tmp_path, *(question(number, body=noise.randbytes(20_000).hex()) for number in range(1, 131)))
    path = tmp_path / "beer.7z"
    with py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 0}]) as archive:
        archive.write(posts, "Posts.xml")
    data = bytearray(path.read_bytes())
    start = len(data) * 3 // 4
    data[start : start + 4096] = bytes(4096)
    path.write_bytes(data)
    threads, problems = split(path)
    assert 0 < len(threads) < 130
    assert "the file is damaged" in "".join(problem.reason for problem in problems)


def test_archive_without_posts(tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    with py7zr.SevenZipFile(tmp_path / "x.7z", "w") as archive:
        archive.writestr("<users />", "Users.xml")
    with pytest.raises(FathomError, match=r"no Posts\.xml in it but Users\.xml"):
        split(tmp_path / "x.7z")


def test_archive_without_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py7zr", None)
    (tmp_path / "x.7z").write_bytes(b"7z")
    with pytest.raises(FathomError, match=r"fathom-eval\[dump"):
        split(tmp_path / "x.7z")


# JSONL


def record(number: int = 1, **changes: object) -> dict[str, object]:
    answers = [
        {"answer_id": 20, "creation_date": DATE.format(3), "score": 1, "accepted": False, "text": "later"},
        {"answer_id": 10, "creation_date": DATE.format(2), "score": 4, "accepted": True, "text": "x",
         "html": "<p>use <code>y</code></p>"},
    ]  # fmt: skip
    made: dict[str, object] = {"id": f"beer:{number}", "title": "Why?", "tags": ["a"], "creation_date": DATE.format(1)}
    return made | {"question": "Q\r\n", "score": 2, "accepted_answer_id": 10, "answers": answers} | changes


def jsonl(folder: Path, *records: object, name: str = "beer.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in records), encoding="utf-8")
    return path


def test_jsonl(tmp_path: Path) -> None:
    threads, problems = split(jsonl(tmp_path, record(), "", record(2, question_html="<p>R<img></p>")))
    assert not problems
    first, second = threads
    assert (first.id, first.question, first.tags, first.score) == ("beer:1", "Q", ("a",), 2)
    assert first.answers == (
        Answer(10, "use `y`", True, DATE.format(2), 4, False),
        Answer(20, "later", False, DATE.format(3), 1, False),
    )
    assert (second.question, second.has_images) == ("R[image]", True)


def test_bad_lines_are_reported(tmp_path: Path) -> None:
    bad = [
        "{",
        "[1]",
        record(3, accepted_answer_id=99),
        record(4, title=None),
        record(5, answers="x"),
        record(6, tags=[1]),
    ]
    threads, problems = split(jsonl(tmp_path, record(1), *bad, record(1, title="again"), record(2, title="\ud800")))
    assert [thread.id for thread in threads] == ["beer:1", "beer:2"]
    assert [problem.line for problem in problems] == [2, 3, 4, 5, 6, 7, None]
    assert "accepted answer 99 is missing" in problems[2].reason
    assert "duplicate thread beer:1" in problems[-1].reason


def test_folder_takes_dumps_and_jsonl_and_nothing_else(tmp_path: Path) -> None:
    jsonl(tmp_path, record())
    dump(tmp_path, question(1))
    (tmp_path / "Users.xml").write_text("<users/>", encoding="utf-8")
    (tmp_path / "README.md").write_text("x", encoding="utf-8")
    threads, (problem,) = split(tmp_path)
    assert len(threads) == 2
    assert problem.reason.startswith("not read (threads are in Posts.xml or .jsonl")
    assert problem.reason.endswith("): README.md, Users.xml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FathomError, match="contains no threads"):
        split(tmp_path / "empty")


def test_one_file_of_a_folder_that_cannot_be_opened_is_left_out(tmp_path: Path) -> None:
    jsonl(tmp_path, record(1), record(2))
    (tmp_path / "broken.7z").write_bytes(b"7z")
    (tmp_path / "Posts.xml").write_text("<html/>", encoding="utf-8")
    threads, problems = split(tmp_path)
    assert len(threads) == 2
    found = {Path(problem.path).name: problem.reason for problem in problems}
    assert set(found) == {"broken.7z", "Posts.xml"}
    assert all(reason.startswith("skipped: no") for reason in found.values())


def test_a_full_disk_is_not_taken_for_a_bad_file_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(tmp_path, record(1))
    dump(tmp_path, question(1))
    monkeypatch.setattr("fathom.documents.corpus.stackexchange.dump._SCHEMA", "CREATE TABLE;")
    with pytest.raises(FathomError, match="Set TMPDIR"):
        split(tmp_path)


def test_a_file_without_any_thread_says_so(tmp_path: Path) -> None:
    threads, (problem,) = split(jsonl(tmp_path))
    assert not threads
    assert problem.reason == "it contains no threads"


@pytest.mark.slow
def test_shared_threads(shared: Path) -> None:
    threads, problems = split(shared / "data" / "stackexchange" / "threads")
    assert not problems
    counts: dict[str, int] = {}
    for thread in threads:
        counts[thread.id.partition(":")[0]] = counts.get(thread.id.partition(":")[0], 0) + 1
        assert sorted((one.created, one.id) for one in thread.answers) == [
            (one.created, one.id) for one in thread.answers
        ]
        for text in (thread.question, *(one.text for one in thread.answers)):
            outside_code = re.sub(r"(?s)(`+).*?\1", "", text)
            assert not re.search(r"</?(?:p|a|li|ul|ol|em|strong|pre|code|blockquote)>", outside_code), text
    assert sorted(counts.values()) == [108, 172, 191, 294, 414, 463]
