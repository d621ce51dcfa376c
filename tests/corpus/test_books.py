from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.documents.corpus.books import Book, is_dated, read_book, without_notes
from fathom.documents.corpus.text import normalise

CHAPTERS = {
    "en/dorian_gray": 20,
    "en/great_expectations": 59,
    "en/huckleberry_finn": 43,
    "en/king_solomons_mines": 20,
    "en/oliver_twist": 53,
    "en/secret_garden": 27,
    "en/sherlock_holmes": 12,
    "en/tess": 59,
    "en/tom_sawyer": 35,
    "zh/hongloumeng": 120,
    "zh/sanguo": 120,
    "zh/xiyouji": 100,
}
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
CHINESE = "一二三四五六七八九十"


def story(name: str) -> list[str]:
    """Three paragraphs in hard-wrapped lines that tell nothing but where they stand."""
    sentence = f"The lamp of {name} burned over the harbour\nuntil the keeper, who was old, put it out at dawn."
    return [f"{place} of {name}. " + "\n".join([sentence] * 5) for place in ("Opening", "Middle", "Close")]


def chinese_story(name: str) -> list[str]:
    return [f"{name}之{place}，" + "灯火照着海港，老人守到天明才把它吹灭。" * 12 for place in "始中终"]


def made(headings: list[str], parted: str = "\n\n") -> str:
    return parted.join(
        part for number, heading in enumerate(headings, 1) for part in (heading, *story(f"tale {number}"))
    )


def paragraphs(book: Book) -> list[list[str]]:
    return [[book.text[start:end] for start, end in chapter.paragraphs] for chapter in book.chapters]


def check_spans(book: Book) -> None:
    """All that holds for any text: spans in order, disjoint, within their chapter, without space at their ends."""
    assert book.text == normalise(book.text)
    for chapter, following in pairwise(book.chapters):
        assert chapter.end <= following.start
    for chapter in book.chapters:
        at = chapter.start
        for start, end in chapter.paragraphs:
            assert at <= start < end <= chapter.end <= len(book.text)
            assert book.text[start:end] == book.text[start:end].strip()
            at = end


def check_stories(book: Book, chapters: int) -> None:
    check_spans(book)
    assert paragraphs(book) == [story(f"tale {number}") for number in range(1, chapters + 1)]


@pytest.mark.parametrize(
    ("headings", "titles"),
    [
        (["CHAPTER I", "CHAPTER II", "CHAPTER III"], ["", "", ""]),
        (["Chapter 1. The Pier", "Chapter 2. The Rope", "Chapter 3. The Tide"], ["The Pier", "The Rope", "The Tide"]),
        (["CHAPTER THE FIRST", "CHAPTER THE SECOND", "CHAPTER THE LAST"], ["", "", ""]),
        (["Chapter Nineteen", "Chapter Twenty", "Chapter Twenty-One"], ["", "", ""]),
        (["I", "II", "III"], ["", "", ""]),
        (["1.", "2.", "3."], ["", "", ""]),
        (["STORY I. THE PIER", "STORY II. THE ROPE", "III. THE TIDE"], ["THE PIER", "THE ROPE", "THE TIDE"]),
        (
            ["CHAPTER I\n\nTHE PIER", "CHAPTER II\n\nTHE ROPE!", "CHAPTER III\n\nThe Tide"],
            ["THE PIER", "THE ROPE!", "The Tide"],
        ),
        (
            ["CHAPTER I. The Pier--The\nBoat", "CHAPTER II. The Rope", "CHAPTER III. The Tide"],
            ["The Pier--The Boat", "The Rope", "The Tide"],
        ),
        (["CHAPTER VIII", "CHAPTER IX", "CHAPTER VIII", "CHAPTER XI"], ["", "", "", ""]),
    ],
    ids=["named", "titled", "words", "compound", "roman", "arabic", "mixed", "under", "wrapped", "misprint"],
)
def test_headings_are_found_and_kept_out(headings: list[str], titles: list[str]) -> None:
    book = read_book(made(headings), "en")
    check_stories(book, len(headings))
    assert [chapter.title for chapter in book.chapters] == titles


