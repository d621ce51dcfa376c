"""``--prompts official``: made-up copies of the authors' repositories, and files of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine_calls import configure
from fathom.documents.sources.templates import read_templates
from fathom.suites.build import build
from fathom.suites.build.wording import read_wording
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError

CODE = """
import a_module_that_does_not_exist
raise SystemExit("executed")

def generate_dataset_single_doc_qa(length=8):
    for i, c in enumerate(choices):
        context = context + f'Text {i+1}:\\n' + dataset_list[c[1]]['context'] + '\\n\\n'
    results.append({'instruction': f'It is about Text {c_i+1}. ', "input": d['input']})
"""

TEMPLATE = "Read {these}.\n\n{context}\n\n{instruction}\nAsked: {input}\nSay:"


def write_copy(
    folder: Path, template: str = "Read {these}.\n\n{context}\n\n{instruction}\nAsked: {input}\nSay:"
) -> Path:
    """A repository of the form of 100-LongBench's, with one task."""
    (folder / "config").mkdir(parents=True)
    (folder / "utils").mkdir()
    prompts = {"single_doc_qa": template, "qa_old": "From memory: {input}\nSay:"}
    (folder / "config/dataset2prompt.json").write_text(json.dumps(prompts), encoding="utf-8")
    (folder / "utils/data_utils.py").write_text(CODE, encoding="utf-8")
    return folder


def built(out: Path, target: str, *templates: Path, prompts: str = "official") -> BuiltSuite:
    wanted = configure(
        target,
        corpus=["world"],
        lengths=[2048],
        items=2,
        tokenizer="words",
        exact=True,
        closed_book=True,
        prompts=prompts,
        templates=[str(path) for path in templates],
    )
    return open_suite(build(wanted, out).folder)


def test_a_repository_gives_the_prompt_word_for_word_and_is_not_executed(tmp_path: Path) -> None:
    suite = built(tmp_path / "suite", "single_doc_qa", write_copy(tmp_path / "copy"))
    texts = suite.texts()
    for sample in suite.samples():
        prompt = render(sample, texts)
        assert sample.facets["prompt"] == "official"
        if sample.length:
            assert sample.tokens == sample.length == 2048
            assert prompt.startswith("Read {these}.\n\nText 1:\n")
            about = f"It is about Text {sample.facets['gold']}. "
            assert prompt.endswith(f"\n\n\n\n{about}\nAsked: {sample.asked}\nSay:")
        else:
            assert prompt.startswith("From memory: ")
    record = suite.manifest["official_prompts"]
    assert record["tasks"]["single_doc_qa/en"]["source"] == "100-LongBench"
    assert set(record["sources"]["100-LongBench"]) == {"config/dataset2prompt.json", "utils/data_utils.py"}


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[single_doc_qa]\nprompt = "Look.\\n\\n{context}\\n\\n{number}: {question}"\n', encoding="utf-8")
    notes = "\n".join(built(tmp_path / "suite", "single_doc_qa,passage_count", file).manifest["notes"])
    assert "single_doc_qa: no official text for header, closed: fathom's own is used" in notes
    assert "passage_count: no official prompt in language 'en' was found: fathom's own is used" in notes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[single_doc_qa]\nprompt = "A\\n\\n{context}\\n\\n{question}"', r"\{number\} is missing"),
        ('[single_doc_qa]\nprompt = "A {context} {question} {number}"', "an empty line before and after"),
        ('[single_doc_qa]\nending = "A"', "unknown text 'ending'"),
        ("[single_doc_qa", "not valid TOML"),
        ('[passkey]\nquestion = "A"', "cannot be replaced"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(content, encoding="utf-8")
    with pytest.raises(FathomError, match=message):
        built(tmp_path / "suite", "single_doc_qa", tmp_path / "mine.toml")


def test_without_any_prompt_the_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"github\.com/uservan/100-LongBench.*`templates`"):
        built(tmp_path / "suite", "single_doc_qa")
    with pytest.raises(FathomError, match="no effect without `prompts` official"):
        built(tmp_path / "suite", "single_doc_qa", tmp_path, prompts="own")


def test_other_wording_is_another_suite(tmp_path: Path) -> None:
    first = built(tmp_path / "one", "single_doc_qa", write_copy(tmp_path / "a")).manifest["fingerprint"]
    other = write_copy(tmp_path / "b", "Else.\n\n{context}\n\n{instruction}{input}")
    assert built(tmp_path / "two", "single_doc_qa", other).manifest["fingerprint"] != first


def test_the_prompts_of_another_suite_are_not_taken_for_longbenchs(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "copy")
    wanted = configure("longbench_trec", data=[str(tmp_path)], prompts="official", templates=[str(copy)])
    assert read_templates([copy], read_wording(wanted).claimed).prompts == {}
