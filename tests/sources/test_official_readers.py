"""Readers of the authors' prompt files, on made-up files of their layout: whole, changed, and hostile."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from engine_calls import configure
from fathom.benchmarks.ada import official_prompts as ada
from fathom.benchmarks.ada.tsort import ordering
from fathom.benchmarks.leader import official_prompts as infinite
from fathom.documents.sources.python_texts import texts_in
from fathom.suites.build import build
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError
from made_books import write_books
from made_infinitebench import write_infinite
from made_official import (
    ADA_CODE,
    INFINITE_CODE,
    INFINITE_TEMPLATES,
    TSORT,
    write_ada,
    write_infinite_code,
    write_tsort,
)
from made_threads import write_threads


def read_ada(code: str = ADA_CODE) -> dict[str, dict[str, str]]:
    return ada.read({ada.CODE: code})


def read_infinite(templates: str = INFINITE_TEMPLATES, code: str = INFINITE_CODE) -> dict[str, dict[str, str]]:
    return infinite.read({infinite.TEMPLATES: templates, infinite.CODE: code})


# ----------------------------------------------------------------------------------------------------- Ada-LEval


def test_the_prompt_of_bestanswer_is_read_from_its_class() -> None:
    found = read_ada()
    assert set(found) == {"bestanswer", "bestanswer_published", "leader_bestchoice"}
    texts = found["bestanswer"]
    assert texts["intro"].startswith("\nYou judge answers")
    assert texts["intro"].endswith("for the second) \n\nAsked here.\n")
    assert {name: text for name, text in texts.items() if name != "intro"} == {
        "between": "\n\nSaid here.\n",
        "header": "\n\nA{number}:\n\n",
        "closing": "\nThat is all; which is best?\nOnly its label.\n",
        "example": "A2",
    }


def test_an_example_that_is_not_there_is_left_out() -> None:
    assert "example" not in read_ada(ADA_CODE.replace("e.g.", "as"))["bestanswer"]


@pytest.mark.parametrize(
    ("now", "then", "message"),
    [
        ("class StackSelect", "class Selected", "no text 'meta_prompt' as expected.*`templates` FILE"),
        ("self.meta_prompt =", "self.header =", "no text 'meta_prompt' as expected"),
        ("def build_prompt", "def make_prompt", "no text 'prompt' as expected"),
        ("prompt += 'Said here.\\n'", "pass", "expected five texts, found 4"),
        ("str(j)", "str(index)", r"unknown expression 'str\(index\)'"),
        ("line['question']", "line['asked']", r"no expression \"line\['question'\]\" as expected"),
        ("'A' + str(j) + ':\\n\\n' + all_answers[j - 1] + '\\n\\n'", "'A1'", "expected a label and an answer"),
        ("all_answers[j - 1] + '\\n\\n'", "all_answers[j - 1] + '\\n'", "expected an empty line after an answer"),
        ('self.meta_prompt = """', 'self.meta_prompt = f"""{line.__class__}', r"unknown expression 'line\.__class__'"),
        ("class TextSort:", "class TextSort", "not Python"),
    ],
)
def test_what_changed_in_ada_leval_is_named(now: str, then: str, message: str) -> None:
    assert now in ADA_CODE
    with pytest.raises(FathomError, match=message):
        read_ada(ADA_CODE.replace(now, then))


# ------------------------------------------------------------------------------------------------ InfiniteBench


def test_templates_for_gpt_4_are_read() -> None:
    found = read_infinite()
    assert found == {
        "leader_en_qa": {"before": "A novel.\n\n", "after": "\n\nAsked: {question}\n\nIn brief."},
        "leader_en_mc": {
            "before": "A novel.\n\n",
            "after": "\n\nAsked: {question}\n\nOne letter.\nA. {A}\nB. {B}\nC. {C}\nD. {D}",
        },
        "leader_en_sum": {"before": "Sum up this novel.\n\n", "after": ""},
        "leader_math_find": {"before": "Which is {target} here?\n\n", "after": "\n\n{question}"},
        "leader_code_debug": {
            "before": "One is broken.\n\n",
            "after": "\n\nWhich?\nA. {A}\nB. {B}\nC. {C}\nD. {D}\n\nA, B, C, or D.",
        },
    }


def test_a_data_set_without_a_template_is_left_out() -> None:
    assert "leader_code_debug" not in read_infinite(INFINITE_TEMPLATES.replace('"code_debug"', '"code_run"'))


def test_a_repository_without_templates_for_gpt_4_is_another_one() -> None:
    assert read_infinite(INFINITE_TEMPLATES.replace("gpt4_templates", "gpt5_templates")) == {}


@pytest.mark.parametrize(
    ("templates", "code", "message"),
    [
        (INFINITE_TEMPLATES.replace("this novel.\\n\\n{context}", "this."), INFINITE_CODE, r"expected \{context\}"),
        (INFINITE_TEMPLATES, INFINITE_CODE.replace("prefix = f", "start = f"), "no text 'prefix' as expected"),
        (INFINITE_TEMPLATES, INFINITE_CODE.replace("create_prompt", "make"), "no text 'prefix' as expected"),
        (INFINITE_TEMPLATES, INFINITE_CODE.replace("{target_number}", "{eg['x']}"), "unknown expression"),
        (INFINITE_TEMPLATES.replace('"Sum up this', 'start + "Sum up this'), INFINITE_CODE, "unknown expression"),
        (INFINITE_TEMPLATES + "\n}", INFINITE_CODE, "not Python"),
    ],
)
def test_what_changed_in_infinitebench_is_named(templates: str, code: str, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        read_infinite(templates, code)


# ------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "x = 'a'\nrows.append()\n",
        "x = " + "(" * 50_000,
        "x = " + " + ".join(["'a'"] * 50_000),
        "x = " + "-" * 5_000 + "1",
        "x = " + "f(" * 150 + ")" * 150,
        "x = '\0'",
        "x = '\\ud800'",
        "def f(:\n",
        "if x:\n " + "".join("if x:\n" + " " * (n + 2) for n in range(90)) + "y = 'a'",
        "match x:\n    case 1:\n        y = 'a'\n",
        "async def f():\n    y = 'a'\n",
    ],
    ids=range(11),
)
def test_no_code_makes_the_reader_fail_otherwise(code: str) -> None:
    with suppress(FathomError):
        texts_in(code, "a.py")


HOSTILE = "{x.__class__} {0} {} {number.__class__.__mro__} {asked!r:>{width}} {{}} }{"


@pytest.fixture
def threads(tmp_path: Path) -> Path:
    return write_threads(tmp_path, 40)


def built(out: Path, target: str, templates: Path, **choices: object) -> BuiltSuite:
    wanted = configure(target, prompts="official", templates=[str(templates)], tokenizer="words", **choices)
    return open_suite(build(wanted, out).folder)


def test_no_file_of_the_repositories_is_executed(tmp_path: Path, threads: Path) -> None:
    root = write_infinite_code(write_ada(tmp_path / "copies"))
    data = write_infinite(tmp_path / "data", 2)
    suite = built(
        tmp_path / "suite",
        "leader_en_qa,leader_en_mc,leader_bestchoice",
        root,
        data=[str(data)],
        threads=[str(threads)],
        lengths=[512, 1024],
        items=2,
    )
    texts = suite.texts()
    starts = {sample.task: render(sample, texts)[:20] for sample in suite.samples()}
    assert starts["leader_en_qa"].startswith("A novel.")
    assert starts["leader_bestchoice"].startswith("\nYou judge answers")
    assert not (root / "executed").exists()


def test_braces_that_are_no_placeholders_are_text(tmp_path: Path, threads: Path) -> None:
    odd = INFINITE_TEMPLATES.replace("In brief.", HOSTILE).replace("Sum up this novel.", HOSTILE)
    code = ADA_CODE.replace("You judge answers", HOSTILE).replace("Said here.", HOSTILE).replace("Only its", HOSTILE)
    root = write_infinite_code(write_ada(tmp_path / "copies", code), odd)
    suite = built(
        tmp_path / "suite",
        "leader_en_qa,leader_en_sum,leader_bestchoice",
        root,
        data=[str(write_infinite(tmp_path / "data", 2))],
        threads=[str(threads)],
        lengths=[512, 1024],
        items=2,
    )
    texts = suite.texts()
    counts = {sample.task: render(sample, texts).count(HOSTILE) for sample in suite.samples()}
    assert counts == {"leader_en_qa": 1, "leader_en_sum": 1, "leader_bestchoice": 3}


@pytest.mark.parametrize(
    ("task", "texts"),
    [
        ("single_doc_qa", {"header": "T{number} H\n", "prompt": "H\n\n{context}\n\nH {number} {question} H"}),
        ("passage_count", {"header": "T{number} H\n", "prompt": "H\n\n{context}\n\nH"}),
        ("passage_retrieval", {"header": "T{number} H\n", "prompt": "H\n\n{context}\n\nH {summary}"}),
        ("kv_retrieval", {"needle": "{key} H {value}.", "prompt": "H\n\n{context}\n\nH {key}"}),
        ("counting_stars", {"needle": "H {count}", "option": "{number} {counts} H", "prompt": "H\n\n{context}\n\nH"}),
    ],
)
def test_braces_of_a_file_of_ones_own_are_text(tmp_path: Path, task: str, texts: dict[str, str]) -> None:
    if task == "counting_stars":
        del texts["prompt"]
        texts |= {"intro": "H", "question": "H", "ending": "H"}
    lines = [f"{name} = {json.dumps(text.replace('H', HOSTILE))}" for name, text in texts.items()]
    (tmp_path / "mine.toml").write_text("\n".join([f"[{task}]", *lines]), encoding="utf-8")
    suite = built(tmp_path / "suite", task, tmp_path / "mine.toml", corpus=["world"], lengths=[1024], items=1)
    documents = suite.texts()
    (sample, *_) = suite.samples()
    assert render(sample, documents).count(HOSTILE) >= 3
    assert "<class" not in render(sample, documents)


# --------------------------------------------------------------------------------------------------------- TSort


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_books(tmp_path_factory.mktemp("books"))


def sorted_parts(out: Path, books: Path, content: str) -> BuiltSuite:
    file = write_tsort(out.with_suffix(".toml"), content)
    return built(out, "tsort", file, books=[str(books)], lengths=[2048], items=3, languages=("en",))


@pytest.mark.parametrize(
    "content",
    [
        TSORT,
        TSORT.replace("[Scrap {number}]\\n", "{number}. "),
        TSORT.replace("From here:\\n", "Up to here:\\n"),
        TSORT.replace("[Scrap {number}]\\n", f"{HOSTILE} {{number}}\\n"),
        TSORT.replace("Sort {count}", "Up to here:\\n\\nSort {count}"),
    ],
)
def test_headings_of_other_prompts_part_the_texts(tmp_path: Path, books: Path, content: str) -> None:
    own = open_suite(
        build(
            configure("tsort", books=[str(books)], lengths=[2048], items=3, languages=("en",), tokenizer="words"),
            tmp_path / "own",
        ).folder
    )
    suite = sorted_parts(tmp_path / "official", books, content)
    texts = suite.texts()
    samples = list(suite.samples())
    assert samples
    for sample in samples:
        prompt, found = render(sample, texts), ordering(sample, texts)
        assert sample.facets["prompt"] == "official"
        assert sample.facets["example"] == "[4, 1, 3, 2]"
        assert prompt.startswith(("Sort 4 scraps.", "Up to here:\n\nSort 4 scraps."))
        headings = json.loads(str(sample.inputs["headings"]))
        shown = (found.before, *found.segments, found.after)
        inside = "\n\n".join(heading + text.removesuffix("\n\n") for heading, text in zip(headings, shown, strict=True))
        assert inside in prompt
        assert prompt.endswith(f"{found.after.removesuffix(chr(10) * 2)}\n\nTheir order?")
    assert len(samples) == len(list(own.samples()))


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_heading_that_is_empty_is_refused(tmp_path: Path, books: Path, name: str) -> None:
    lines = [f'{name} = ""' if line.startswith(f"{name} =") else line for line in TSORT.splitlines()]
    with pytest.raises(FathomError, match=f"tsort: {name}: .*empty"):
        sorted_parts(tmp_path / "suite", books, "\n".join(lines))


@pytest.mark.parametrize(
    ("now", "then", "message"),
    [
        ("[Scrap {number}]", "[Scrap]", r"part: the placeholder \{number\} is missing"),
        ("question =", "closing =", "unknown text 'closing'"),
        ('"Their order?"', "4", "question: expected a text"),
        ("intro =", "prompt =", r"prompt: expected \{context\} once"),
    ],
)
def test_faults_of_a_prompt_of_tsort_are_named(tmp_path: Path, books: Path, now: str, then: str, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        sorted_parts(tmp_path / "suite", books, TSORT.replace(now, then))