def test_boilerplate_contents_and_prefaces_are_left_out() -> None:
    headings = [f"CHAPTER {number}" for number in ROMAN]
    contents = "\n\n".join(f"{heading}. A long title that\nwraps over two lines" for heading in headings)
    pictures = [f"Picture of boat {number}" for number in range(40)]
    front = "\n\n".join(
        [
            "Licence.",
            "*** START OF THIS PROJECT GUTENBERG EBOOK MADE ***",
            "MADE",
            "CONTENTS",
            contents,
            "ILLUSTRATIONS",
            *pictures,
            "PREFACE",
            *story("preface"),
        ]
    )
    back = "\n\n".join(
        [
            "THE END",
            "An advertisement.",
            "End of the Project Gutenberg EBook of Made",
            "*** END OF THIS PROJECT GUTENBERG EBOOK MADE ***",
            "Terms.",
        ]
    )
    text = "\ufeff" + f"{front}\n\n{made(headings)}\n\n{back}".replace("\n", "\r\n")
    check_stories(read_book(text, "en"), len(headings))


@pytest.mark.parametrize("entries", [2, 3, 10])
def test_a_table_of_contents_just_before_the_first_chapter(entries: int) -> None:
    headings = [f"CHAPTER {number}" for number in ROMAN[:entries]]
    contents = "\n".join(f"{number} THE LAMP AND THE KEEPER" for number in ROMAN[:entries])
    check_stories(read_book(f"CONTENTS\n\n{contents}\n\n{made(headings)}", "en"), entries)
    same = "\n\n".join(headings)
    check_stories(read_book(f"CONTENTS\n\n{same}\n\n{made(headings)}", "en"), entries)
    preface = "\n\n".join(story("preface"))
    check_stories(read_book(f"CONTENTS\n\n{same}\n\n{preface}\n\n{made(headings)}", "en"), entries)


def test_counts_that_start_anew_in_each_part() -> None:
    parts = ["PART I\n\nCHAPTER I", "CHAPTER II", "CHAPTER III", "PART II\n\nCHAPTER I", "CHAPTER II", "CHAPTER III"]
    check_stories(read_book(made(parts), "en"), 6)


@pytest.mark.parametrize("entry", ["CHAPTER {}", "{}. The Lamp"])
def test_contents_of_a_book_in_parts(entry: str) -> None:
    chapters = [entry.format(number) for number in ROMAN[:5]]
    headings = [f"Book the {which}: Night\n\n{chapters[0]}" for which in ("First", "Second", "Third")]
    body = made([one for heading in headings for one in (heading, *chapters[1:])])
    contents = "\n\n".join(one for heading in headings for one in (heading, *chapters[1:]))
    check_stories(read_book(f"CONTENTS\n\n{contents}\n\n{body}", "en"), 15)


def test_letters_before_the_chapters_are_a_preface() -> None:
    letters = "\n\n".join(part for number in (1, 2) for part in (f"Letter {number}", *story("a letter")))
    headings = [f"Chapter {number}" for number in range(1, 6)]
    check_stories(read_book(f"{letters}\n\n{made(headings)}", "en"), 5)


def test_inner_numbers_are_no_chapters_and_in_no_paragraph() -> None:
    text = made(["ADVENTURE I. THE PIER", "ADVENTURE II. THE ROPE", "ADVENTURE III. THE TIDE"])
    text = text.replace("Opening of tale 1.", "I.\n\nOpening of tale 1.").replace(
        "Middle of tale 1.", "II.\n\nMiddle of tale 1."
    )
    check_stories(read_book(text, "en"), 3)


@pytest.mark.parametrize(
    "aside",
    [
        "[Illustration: The pier]",
        "* * * * *",
        "[Footnote 1: So called.]",
        "1  So it is called.",
        "NOTE:--So it is called.",
        "EPILOGUE",
        "EPILOGUE: The Pier",
        "CHAPTER ll",
        "Chapter lV. The Pier",
    ],
)
def test_asides_are_in_no_paragraph(aside: str) -> None:
    text = made(["CHAPTER I", "CHAPTER II"]).replace("Middle of tale 2.", f"{aside}\n\nMiddle of tale 2.")
    check_stories(read_book(text, "en"), 2)


def test_a_paragraph_parted_by_a_page_is_one() -> None:
    text = made(["CHAPTER I", "CHAPTER II"]).replace("until the keeper", "\nuntil the keeper", 1)
    book = read_book(text, "en")
    assert [len(chapter) for chapter in paragraphs(book)] == [3, 3]
    torn = read_book(text.replace("\n\nuntil", "\n\n[Illustration: The keeper]\n\nuntil", 1), "en")
    assert [len(chapter) for chapter in paragraphs(torn)] == [2, 3]
    assert "Illustration" not in str(paragraphs(torn))


