"""References of the summaries of the suite ``world``: a correct summary in a reader's own words agrees with them."""

import pytest

from fathom.benchmarks.pro.secondary_tasks import SUMMARY_PASSES_ABOVE
from fathom.benchmarks.world.tasks import DIALS, OF
from fathom.score.registry import ScoringRow, get_scorer
from fathom.world.types import Language

OWN_WORDS: dict[Language, str] = {
    "en": "On the proposal of Miss Violet Penrose the council voted 2,982 crowns for the quay of Renmark in "
    "March 1916. Garrick & Jessop got the contract in April for 2,466 crowns, and Harrow & Mabry brought "
    "375 loads of brick by July. In October 1916 the builders were paid an instalment of 1,477 crowns, "
    "and in November Mr Quentin Udall gave 259 crowns. A fire in the workshop did damage in April 1917, "
    "which Mr Ernest Reeve put at 683 crowns. In October 1917 Mr Martin Orde inspected the quay and found"
    " a blocked drain.",
    "zh": "1916年3月，议事会按唐锦书女士的提议给石潭镇码头拨款2982银元。4月，瑞源营造行以2466银元得到承包；7月，"
    "永茂营造行运来青砖375车。10月，付给瑞源营造行分期款1477银元。11月，陶景行先生捐了259银元。1917年4月，码头被工棚的"
    "火烧坏，薛天佑先生估计要683银元才能修好。10月，柳鸿章先生来查验，发现排水沟堵了。",
}
"""What a reader wrote after reading the papers of an item, before seeing its references."""
SEED, NUMBER = 4242, 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_correct_summary_in_own_words_passes_and_scores_more_than_one_of_something_else(language: Language) -> None:
    family = OF["T4.2"]
    mine, other = (
        family.problem(family.facts("T4.2", SEED, number, DIALS), "T4.2", language) for number in (NUMBER, NUMBER + 1)
    )
    summary = get_scorer("longbench_pro/Summary", "strict")
    marker = {"en": "[Answer]", "zh": "[答案]"}[language]
    right, wrong = (
        summary(ScoringRow(f"{marker}\n{OWN_WORDS[language]}", list(problem.references), language=language)).value or 0
        for problem in (mine, other)
    )
    assert right > SUMMARY_PASSES_ABOVE > mine.chance > wrong


def test_a_reference_tells_every_step_after_its_month() -> None:
    family = OF["T4.2"]
    case = family.facts("T4.2", SEED, NUMBER, DIALS)
    english, chinese = (family.problem(case, "T4.2", language).references[-1] for language in ("en", "zh"))
    assert english.startswith("In March 1916, on the proposal of Miss Violet Penrose, the council of Renmark granted ")
    assert " In April 1916, Garrick & Jessop won the contract " in english
    assert chinese.startswith("1916年3月，经唐锦书女士提议，")
