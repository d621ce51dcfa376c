from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from statistics import mean

import pytest

from engine_calls import configure
from fathom.benchmarks.oolong.scoring import DECAY
from fathom.benchmarks.ruler.tasks import by_frequency
from fathom.models.overflow import fit
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Sample
from frontier_solvers import blind_to_subjects, solver_of

LENGTHS = (4096, 16384)
SUITES = ("mrcr", "graphwalks", "ruler", "ruler2", "nolima", "babilong", "longproc", "oolong")
TASKS = [
    task for suite in SUITES for task in get_suite(suite).tasks if get_task(task).gold == () and "published" not in task
]
COUNTED = ("ruler_cwe", "ruler_fwe")
UUIDS = "ruler_niah_multikey_3"  # a needle is more than a hundredth of the shortest length


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    wanted = configure(",".join(TASKS), languages=("en", "zh"), lengths=LENGTHS, items=4)
    return open_suite(build(wanted, tmp_path_factory.mktemp("frontier") / "suite").folder)


@pytest.fixture(scope="module")
def prompts(built: BuiltSuite) -> Mapping[str, list[tuple[Sample, str]]]:
    """Samples with their prompts, by task."""
    texts, by_task = built.texts(), defaultdict(list)
    for sample in built.samples():
        by_task[sample.task].append((sample, render(sample, texts)))
    return by_task


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_gold_reply_is_right_under_both_rules_and_an_empty_one_wrong(
    prompts: Mapping[str, list[tuple[Sample, str]]], name: str
) -> None:
    task = get_task(name)
    official = get_scorer(task.official, "official")
    for sample, _ in prompts[name]:
        row = row_of(sample.targets[0], sample)
        assert (task.score(sample.targets[0], sample).value, official(row).value) == (1, 1), sample.id
        empty = task.score("", sample)
        assert (empty.value, empty.valid) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ruler_niah_multivalue", "ruler_niah_multiquery", "ruler_vt", "ruler_cwe"])
def test_every_answer_of_a_list_counts_for_itself_under_the_official_rule(
    prompts: Mapping[str, list[tuple[Sample, str]]], name: str
) -> None:
    official = get_scorer(get_task(name).official, "official")
    for sample, _ in prompts[name]:
        gold = json.loads(str(sample.inputs["gold_json"]))
        assert official(row_of("; ".join(reversed(gold)), sample)).value == 1
        assert official(row_of(gold[0], sample)).value == pytest.approx(1 / len(gold))


@pytest.mark.slow
def test_words_that_are_no_variables_do_not_count(prompts: Mapping[str, list[tuple[Sample, str]]]) -> None:
    for sample, _ in prompts["ruler_vt"]:
        reply = f"There are these five, which first value takes: {sample.targets[0]}"
        assert get_task("ruler_vt").score(reply, sample).value == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mrcr_2", "mrcr_8", "mrcr_google_4"])