def test_part_titles_before_the_next_chapter_are_left_out() -> None:
    headings = ["I", "II", "END OF PART THE FIRST\n\nPart the Second: The Tide\n\nIII", "IV"]
    check_stories(read_book(made(headings), "en"), 4)


def test_a_cry_is_no_title_where_chapters_have_none() -> None:
    text = made(["CHAPTER I", "CHAPTER II", "CHAPTER III"]).replace(
        "Opening of tale 1.", '"KEEPER!"\n\nOpening of tale 1.'
    )
    assert paragraphs(read_book(text, "en"))[0][0] == '"KEEPER!"'


def test_lines_without_blank_lines_between_paragraphs() -> None:
    headings = [f"CHAPTER {number}\nIN WHICH THE LAMP IS LIT BY THE\nKEEPER" for number in ROMAN]
    book = read_book(made(headings, parted="\n"), "en")
    check_spans(book)
    assert [chapter.title for chapter in book.chapters] == ["IN WHICH THE LAMP IS LIT BY THE KEEPER"] * 10
    begins = {paragraph for number in range(1, 11) for paragraph in story(f"tale {number}")}
    for chapter in paragraphs(book):
        assert all(any(whole.startswith(found[:20]) for whole in begins) for found in chapter)


@pytest.mark.parametrize(
    ("line", "following", "apart"),
    [
        ("“The lamp was lit at dusk, and put out.", "I saw it,” said the keeper.", False),
        ("“The lamp was lit at dusk, and put out.", "“I saw it,” said the keeper.", True),
        ("“The lamp was lit at dusk, and put out.”", "The keeper saw it.", True),
        ("'The lamp was lit at dusk, and put out.", "I saw it,' said the keeper.", False),
        ("'The lamp's light 'tis,' he told 'em all.", "The keeper saw it.", True),
        ("The lamp was lit at dusk, and put out.", "The keeper saw it.", True),
        ("The lamp was lit at dusk, and put out by", "The keeper.", False),
    ],
)
def test_a_short_line_ends_its_paragraph_unless_a_speech_goes_on(line: str, following: str, apart: bool) -> None:
    full = "The harbour lay still, and the keeper of the lamp went up the long stair"
    lines = [part for number in "12" for part in (f"CHAPTER {number}", *[full] * 9, "to light it.", *[full] * 9)]
    book = read_book("\n".join([*lines, "to put it out.", line, following]), "en")
    assert book.guessed
    assert [found.startswith(following) for found in paragraphs(book)[-1]].count(True) == apart


def test_only_books_without_any_sign_of_paragraphs_are_guessed() -> None:
    headings = ["CHAPTER I", "CHAPTER II"]
    assert not read_book(made(headings), "en").guessed
    assert read_book(made(headings, parted="\n"), "en").guessed


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("He wore a kilt[3] and a sporran.[12]", "He wore a kilt and a sporran."),
        ("This evening, * and [*\nSouthwestern for “afternoon”] I shall go.", "This evening, and I shall go."),
        ("It is Bull Harbison.” *", "It is Bull Harbison.”"),
        (
            "He is of Danish blood. 1  He also\ndied. 2\nThen the House 3  fought. 4",
            "He is of Danish blood.  He also\ndied.\nThen the House  fought.",
        ),
        (
            "At 7\nPope's Court, No. 2  he met 10  of us in 1845. No. 3",
            "At 7\nPope's Court, No. 2  he met 10  of us in 1845. No. 3",
        ),
        ("Of the daily\npress. Footnote: Or were,\nthen.  Mr. Fang came.", "Of the daily\npress.  Mr. Fang came."),
        ("He left† at [Footnote 2: By the old clock.] noon.", "He left at noon."),
        ("宝玉〔二〕听了[1]便去（注：即怡红院）了①。", "宝玉听了便去了。"),
        ("Mr. * * * of S***, [Applause.] 5 * 3 [sic] (1) {x}.", "Mr. * * * of S***, [Applause.] 5 * 3 [sic] (1) {x}."),
        ("二***品格儿", "二***品格儿"),
        ("老人点了灯。不知灯火如何，且听下回分解。", "老人点了灯。"),
        ("不知后事如何，且听下文分解．正是：", ""),
        ("他说下回分解给我听，我走了。", "他说下回分解给我听，我走了。"),
    ],
)
def test_notes_within_a_paragraph_are_cut_out(text: str, kept: str) -> None:
    pieces = without_notes(f"Before. {text} After.", (8, 8 + len(text)))
    assert "".join(f"Before. {text} After."[start:end] for start, end in pieces) == kept


