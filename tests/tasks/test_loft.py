"""LOFT's generated tasks, and its published queries in its own folders."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.loft.records import KINDS, place_of, read_query, read_record
from fathom.benchmarks.loft.tables import drawn, line
from fathom.benchmarks.loft.tasks import PROMPTS, forms
from fathom.benchmarks.oolong.messages import SUBJECTS
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources.finder import read_sources
from fathom.models.overflow import fit
from fathom.score.registry import ScoringRow, get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Sample
from fathom.world.annals.answers import town_in
from fathom.world.annals.retrieval import KINDS as SELECTED
from fathom.world.facts import Record
from fathom.world.reading import Read, act_in, papers_of, work_in
from fathom.world.types import Language
from made_frontier import loft_query, write_lines, write_loft

LENGTHS = (8192, 32768)
TASKS = [name for name in get_suite("loft").tasks if "published" not in name]
PAPERS = [name for name in TASKS if name.startswith(("loft_retrieval", "loft_rag"))]
ENTRY = re.compile(r"ID: (\d+) \| TITLE: (.+?) \| CONTENT: (.+?) \| END ID: \1$", re.MULTILINE | re.DOTALL)
OAK = 1
"""The number of a material of the world."""
Prompts = Mapping[str, list[tuple[Sample, str]]]


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Prompts:
    """Samples with their prompts, by task."""
    wanted = configure(",".join(TASKS), languages=("en", "zh"), lengths=LENGTHS, items=4)
    suite = open_suite(build(wanted, tmp_path_factory.mktemp("loft") / "suite").folder)
    texts, by_task = suite.texts(), defaultdict(list)
    for sample in suite.samples():
        by_task[sample.task].append((sample, render(sample, texts)))
    return by_task


def pieces(prompt: str, name: str) -> list[str]:
    """The entries, rows or examples of a prompt."""
    if name in PAPERS:
        return [match[0] for match in ENTRY.finditer(prompt)]
    return re.findall(r"^\d+,.+$" if name == "loft_sql" else r"^.+\nOutput: .+$", prompt, re.MULTILINE)


def entries(prompt: str, language: Language) -> list[tuple[str, Read]]:
    """The identifiers of papers with the papers as read."""
    return [
        (id, paper)
        for id, title, content in ENTRY.findall(prompt)
        for paper in papers_of(f"{title}\n{content}", language)
    ]


def find_one(prompt: str, language: Language) -> str:
    """The paper that reports an act about a work of a town."""
    question = prompt.rsplit("\n\n", 1)[1].split("\n")[1]
    work, act, town = work_in(question, language), act_in(question, language), town_in(question, language)
    return final(
        id
        for id, paper in entries(prompt, language)
        if paper.town == town and any((each.work, each.act) == (work, act) for each in paper.reported)
    )


def find_two(prompt: str, language: Language) -> str:
    """The paper on a completion, and that on a delivery by the same firm in another town."""
    question = prompt.rsplit("\n\n", 1)[1].split("\n")[1]
    work, known = work_in(question, language), entries(prompt, language)
    first = [
        (id, paper.town, each.values["firm"])
        for id, paper in known
        for each in paper.reported
        if (each.work, each.act) == (work, "completion") and paper.town in question
    ]
    second = [
        id
        for _, town, firm in first
        for id, paper in known
        for each in paper.reported
        if each.act == "delivery" and each.values["firm"] == firm and paper.town != town
    ]
    return final([*(id for id, _, _ in first), *second])


def find_all(prompt: str, language: Language) -> str:
    """The papers of a district that report a kind of thing."""
    question = prompt.rsplit("\n\n", 1)[1].split("\n")[0]
    known = entries(prompt, language)
    marks = set(SELECTED["T6.2"].solve([paper for _, paper in known], question, language))
    return final(id for id, paper in known if paper.mark in marks)


def query_tables(prompt: str, language: Language) -> str:
    """The rows that SQL gives."""
    firms, payments = (part.split("\n") for part in re.findall(r"Table: \w+\n((?:.+\n)+)", prompt))
    rows = [row.split(",") for row in payments[1:] if row.count(",") == 4 and row.split(",")[4].isdigit()]
    question = prompt.rsplit("\n\n", 1)[1].split("\n")[0]
    town = max((row[1] for row in rows if row[1] in question), key=len, default="")
    return f"Final Answer: {json.dumps(sql(question, town, [row.split(',') for row in firms[1:] if row], rows))}"


def sql(question: str, town: str, firms: list[list[str]], payments: list[list[str]]) -> list[tuple[object, ...]]:
    """The answer to an English question by a database."""
    base = sqlite3.connect(":memory:")
    base.execute("create table firms (firm, seat, trade)")
    base.execute("create table payments (no integer, town, firm, work, crowns integer)")
    base.executemany("insert into firms values (?, ?, ?)", firms)
    base.executemany("insert into payments values (?, ?, ?, ?, ?)", payments)
    joined = "from payments join firms using (firm) where town = ?"
    if of := re.search(r"make for (.+)\? Give", question):
        return base.execute("select no, crowns from payments where town = ? and work = ?", (town, of[1])).fetchall()
    if of := re.search(r"whose trade is (\w+)\?", question):
        return base.execute(f"select sum(crowns) {joined} and trade = ?", (town, of[1])).fetchall()
    of = re.search(r"whose seat is (\w+)\?", question)
    assert of
    return base.execute(f"select firm, sum(crowns) {joined} and seat = ? group by firm", (town, of[1])).fetchall()


def find_code(prompt: str, language: Language) -> str:
    """The code of the example to the same office about the same subject."""
    about = {text: subject for subject, texts in SUBJECTS[language].items() for text in texts}
    *known, (office, text) = re.findall(r"^Message to (\w+): [\w ]+, (.+)\.$", prompt, re.MULTILINE)
    codes = re.findall(r"^Output: \['(\w+)'\]$", prompt, re.MULTILINE)
    fitting = [
        code for (to, other), code in zip(known, codes, strict=False) if (to, about.get(other)) == (office, about[text])
    ]
    return f"Output: {fitting[:1]}"


def final(ids: object) -> str:
    return f"Final Answer: {list(ids)}"  # type: ignore[call-overload]


SOLVERS: Mapping[str, Callable[[str, Language], str]] = {
    "loft_retrieval": find_one,
    "loft_retrieval_hops": find_two,
    "loft_retrieval_all": find_all,
    "loft_sql": query_tables,
    "loft_icl": find_code,
}
BILINGUAL = ("loft_retrieval", "loft_retrieval_hops", "loft_retrieval_all")


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_gold_reply_is_right_under_both_rules_and_an_empty_one_wrong(prompts: Prompts, name: str) -> None:
    task = get_task(name)
    official = get_scorer(task.official, "official")
    for sample, _ in prompts[name]:
        gold = sample.targets[0]
        assert (task.score(gold, sample).value, official(row_of(gold, sample)).value) == (1, 1), sample.id
        empty = task.score("", sample)
        assert (empty.value, empty.valid) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_longer_prompt_asks_the_same_and_has_all_of_a_shorter_one(prompts: Prompts, name: str) -> None:
    items = defaultdict(list)
    for sample, prompt in prompts[name]:
        assert 0.99 * sample.length <= sample.tokens <= sample.length, sample.id
        assert 0 <= sample.chance <= 1 / 6
        items[sample.item].append((sample, prompt))
    assert len(items) == 8
    for (short, first), (long, second) in items.values():
        assert (short.length, long.length, short.targets) == (*LENGTHS, long.targets)
        assert first.rsplit("\n\n", 1)[1] == second.rsplit("\n\n", 1)[1]
        rest = iter(pieces(second, name))
        assert all(piece in rest for piece in pieces(first, name))
        assert len(pieces(second, name)) > 2 * len(pieces(first, name)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_a_reader_with_a_window_is_right_up_to_it_and_not_beyond(prompts: Prompts, name: str) -> None:
    tokenizer, task, scores = get_tokenizer(), get_task(name), defaultdict[int, list[float]](list)
    for sample, prompt in prompts[name]:
        language: Language = "zh" if sample.language == "zh" else "en"
        if language == "en" or name in BILINGUAL:
            fitted = fit(prompt, LENGTHS[0], "middle", tokenizer)
            assert fitted is not None
            reply = SOLVERS[name](fitted.prompt, language)
            scores[sample.length].append(task.score(reply, sample).value or 0.0)
    assert mean(scores[LENGTHS[0]]) == 1
    assert mean(scores[LENGTHS[1]]) < 0.8, scores


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loft_rag", "loft_rag_hops"])
def test_an_answer_stands_in_one_paper_at_most_with_its_question(prompts: Prompts, name: str) -> None:
    for sample, prompt in prompts[name]:
        value = json.loads(str(sample.inputs["gold_json"]))[0]
        known = {id: f"{title}\n{content}" for id, title, content in ENTRY.findall(prompt)}
        assert any(value.lower() in text.lower() for text in known.values()), sample.id
        assert get_task(name).score(f"Final Answer: {list(known.values())!r}", sample).value == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loft_rag", "loft_rag_hops"])
def test_an_answer_is_right_with_or_without_its_unit(prompts: Prompts, name: str) -> None:
    for sample, _ in prompts[name]:
        gold = json.loads(str(sample.inputs["gold_json"]))
        for form in gold:
            assert get_task(name).score(f"Final Answer: {[form]!r}", sample).value == 1, form
        slot, texts = sample.facets["slot"], PROMPTS[sample.language]
        plain = gold[0].replace(" crowns", "").replace("银元", "")
        assert plain in gold
        if slot == "count":
            units = [texts[f"forms_{act}"].split(",")[0] for act in ("petition", "delivery", "opening")]
            assert any(unit.format(value=gold[0]) in gold for unit in units)
            assert get_task(name).score(f"Final Answer: ['{gold[0]}1']", sample).value == 0


@pytest.mark.parametrize(
    ("language", "value", "slot", "act", "others"),
    [
        ("en", "Miss Violet Larkin", "person", "damage", ["Violet Larkin"]),
        ("zh", "郑云起先生", "person", "damage", ["郑云起"]),
        ("en", "Marlowe & Kemp", "firm", "completion", ["Marlowe and Kemp", "the firm Marlowe & Kemp"]),
        ("zh", "秦昌营造行", "firm", "completion", ["秦昌"]),
        ("en", "151", "count", "delivery", ["151 loads", "151 loads of oak"]),
        ("zh", "151", "count", "delivery", ["151车", "151车橡木", "橡木151车"]),
        ("en", "251", "count", "petition", ["251 households"]),
        ("zh", "251", "count", "petition", ["251户"]),
        ("en", "216", "count", "opening", ["216 guests"]),
        ("zh", "216", "count", "opening", ["216人", "216名宾客"]),
        ("en", "2,259 crowns", "money", "payment", ["2,259", "2259"]),
        ("zh", "2259银元", "money", "payment", ["2259"]),
        ("en", "oak", "material", "delivery", []),
    ],
)
def test_a_value_has_the_forms_that_are_as_right(
    language: Language, value: str, slot: str, act: str, others: list[str]
) -> None:
    material = {"material": OAK} if act == "delivery" else {}
    gold = forms(value, slot, Record(0, act, material), PROMPTS[language], language)
    score, inputs = get_scorer("loft/rag_em", "strict"), {"gold_json": json.dumps(gold)}
    for text in (value, *others):
        assert score(ScoringRow(f"Final Answer: {[text]!r}", [], extra=inputs)).value == 1, text
    assert score(ScoringRow("Final Answer: ['loads']", [], extra=inputs)).value == 0


@pytest.mark.slow
def test_a_list_of_everything_is_right_as_often_as_its_first_item(prompts: Prompts) -> None:
    task = get_task("loft_retrieval")
    for sample, prompt in prompts["loft_retrieval"][:4]:
        ids = [match[1] for match in ENTRY.finditer(prompt)]
        rotated = (f"Final Answer: {[*ids[start:], *ids[:start]]}" for start in range(len(ids)))
        assert mean(task.score(reply, sample).value or 0.0 for reply in rotated) == pytest.approx(sample.chance)


@pytest.mark.slow
def test_identifiers_are_distinct_and_of_one_form(prompts: Prompts) -> None:
    for name in PAPERS:
        for _, prompt in prompts[name]:
            ids = [id for id, _, _ in ENTRY.findall(prompt)]
            assert len(ids) == len(set(ids))
            assert {len(id) for id in ids} == {6}


@pytest.mark.slow
def test_every_desk_of_an_office_has_as_many_examples(prompts: Prompts) -> None:
    for sample, prompt in prompts["loft_icl"]:
        if sample.language == "en":
            *known, (office, _) = re.findall(r"^Message to (\w+): (.+)$", prompt, re.MULTILINE)
            codes = re.findall(r"^Output: \['(\w+)'\]$", prompt, re.MULTILINE)
            own = Counter(code for (to, _), code in zip(known, codes, strict=False) if to == office)
            assert list(own.values()) == [2] * 6
            right = [get_task("loft_icl").score(f"Output: {[code]}", sample).value for code in own]
            assert mean(value or 0.0 for value in right) == pytest.approx(sample.chance)


@given(st.integers(0, 1 << 32))
def test_rows_of_an_answer_are_those_of_a_database_whatever_other_towns_paid(seed: int) -> None:
    query, others = drawn(Random(seed), "en", ("masonry", "roofing"), 200)
    asked = {
        "rows": f"Which payments did {query.town} make for {query.value}? Give",
        "total": f"whose trade is {query.value}?",
        "group": f"whose seat is {query.value}?",
    }[query.kind]
    firms, payments = ([line(row).split(",") for row in rows] for rows in (query.firms, (*query.payments, *others)))
    rows = sql(asked, query.town, firms, payments)
    assert sorted(rows) == sorted(query.rows)
    assert rows
    assert query.town not in {payment.town for payment in others}


# ----------------------------------------------------------------------------------------------------------- published


def loft_sample(folder: Path, task: str, number: int = 0) -> tuple[Sample, str]:
    """A sample of a task on the made-up records of a folder, with its prompt."""
    wanted = configure(task, data=[str(folder / "data")], lengths=(2048,))
    suite = open_suite(build(wanted, folder / "suite").folder)
    sample = list(suite.samples())[number]
    return sample, render(sample, suite.texts())


@pytest.mark.slow
def test_a_published_prompt_is_instruction_corpus_examples_and_query(tmp_path: Path) -> None:
    write_loft(tmp_path / "data", 3)
    sample, prompt = loft_sample(tmp_path, "loft_published_retrieval_nq", 1)
    shown = [match[0] for match in ENTRY.finditer(prompt)]
    assert shown == [
        f"ID: {number} | TITLE: Town {number} | CONTENT: In town {number} lives Keeper {number}. | END ID: {number}"
        for number in range(5)
    ]
    assert prompt.index(shown[-1]) < prompt.index("### Example 1") < prompt.index("### Example 2")
    assert "TITLE: Town 3 | ID: 3\nFinal Answer: ['3']\n\n### Example 2" in prompt
    assert "Question: Who lives in town 1?" in prompt.partition("### Question\n")[2]
    assert sample.chance == 1 / 5
    assert json.loads(str(sample.inputs["gold_json"])) == [["1", 1]]
    assert "cluster" not in sample.facets


@pytest.mark.slow
def test_each_turn_is_asked_after_the_earlier_ones_with_their_gold_answers(tmp_path: Path) -> None:
    write_loft(tmp_path / "data", 2)
    sample, prompt = loft_sample(tmp_path, "loft_published_rag_topiocqa", 1)
    asked = prompt.partition("### Question\n")[2]
    assert asked.startswith("Question: Who lives in town 0?")
    assert "TITLE: Town 0 | ID: 0\nFinal Answer: ['Keeper 0']\n\nQuestion: And who else?" in asked
    assert sample.facets["form"] in get_task(sample.task).substitutes
    assert sample.asked == "And who else?"


@pytest.mark.slow
def test_two_copies_of_which_one_is_changed_are_named(tmp_path: Path) -> None:
    for copy in ("one", "other"):
        write_loft(tmp_path / "data" / copy, 1)
    assert loft_sample(tmp_path, "loft_published_icl_web")[0].targets == ("Output: ['(B)']",)
    write_loft(tmp_path / "data" / "third", 2)
    with pytest.raises(FathomError, match="different queries of loft_rag_nq with the id 'q0'; name one copy"):
        build(configure("loft_published_rag_nq", data=[str(tmp_path / "data")], lengths=(2048,)), tmp_path / "suites")


@pytest.mark.slow
def test_a_query_of_tables_has_its_own_tables_and_no_others(tmp_path: Path) -> None:
    write_loft(tmp_path / "data", 3)
    _, prompt = loft_sample(tmp_path, "loft_published_sql_spider", 2)
    tables = prompt.partition("### Question\n")[2]
    assert tables.startswith("Table: Town 2\nKeeper,Age\nKeeper 2,2\n\nTable: Town 0\n")
    assert "Town 1" not in tables


def unfilled(folder: Path) -> None:
    for path in folder.iterdir():
        rows = [json.loads(row) for row in path.read_text().splitlines()]
        write_lines(path, [{**row, **dict.fromkeys(row.keys() & {"query_text", "passage_text"}, "")} for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unfilled, "run preprocess.py of google-deepmind/loft with --dataset fiqa"),
        (lambda folder: (folder / "corpus.jsonl").unlink(), r"corpus\.jsonl is not beside the queries"),
        (lambda folder: (folder / "few_shot_queries.jsonl").unlink(), r"few_shot_queries\.jsonl is not beside"),
        (lambda folder: folder.rename(folder.parent / "small"), r"keep the folders of LOFT, as in retrieval/nq/32k"),
        (lambda folder: (folder / "corpus.jsonl").write_text("[1]\n"), r"corpus\.jsonl:1 is no object"),
        (lambda folder: (folder / "corpus.jsonl").write_text("[" * 100_000), r"corpus\.jsonl:1 is no JSON"),
    ],
)
def test_what_lacks_in_the_folders_is_said_with_what_to_do(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    write_loft(tmp_path / "data", 1)
    change(tmp_path / "data" / "retrieval" / "fiqa" / "2k")
    with pytest.raises(FathomError, match=message):
        loft_sample(tmp_path, "loft_published_retrieval_fiqa")


@pytest.mark.slow
@pytest.mark.parametrize("alone", [True, False])
def test_bad_test_queries_are_named_and_dev_queries_not_asked(tmp_path: Path, *, alone: bool) -> None:
    write_loft(tmp_path / "data", 3)
    file = tmp_path / "data" / "rag" / "nq" / "2k" / "test_queries.jsonl"
    folder = file.parent if alone else tmp_path / "data"
    if alone:
        for other in (tmp_path / "data").rglob("test_queries.*"):
            if other != file:
                other.unlink()
    query = json.dumps({"query_text": "Who?", "answers": ["Keeper 1"]})
    good = file.read_text()
    file.write_text(f"{query}\n{good}")
    data = read_sources(["loft_queries"], [folder])
    asked = [q.meta for text in data.documents["loft_queries"] for q in text.questions if "/rag/nq/" in f"{text.meta}"]
    assert all(meta["split"] == "test" for meta in asked)
    assert any("test_queries.jsonl:1: the field 'qid' is missing" in problem for problem in data.problems)
    for text, message in (("", "it contains no records"), (f"{query}\n", "the field 'qid' is missing")):
        file.write_text(text)
        with pytest.raises(FathomError, match=message):
            loft_sample(tmp_path, "loft_published_rag_nq")


def test_dev_queries_are_asked_only_without_test_queries(tmp_path: Path) -> None:
    write_loft(tmp_path, 1)
    file = tmp_path / "rag" / "nq" / "2k" / "dev_queries.jsonl"
    record = {**loft_query("rag", "nq", 0), "file": str(file)}
    with pytest.raises(BadRowError, match=r"test_queries\.jsonl is beside them; name that file too, or download"):
        read_record(record, "here")
    file.with_name("test_queries.jsonl").unlink()
    assert read_record(record, "here").questions[0].meta["split"] == "dev"


@pytest.mark.parametrize(
    ("kind", "dataset", "answers"),
    [
        ("rag", "nq", [5]),
        ("rag", "nq", [""]),
        ("rag", "nq", [["Keeper 0"]]),
        ("sql", "spider", ["b"]),
        ("sql", "spider", [[]]),
        ("sql", "spider", [[["b"]]]),
        ("sql", "sparc", [["b"], [["b"]]]),
    ],
)
def test_a_gold_answer_of_another_form_is_a_bad_row(
    tmp_path: Path, kind: str, dataset: str, answers: list[object]
) -> None:
    write_loft(tmp_path, 1)
    file = tmp_path / kind / dataset / "2k" / "test_queries.jsonl"
    with pytest.raises(BadRowError, match=r"answers: .* is no (text|row with cells); download the file again"):
        read_record({**loft_query(kind, dataset, 0), "answers": answers, "file": str(file)}, "here")


def test_examples_that_are_empty_are_a_bad_row(tmp_path: Path) -> None:
    write_loft(tmp_path, 1)
    (tmp_path / "icl" / "web_of_lies" / "2k" / "corpus.json").write_text("[]")
    file = tmp_path / "icl" / "web_of_lies" / "2k" / "test_queries.json"
    with pytest.raises(BadRowError, match=r"corpus\.json has no examples; download it again"):
        read_record({"input": "Is it?", "target": "(A)", "file": str(file)}, "here")
    (tmp_path / "rag" / "nq" / "2k" / "few_shot_queries.jsonl").write_text("\n")
    file = tmp_path / "rag" / "nq" / "2k" / "test_queries.jsonl"
    with pytest.raises(BadRowError, match=r"few_shot_queries\.jsonl has no examples; download it again"):
        read_record({**loft_query("rag", "nq", 0), "file": str(file)}, "here")


@pytest.mark.parametrize(
    "change",
    [
        {"query_text": None},
        {"query_text": [" "]},
        {"query_text": ["Who?", "Who else?"]},
        {"answers": []},
        {"answers": [["p9", 1]]},
        {"answers": [5]},
        {"answers": [[5, 1]]},
        {"answers": [[]]},
        {"query_text": ["Who?"], "answers": [5]},
        {"query_text": ["Who?"], "answers": [[]]},
    ],
)
def test_a_faulty_query_is_a_bad_row(tmp_path: Path, change: dict[str, object]) -> None:
    write_loft(tmp_path, 1)
    file = tmp_path / "retrieval" / "nq" / "2k" / "test_queries.jsonl"
    with pytest.raises(BadRowError):
        read_query({**loft_query("retrieval", "nq", 0), **change, "file": str(file)}, "here")


@pytest.mark.parametrize("metadata", [None, {}, {"candidate_pids": []}, {"candidate_pids": ["p9"]}])
def test_a_query_of_tables_that_are_not_there_is_a_bad_row(tmp_path: Path, metadata: object) -> None:
    write_loft(tmp_path, 1)
    file = tmp_path / "sql" / "spider" / "2k" / "test_queries.jsonl"
    with pytest.raises(BadRowError, match="candidate_pids"):
        read_query({**loft_query("sql", "spider", 0), "metadata": metadata, "file": str(file)}, "here")


@pytest.mark.parametrize(
    "file", ["", "test_queries.jsonl", "rag/nq/64k/test_queries.jsonl", "rag/fiqa/32k/test_queries.jsonl"]
)
def test_a_file_outside_the_folders_of_loft_is_a_bad_row(file: str) -> None:
    with pytest.raises(BadRowError, match="keep the folders"):
        place_of(file)


def test_every_text_data_set_has_a_task_with_its_primary_metric() -> None:
    names = [name for name in get_suite("loft").tasks if "published" in name]
    assert len(names) == sum(map(len, KINDS.values())) == 25
    metrics = {name.removeprefix("loft_published_"): get_task(name).official for name in names}
    assert metrics["retrieval_musique"] == metrics["retrieval_qampari"] == "loft/retrieval_mrecall@5"
    assert metrics["retrieval_quest"] == "loft/retrieval_mrecall@3"
    assert metrics["retrieval_hotpotqa"] == "loft/retrieval_mrecall@2"
    assert metrics["rag_quest"] == "loft/multi_value_rag_subspan_em"
    assert (metrics["rag_nq"], metrics["sql_sparc"]) == ("loft/rag_subspan_em", "loft/sql_exec_acc")