def test_chance_of_a_copy_is_the_mean_score_of_copying_a_like_entry(
    prompts: Mapping[str, list[tuple[Sample, str]]], name: str
) -> None:
    for sample, _ in prompts[name]:
        prefix = str(sample.inputs["random_string_to_prepend"])
        copies = [sample.targets[0], *(prefix + text for text in json.loads(str(sample.inputs["others"])))]
        scores = [get_task(name).score(copy, sample).value or 0.0 for copy in copies]
        assert sample.chance == pytest.approx(mean(scores))


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_every_length_is_filled_and_asks_the_same(prompts: Mapping[str, list[tuple[Sample, str]]], name: str) -> None:
    items = defaultdict(list)
    for sample, prompt in prompts[name]:
        least = 0.98 if name == UUIDS else 0.99
        assert least * sample.length <= sample.tokens <= sample.length, sample.id
        items[sample.item].append((sample, prompt))
    assert len(items) == 4 * len(get_task(name).languages)
    for (short, first), (long, second) in items.values():
        assert (short.length, long.length) == LENGTHS
        assert short.targets == long.targets
        assert first.rsplit("\n\n", 1)[1] == second.rsplit("\n\n", 1)[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "graphwalks_bfs",
        "graphwalks_parents",
        "ruler_niah_multikey_2",
        "ruler_cwe",
        "mrcr_8",
        "mrcr_google_8",
        "longproc_path",
        "longproc_tom",
        "longproc_countdown",
        "oolong_counting",
        "oolong_timeline",
        "oolong_user",
        "ruler2_mk_niah_basic",
        "ruler2_mk_niah_hard",
        "ruler2_mv_niah_easy",
        "ruler2_qa_medium",
    ],
)
def test_a_longer_prompt_has_all_pieces_of_a_shorter_one_in_their_order(
    prompts: Mapping[str, list[tuple[Sample, str]]], name: str
) -> None:
    pattern = (
        r"(?<=Archivist: ).*|(?<=档案员：).*"
        if name.startswith("mrcr")
        else {"ruler_cwe": r"(?<=\. )\w+"}.get(name, r"^.+$")
    )
    items = defaultdict(list)
    for sample, prompt in prompts[name]:
        items[sample.item].append(re.findall(pattern, prompt.rsplit("\n\n", 1)[0], re.MULTILINE))
    for short, long in items.values():
        rest = iter(long)
        # The last entry of a conversation may be shortened.
        assert all(any(other.startswith(piece) for other in rest) for piece in short)
        assert len(long) > 2 * len(short)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_reader_with_a_window_is_right_up_to_it_and_not_beyond(
    prompts: Mapping[str, list[tuple[Sample, str]]], name: str
) -> None:
    tokenizer, task, solve = get_tokenizer(), get_task(name), solver_of(name)
    scores: dict[int, list[float]] = defaultdict(list)
    for sample, prompt in prompts[name]:
        if sample.language == "en":
            fitted = fit(prompt, LENGTHS[0], "middle", tokenizer)
            assert fitted is not None
            scores[sample.length].append(task.score(solve(fitted.prompt), sample).value or 0.0)
    assert mean(scores[LENGTHS[0]]) == 1
    # The ends of a four times longer prompt have a quarter of its pieces, which is enough to count frequent words.
    assert mean(scores[LENGTHS[1]]) == 1 if name in COUNTED else mean(scores[LENGTHS[1]]) < 0.8, scores


@pytest.mark.slow
def test_who_counts_messages_of_oolong_without_their_subjects_scores_what_chance_does(tmp_path: Path) -> None:
    names = ("oolong_counting", "oolong_timeline", "oolong_user")
    wanted = configure(",".join(names), languages=("en",), lengths=(4096,), items=120)
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    texts, scores, chances, counted = suite.texts(), defaultdict(list), defaultdict(list), defaultdict(list)
    for sample in suite.samples():
        reply = blind_to_subjects(render(sample, texts))
        kind = sample.task, str(sample.facets["asked"])
        chances[kind].append(sample.chance)
        if kind[1] == "number":
            counted[kind].append((int(reply), int(sample.targets[0].removeprefix("Answer: "))))
        elif reply:
            scores[kind].append(get_task(sample.task).score(f"Answer: {reply}", sample).value or 0.0)
    for kind, pairs in counted.items():
        scores[kind] = max(
            ([DECAY ** abs(total - less - answer) for total, answer in pairs] for less in range(30)), key=mean
        )
    for kind, of_kind in scores.items():
        assert mean(of_kind) < mean(chances[kind]) + 0.12, kind
    for name in names:
        of_task = [score for kind, of_kind in scores.items() if kind[0] == name for score in of_kind]
        assert mean(of_task) < mean(chance for kind in scores if kind[0] == name for chance in chances[kind]) + 0.05


@pytest.mark.slow
def test_graphs_have_the_structure_of_the_published_one(prompts: Mapping[str, list[tuple[Sample, str]]]) -> None:
    for name in ("graphwalks_bfs", "graphwalks_parents"):
        for sample, prompt in prompts[name]:
            edges = re.findall(r"^(\w{10}) -> (\w{10})$", prompt, re.MULTILINE)
            sources = [source for source, _ in edges]
            blocks = [source for source, before in zip(sources, [None, *sources], strict=False) if source != before]
            assert len(blocks) == len(set(blocks)), sample.id
            assert Counter(Counter(sources).values()).most_common(1)[0][0] == 4
            assert any(source == end for source, end in edges)