@given(
    st.lists(
        st.sampled_from(["word", " ", "*", "[1]", "[*", "]", "[", "①", "\n", "（注", "：", "）", "."]), max_size=30
    )
)
def test_what_is_left_of_a_paragraph_is_in_order_and_has_no_marks(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = without_notes(text, (0, len(text)))
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    left = [text[start:end] for start, end in found]
    assert not any(mark in piece for piece in left for mark in ("[1]", "①"))
    assert "".join(left).count("word") <= text.count("word")


def test_indented_paragraphs_without_blank_lines() -> None:
    headings = [f"CHAPTER {number}" for number in ROMAN]
    text = made(headings, parted="\n")
    for place in ("Opening", "Middle", "Close"):
        text = text.replace(f"\n{place} of", f"\n    {place} of")
    check_stories(read_book(text, "en"), 10)


def test_one_line_a_paragraph() -> None:
    lines = [part.replace("\n", " ") for n in range(1, 4) for part in (f"CHAPTER {n}", *story(f"tale {n}"))]
    book = read_book("\n".join(lines), "en")
    assert [len(chapter) for chapter in paragraphs(book)] == [3, 3, 3]


@pytest.mark.parametrize("unit", ["第{}回", "第{}回　灯火 海港", "第{}章：灯火", "第{}章灯火", "　　第{}节  灯火"])
@pytest.mark.parametrize("indent", ["", "　　", "    "])
def test_chinese_chapters(unit: str, indent: str) -> None:
    parts = []
    for number, sign in enumerate(CHINESE, 1):
        parts += [unit.format(sign), *(indent + part for part in chinese_story(f"卷{number}"))]
    book = read_book("《灯火》佚名\r\n\r\n" + "\r\n\r\n".join(parts), "zh")
    check_spans(book)
    assert paragraphs(book) == [chinese_story(f"卷{number}") for number in range(1, 11)]


@pytest.mark.parametrize(
    "numbers",
    [
        ["九十九", "一百", "一百零一"],
        ["一百一十九", "一百二十", "一百二十一"],
        ["一一九", "一二零", "一二一"],
        ["一百十九", "一百廿", "一百廿一"],
        ["9", "10", "11"],
        ["１９", "２０", "２１"],
    ],
)
def test_chinese_numbers(numbers: list[str]) -> None:
    text = "\n\n".join(part for number in numbers for part in (f"第{number}回 灯火", *chinese_story("卷")))
    assert len(read_book(text, "zh").chapters) == 3


def test_chinese_sentences_that_name_a_chapter() -> None:
    told = "第二回中既将灯火略已表明，此回则暂不能写矣。"
    quoted = "第二回灯火照海港——"
    parts = [f"第{sign}回 灯火" + "\n\n" + "\n\n".join(chinese_story("卷")) for sign in "一二三"]
    book = read_book(f"{parts[0]}\n\n{parts[1]}\n\n{told}\n\n前一页\n\n{quoted}\n\n{parts[2]}", "zh")
    assert [len(chapter) for chapter in paragraphs(book)] == [3, 4, 3]
    assert paragraphs(book)[1][3] == told


@pytest.mark.parametrize(
    ("heading", "opening", "dated"),
    [
        ("CHAPTER", "_3 May. The harbour._--Left at dusk.", True),
        ("CHAPTER", "The Lighthouse, Sept. 4th.", True),
        ("LETTER", "To the keeper.", True),
        (
            "CHAPTER",
            "The keeper, who on May 3 had left at dusk, was seen by nobody until the lamp was lit again.",
            False,
        ),
        ("CHAPTER", "The keeper may 3 times a day look at the lamp.", False),
    ],
)
def test_books_of_letters_and_diaries_are_recognized(heading: str, opening: str, dated: bool) -> None:
    text = made([f"{heading} {number}" for number in ("I", "II", "III", "IV", "V", "VI")])
    assert is_dated(read_book(text.replace("Middle of tale", f"{opening}\n\nMiddle of tale"), "en")) is dated


@pytest.mark.parametrize("heading", ["附录 灯火来历 海港旧闻", "尾声：海港", "番外　灯火"])
def test_chinese_headings_without_a_number(heading: str) -> None:
    parts = [f"第{sign}回 灯火" + "\n\n" + "\n\n".join(chinese_story("卷")) for sign in "一二"]
    book = read_book(f"{parts[0]}\n\n{heading}\n\n老人又说起灯火。\n\n{parts[1]}", "zh")
    assert [len(chapter) for chapter in paragraphs(book)] == [4, 3]
    assert paragraphs(book)[0][-1] == "老人又说起灯火。"


def test_capitals_within_a_sentence_do_not_end_a_paragraph() -> None:
    full = "The harbour lay still, and the keeper of the lamp went up the long stair"
    lines = [part for number in "12" for part in (f"CHAPTER {number}", *[full] * 9, "to light it.", *[full] * 9)]
    book = read_book(
        "\n".join([*lines, "and on the door was written TO BE READ IN MY", "HOUSE", "ONLY, and he read it."]), "en"
    )
    assert paragraphs(book)[-1][-1].endswith("TO BE READ IN MY\nHOUSE\nONLY, and he read it.")


def test_chinese_verses_are_not_cut() -> None:
    parts = [f"第{sign}回 灯火" + "\n\n" + "\n\n".join(chinese_story("卷")) for sign in "一二"]
    book = read_book(f"{parts[0]}\n\n白发渔樵江渚上，惯\n\n看秋月春风。\n\n——调寄临江仙。\n\n{parts[1]}", "zh")
    assert [len(chapter) for chapter in paragraphs(book)] == [4, 3]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "text", ["", "\n", "No chapters here.", "CHAPTER I\n\nOnly one.", "第一回 灯火", "\n\n".join(story("all"))]
)
def test_a_book_without_chapters(text: str, language: str) -> None:
    assert read_book(text, language).chapters == ()