@pytest.mark.slow
def test_ruler_has_the_numbers_of_its_configuration(prompts: Mapping[str, list[tuple[Sample, str]]]) -> None:
    needles = {"niah_single_1": 1, "niah_single_3": 1, "niah_multikey_1": 4, "niah_multivalue": 4, "niah_multiquery": 4}
    answers = {"niah_multivalue": 4, "niah_multiquery": 4, "vt": 5, "cwe": 10, "fwe": 3}
    for name in (
        "niah_single_1",
        "niah_single_3",
        "niah_multikey_1",
        "niah_multivalue",
        "niah_multiquery",
        "vt",
        "cwe",
    ):
        for sample, prompt in prompts[f"ruler_{name}"]:
            if sample.language == "en":
                assert len(json.loads(str(sample.inputs["gold_json"]))) == answers.get(name, 1)
                count = len(re.findall(r"The code \w+ of [\w-]+ is", prompt))
                assert name not in needles or count == needles[name]
    for _, prompt in prompts["ruler_cwe"]:
        counts = Counter(re.findall(r"\d+\. (\w+)", prompt)).most_common()
        assert [count for _, count in counts[:10]] == [30] * 10
        assert counts[10][1] == 3


@pytest.mark.parametrize("dots", [300, 1099, 4135])
def test_coded_words_are_as_many_as_in_the_released_code_at_every_length(dots: int) -> None:
    """The released code has ``int(words * rank**-2 / zeta(2))`` of each word: with 1,099 dots 274, 122 and 68."""
    wanted = [dots // rank**2 for rank in range(1, math.isqrt(dots) + 1)]
    ranks = Counter(by_frequency(sum(wanted), 10**4))
    assert [ranks[rank] for rank in range(len(wanted))] == wanted
    assert ranks.total() == sum(wanted)
    longer = by_frequency(3 * sum(wanted), 10**4)
    assert longer[: sum(wanted)] == by_frequency(sum(wanted), 10**4)


@pytest.mark.slow
def test_answers_are_at_other_places_in_every_item(prompts: Mapping[str, list[tuple[Sample, str]]]) -> None:
    for name in ("ruler_cwe", "ruler_niah_multikey_2", "mrcr_4"):
        places = {
            prompt.find(sample.targets[0].split(",")[0][-8:])
            for sample, prompt in prompts[name]
            if sample.length == LENGTHS[0]
        }
        assert len(places) > 4


@pytest.mark.slow
@pytest.mark.parametrize("needles", [2, 4, 8])
def test_every_register_has_as_many_entries_as_the_one_in_question(
    prompts: Mapping[str, list[tuple[Sample, str]]], needles: int
) -> None:
    for sample, prompt in prompts[f"mrcr_google_{needles}"]:
        if sample.language == "en":
            counts = Counter(re.findall(r"Show me an entry of the (.+) kept at (.+)\.", prompt))
            assert sorted(counts.values())[1:] == [needles] * (len(counts) - 1)  # one may be incomplete
            assert len(str(sample.inputs["random_string_to_prepend"])) == 12


@pytest.mark.slow
def test_rulerv2_has_the_numbers_of_its_configuration(prompts: Mapping[str, list[tuple[Sample, str]]]) -> None:
    for task, pattern in (
        ("mk_niah_basic", r"code number of ([\w-]+) is \d{10}\."),
        ("mv_niah_basic", r"code number of ([\w-]+) is \d{10}\."),
        ("mk_niah_easy", r"^Question (\d{7}): "),
        ("mv_niah_hard", r"^Question (\d{7}): "),
        ("qa_hard", r"^Document (\d{7}):$"),
    ):
        for sample, prompt in prompts[f"ruler2_{task}"]:
            if sample.language == "en":
                counts = Counter(Counter(re.findall(pattern, prompt, re.MULTILINE)).values())
                assert counts.most_common(1)[0][0] == (4 if task.startswith("mv") else 1)
                assert counts.total() - counts[4 if task.startswith("mv") else 1] <= 1
    for task, copied in (("mk_niah_medium", 5), ("mk_niah_hard", 0)):
        for sample, prompt in prompts[f"ruler2_{task}"]:
            if sample.language == "en":
                body, _, examples = prompt.partition("\n\nThis is how it is done")
                shown = re.findall(r"question (\d{7}) .*\n(Question.*\n)?Answer: \\boxed\{[A-D]\}", examples)
                assert [len(shown), sum(bool(text) for _, text in shown)] == [5, copied]
                assert all(f"Question {number}: " in body for number, _ in shown)
    for sample, _ in prompts["ruler2_mv_niah_easy"]:
        assert len(json.loads(str(sample.inputs["gold_json"]))) == 4
    for sample, prompt in prompts["ruler2_qa_easy"]:
        assert len(sample.targets) == 2
        assert all(target in prompt for target in sample.targets)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["ruler2_qa_medium", "ruler2_qa_hard"])