HEADINGS = ["CHAPTER I", "Chapter 2", "III", "CHAPTER THE LAST", "IV. THE PIER", "PART II", "CONTENTS", "THE END"]
HEADINGS += ["第一回 灯火", "第二回", "第三回灯火"]
LINES = ["and went on", "“Yes,”", "[Illustration]", "* * *", "    indented", "　　缩进", "1  note", "\t", "\ufeff"]
PIECES = st.sampled_from([*HEADINGS, *LINES, *story("any"), *chinese_story("卷")])


@pytest.mark.slow
@given(
    st.lists(st.tuples(PIECES, st.sampled_from(["\n", "\n\n", " ", "\r\n\r\n"])), max_size=40),
    st.sampled_from(["en", "zh"]),
)
@settings(max_examples=200)
def test_spans_of_any_text(pieces: list[tuple[str, str]], language: str) -> None:
    text = "".join(piece + gap for piece, gap in pieces)
    book = read_book(text, language)
    assert book.text == normalise(text)
    check_spans(book)
    assert read_book(book.text, language) == book


@given(
    st.integers(2, 10),
    st.sampled_from(["CHAPTER {}", "{}", "{}. THE LAMP", "Letter {}: The Lamp", "CHAPTER {}\n\nTHE LAMP"]),
    st.booleans(),
    st.booleans(),
)
def test_made_books_come_back(count: int, heading: str, contents: bool, boilerplate: bool) -> None:
    headings = [heading.format(number) for number in ROMAN[:count]]
    text = made(headings)
    if contents:
        text = "\n\n".join(["CONTENTS", *headings, text])
    if boilerplate:
        marks = [f"*** {mark} OF THE PROJECT GUTENBERG EBOOK MADE ***" for mark in ("START", "END")]
        text = "\n\n".join([marks[0], text, marks[1], "CHAPTER XX"])
    check_stories(read_book(text, "en"), count)


@pytest.mark.parametrize("headings", [("Chapter ſix", "Chapter ſeven"), ("PART THE FIRST", "PART THE LAſT")])
def test_the_long_s_of_old_prints_is_an_s(headings: tuple[str, ...]) -> None:
    check_stories(read_book(made(list(headings)), "en"), 2)


@pytest.mark.parametrize(
    ("headings", "language"),
    [
        (["CHAPTER CCCXCIX", "CHAPTER CD", "CHAPTER CDI", "CHAPTER CDII"], "en"),
        (["CDXCVIII", "CDXCIX", "DI", "DII"], "en"),
        (["Chapter 999", "Chapter 1000", "Chapter 1001"], "en"),
        (["第九百九十九章", "第一千章", "第一千零一章 灯火"], "zh"),
    ],
)
def test_numbers_of_very_long_books(headings: list[str], language: str) -> None:
    make = story if language == "en" else chinese_story
    book = read_book("\n\n".join("\n\n".join([heading, *make(heading)]) for heading in headings), language)
    assert len(book.chapters) == len(headings)
    assert [len(found) for found in paragraphs(book)] == [3] * len(headings)