def test_a_list_of_all_rivers_or_builders_or_patrons_has_nothing(
    prompts: Mapping[str, list[tuple[Sample, str]]], task: str
) -> None:
    patterns = (
        r"was built by (\w+ \w+) in|的桥是(\w+ \w+)在",
        r"is named after (\w+ \w+), who|的礼堂以(\w+ \w+)命名",
        r"a town on the river (\w+)\.|是(\w+)河边",
    )
    for sample, prompt in prompts[task]:
        kinds = [[first or second for first, second in re.findall(pattern, prompt)] for pattern in patterns]
        (names,) = (names for names in kinds if sample.targets[0] in names)
        for reply in (", ".join(names), "Answer: " + ", ".join(names), "\n".join(chain(*kinds))):
            assert get_task(task).score(reply, sample).value == 0
        assert sample.chance == pytest.approx(1 / len(names))
        scores = [get_task(task).score(name, sample).value or 0.0 for name in names]
        assert mean(scores) == pytest.approx(sample.chance)


@pytest.mark.slow
def test_copied_documents_without_an_answer_have_nothing(prompts: Mapping[str, list[tuple[Sample, str]]]) -> None:
    task = get_task("ruler2_qa_medium")
    official = get_scorer(task.official, "official")
    for sample, prompt in prompts[task.name]:
        copied = next(block for block in prompt.split("\n\n") if sample.targets[0] in block)
        mark = "Answer: " if sample.language == "en" else "答案："
        for reply in (copied, f"{copied}\n\n{mark}Xyz Abc", f"{copied}\n{mark}Xyz Abc"):
            assert task.score(reply, sample).value == 0
        assert official(row_of(f"{copied}\n\n{mark}Xyz Abc", sample)).value == 0
        answered = f"{copied}\n\n{mark}{sample.targets[0]}"
        assert (task.score(answered, sample).value, official(row_of(answered, sample)).value) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "right"), [("ruler2_qa_basic", 1), ("ruler2_qa_easy", 2)])
def test_the_chance_of_a_document_is_that_of_any_number(
    prompts: Mapping[str, list[tuple[Sample, str]]], task: str, right: int
) -> None:
    for sample, prompt in prompts[task]:
        numbers = re.findall(r"^Document (\d{7}):$", prompt, re.MULTILINE)
        assert sample.chance == right / len(numbers)
        scores = [get_task(task).score(number, sample).value or 0.0 for number in numbers]
        assert mean(scores) == pytest.approx(sample.chance)


@pytest.mark.slow
def test_the_four_questions_of_a_number_are_asked_for_at_every_place(tmp_path: Path) -> None:
    names = "ruler2_mv_niah_medium,ruler2_mv_niah_hard"
    wanted = configure(names, languages=("en", "zh"), lengths=LENGTHS[:1], items=12)
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    texts, places = suite.texts(), set()
    for sample in suite.samples():
        prompt = render(sample, texts)
        number = re.findall(r"\d{7}", prompt)[-1]
        of_number = re.findall(rf"^(?:Question|题目) {number}[:：] ?(.*)$", prompt, re.MULTILINE)
        assert len(of_number) == 4
        places.add(of_number.index(sample.targets[0]))
    assert places == {0, 1, 2, 3}