def test_an_initial_is_no_number() -> None:
    chapters = [*story("I"), "D. Smith put it out.", "M. Poirot lit it.", "D.", *story("II")]
    book = read_book("\n\n".join(["I", *chapters, "II", *story("III")]), "en")
    assert len(book.chapters) == 2
    assert {"D. Smith put it out.", "M. Poirot lit it."} <= set(paragraphs(book)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "filling",
    [
        "a" + " " * 300_000 + "b",
        "a" + "\t\u00a0" * 150_000 + "b",
        "* * *\n" * 60_000,
        "THE LAMP BURNED OVER THE HARBOUR AND\n" * 12_000,
        "_" * 300_000 + "x",
        'The "lamp burned over the harbour while\nit rose and went\nout.\n' * 3_000,
    ],
    ids=["spaces", "tabs", "ornaments", "capitals", "line of signs", "open speech"],
)
def test_odd_books_take_no_quadratic_time(filling: str) -> None:
    """Each of these took minutes, and the time grew with the square of the length."""
    lines = "\n".join(f"The lamp of day {day} was lit." for day in range(30))
    for parting in ("\n\n", "\n"):
        book = read_book(parting.join(["CHAPTER 1", lines, filling, lines, "CHAPTER 2", lines]), "en")
        assert len(book.chapters) == 2
        assert all(without_notes(book.text, span) for chapter in book.chapters for span in chapter.paragraphs)


@pytest.mark.parametrize("name", CHAPTERS)
def test_shared_books(shared: Path, name: str) -> None:
    with (shared / "data" / "books" / f"{name}.txt.zst").open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode("utf-8")
    book = read_book(text, name[:2])
    check_spans(book)
    assert len(book.chapters) == CHAPTERS[name]
    found = [paragraph for chapter in paragraphs(book) for paragraph in chapter]
    assert sum(map(len, found)) > 0.9 * len(book.text)
    assert not any("Gutenberg" in paragraph for paragraph in found)
    assert name.startswith("zh") or not any(paragraph[0].islower() for paragraph in found)
    lines = [line.strip() for paragraph in found for line in paragraph.split("\n")]
    assert not any(
        line.startswith(("CHAPTER ", "Chapter ", "ADVENTURE ")) or line.rstrip(".") in ROMAN[1:] for line in lines
    )


def test_what_lies_beside_novels_is_named_and_stops_nothing(tmp_path: Path) -> None:
    from fathom.suites.build.config import BOOKS, BuildConfig
    from fathom.suites.build.material import gather
    from fathom.tokens.counts import TokenCounter
    from fathom.tokens.tokenizers import get_tokenizer

    (tmp_path / "novel.txt").write_text("A novel of one sentence.")
    for name, content in (("catalogue.csv", "title;year\r\nA;1788\r\n"), ("notes.doc", "x"), ("index.json", "{}")):
        (tmp_path / name).write_text(content)
    wanted = BuildConfig("x", (), (2048,), own=((BOOKS, str(tmp_path)),))
    material = gather(wanted, TokenCounter(get_tokenizer("words")))
    assert [each.text for each in material.roles["book"]["en"].values()] == ["A novel of one sentence."]
    assert [left.names for left in material.unread] == [("notes.doc",)]
    named = sorted(problem.split("/")[-1].split(":")[0] for problem in material.problems)
    assert named == ["catalogue.csv", "index.json"]


def test_documents_with_control_tokens_are_named(tmp_path: Path) -> None:
    from fathom.suites.build.config import BuildConfig
    from fathom.suites.build.material import gather
    from fathom.tokens.counts import TokenCounter
    from fathom.tokens.tokenizers import get_tokenizer

    for number in range(5):
        (tmp_path / f"{number}.md").write_text(f"Text {number} " + "ends with <|eot_id|> or </s>. " * (number > 3))
    material = gather(BuildConfig("x", (), (2048,), corpus=(str(tmp_path),)), TokenCounter(get_tokenizer("words")))
    (note,) = material.notes
    assert "1 document with control tokens of models (<|eot_id|>, </s>): 4.md; they count as text" in note
