"""From an empty database to ten samples that models answer, as people do it: in Chromium, with mouse and keyboard.

Two annotators, an expert and an administrator work at once, each in a browser of their own. On the way every state is
reached. Every kind of page that they meet is checked with axe, at two widths, in light and in dark; no page asks for
anything from elsewhere, or says anything on the console.

``FATHOM_WALK_STORE=postgresql`` walks with a store in PostgreSQL.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chromium import browsers
from command_line import Call
from fathom.studio.auditing import audit
from fathom.studio.intake import world_documents
from fathom.studio.log import steps_of_sample
from fathom.studio.offline import right_answer
from fathom.studio.store import Store
from fathom.studio.types import ACTIONS, STATES, State
from fathom.tokens.tokenizers import get_tokenizer
from processes import MAIN, start_program, until
from studio_actor import Actor, Witness
from studio_stores import usual_place

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]
chromium = pytest.fixture(scope="module")(browsers)
BASELINES = "fathom/lexical,fathom/guess"
place = pytest.fixture(usual_place)


@dataclass
class Group:
    """Everybody, and what they share.

    Attributes:
        call: Calls commands on the server's machine.
        place: Where the store is.
        store: The store, to see what really happened.
        ann: An annotator.
        ben: Another annotator.
        eve: An expert.
        ada: The administrator, with a phone.
    """

    call: Call
    place: str
    store: Store
    ann: Actor
    ben: Actor
    eve: Actor
    ada: Actor

    def run(self, *words: str) -> str:
        """What a command of the studio prints."""
        return done(self.call, "studio", *words, "--store", self.place)

    def drafted(self, language: str) -> list[str]:
        """Samples that wait for somebody to select a draft."""
        return [one.id for one in self.store.samples(states=["drafted"]) if one.language == language]

    def state(self, sample: str) -> State:
        """Where a sample is."""
        return self.store.sample(sample).state

    def pass_on(self, first: str, *samples: str) -> None:
        """The expert passes samples, and an annotator begins their answer review; the first one in sight."""
        self.eve.decide(first, "Pass", then="Passed")
        self.ann.begin_review(first)
        for sample in samples:
            assert self.eve.send(sample, "Pass", "Passed")
            assert self.ann.send(sample, "Begin the answer review", "The answer review has begun")


@pytest.mark.timeout(900)  # it takes a minute, and ten times that on a machine with much else to do
@pytest.mark.parametrize("place", [os.environ.get("FATHOM_WALK_STORE", "sqlite")], indirect=True)
def test_from_an_empty_database_to_ten_samples(chromium: Browser, call: Call, place: str, tmp_path: Path) -> None:
    passwords = found_a_studio(call, place)
    with served(tmp_path, place) as address, closing(Store(place)) as store:
        witness = Witness(address)
        group = Group(
            call,
            place,
            store,
            ann=Actor(chromium, witness, "ann", passwords["ann"]),
            ben=Actor(chromium, witness, "ben", passwords["ben"]),
            eve=Actor(chromium, witness, "eve", passwords["eve"]),
            ada=Actor(chromium, witness, "ada", passwords["ada"], width=390),
        )
        documents_come_in(group)
        first, second, third, fourth, fifth = group.drafted("en")
        six, seven, eight, nine = group.drafted("zh")
        ten, eleven = (written_by_hand(group, *who) for who in ((group.ann, "en"), (group.ben, "zh")))

        one_is_revised(group, second)
        one_is_rejected(group, six)
        two_people_edit_the_same(group, seven)
        a_browser_closes_while_somebody_types(group, eight)
        several_are_selected(group, first, third, fourth, fifth, nine)
        group.pass_on(first, second, third, fourth, fifth, seven, eight, nine, ten, eleven)
        models_answer(group)

        one_is_reviewed_by_keyboard(group.ben, first)
        the_others_agree(group, first, second, seven, eight, nine, ten, eleven)
        they_disagree(group, third, fourth)
        one_is_reconstructed(group, third)
        two_are_audited(group, first, fifth)
        one_is_rated(group.ada)
        the_administrator_looks_around(group, first)

        for one in (group.ann, group.ben, group.eve, group.ada):
            one.leave()
        every_state_was_reached(store)
    the_samples_become_a_benchmark(group)
    assert witness.faults == [], "\n".join(witness.faults)
    assert witness.requests > 300
    assert len(witness.checked) > 25


# ------------------------------------------------------------------------------------------------------------ beginning


def found_a_studio(call: Call, place: str) -> dict[str, str]:
    """Makes a studio with five accounts, and returns their passwords."""
    passwords = {"ada": done(call, "studio", "init", "--administrator", "ada", "--store", place)}
    for name, role in (
        ("ann", "annotator"),
        ("ben", "annotator"),
        ("eve", "expert"),
        ("pia", "expert"),  # never comes, but could decide on what two have edited and two have reviewed
    ):
        passwords[name] = done(call, "studio", "users", "add", name, "--role", role, "--store", place)
    Path("design.toml").write_text("each = 1\nrate_one_in = 1\nraters = 1\n")
    return {name: password.strip() for name, password in passwords.items()}


@contextmanager
def served(folder: Path, place: str) -> Iterator[str]:
    """The server as people start it; gives its address."""
    log = folder / "server.log"
    with log.open("wb") as stream:
        words = ("--port", "0", "--store", place, "--design", "design.toml")
        process = start_program(MAIN, "studio", "serve", *words, stderr=stream.fileno())
    try:
        until(lambda: "studio is at" in log.read_text("utf-8") or process.poll() is not None)
        yield log.read_text("utf-8").partition("studio is at ")[2].split()[0].rstrip("/")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def documents_come_in(group: Group) -> None:
    """A command adds English documents, and an annotator Chinese ones, which the expert reviews by keyboard."""
    group.run("add-documents", "world", "--buckets", "8k", "--available")
    files = [Path(f"{number}.txt") for number in range(3)]
    for file, one in zip(files, world_documents("world?language=zh", get_tokenizer("tekken"), [8192]), strict=True):
        file.write_text(one.text, "utf-8")
    group.ben.go("/documents")
    group.ben.tab.click("summary:text('Add documents')")
    group.ben.tab.set_input_files("[name=files]", files)
    group.ben.tab.fill("[name=licence]", "CC0-1.0")
    group.ben.look()
    group.ben.tab.click("button:text-is('Add the files')")
    group.ben.tab.wait_for_selector("h1:text('3 new documents from 3 files')")
    group.ben.look()
    for waiting in (3, 2, 1):
        group.eve.go("/compliance")
        group.eve.tab.wait_for_selector(f"text=of {waiting} that wait")
        group.eve.tab.wait_for_selector("#text section")
        group.eve.press("a")
        group.eve.tab.wait_for_selector(".notice >> text=is available")
    group.eve.look()
    for task, language, samples in (("T8.2", "en", "5"), ("T3.2", "zh", "4")):
        group.run("draft", "-t", task, "--language", language, "-n", samples, "-m", BASELINES, "-y")


def written_by_hand(group: Group, who: Actor, language: str) -> str:
    """Somebody begins a sample from a document, writes it, and marks evidence with the mouse and by keyboard."""
    document = group.store.documents(state="available", language=language)[0]
    first, *_, last = sentences(group.store.text(document.id))
    who.go(f"/documents/{document.id}")
    who.tab.select_option("[name=task]", label="T8.2 Single-Source Targeted Aggregation")
    who.tab.click("button:text-is('Begin')")
    who.tab.wait_for_selector("#text section")
    who.look()
    who.type("question", f"How do the sentences end that begin with “{first[:8]}” and “{last[:8]}”?")
    who.mark_by_mouse(0, first)
    who.mark_by_keyboard("component-1", last)
    who.type("rationale", "Both sentences are needed.")
    who.type("solution", "Find the first one, then the second one.")
    who.do("Save", "Saved")
    sample = who.tab.url.partition("/samples/")[2].partition("?")[0]
    parts = group.store.sample(sample).content.components
    assert [one.text for one in parts] == [first, last]
    assert [part.quote for one in parts for part in one.evidence] == [first, last]
    who.hand_over(sample)
    return sample


# -------------------------------------------------------------------------------------------------------------- writing


def one_is_revised(group: Group, sample: str) -> None:
    """An annotator corrects a draft, the expert returns it, and the annotator revises it."""
    group.ann.select(sample)
    answer = right_answer(group.store.sample(sample).content)
    group.ann.type("component-0", answer)
    group.ann.type("rationale", "One sentence of the text has the number.")
    group.ann.hand_over()
    group.eve.decide(sample, "Return for revision", "Say in which unit.", "Returned for revision")
    assert group.state(sample) == "revision"
    group.ann.open(sample)
    assert "Say in which unit." in group.ann.tab.inner_text(".ruling")
    question = group.ann.tab.input_value("[name=question]")
    group.ann.type("question", f"{question} Give the number without its unit.")
    group.ann.hand_over()
    content = group.store.sample(sample).content
    assert (content.components[0].text, content.question[-7:]) == (answer, "s unit.")


def one_is_rejected(group: Group, sample: str) -> None:
    """The expert rejects a sample."""
    group.ben.select(sample)
    group.eve.decide(sample, "Reject", "Nobody would ask this.", "Rejected")
    assert group.state(sample) == "rejected"


def two_people_edit_the_same(group: Group, sample: str) -> None:
    """Two annotators edit a sample at once; the second one gets both versions and takes over the first one's."""
    ann, ben = group.ann, group.ben
    ann.select(sample)
    ben.open(sample)
    ann.type("rationale", "只有一句话提到。")
    ann.do("Save", "Saved")
    ben.type("solution", "找到该句。")
    with ben.hears("409"):
        ben.tab.click("button:text-is('Save')")
        ben.tab.wait_for_selector("text=Somebody else changed this sample")
    ben.look()
    assert "只有一句话提到。" in ben.tab.inner_text(".conflict")
    assert ben.tab.input_value("[name=solution]") == "找到该句。"
    ben.type("rationale", "只有一句话提到。")
    ben.hand_over()
    content = group.store.sample(sample).content
    assert (content.rationale, content.solution) == ("只有一句话提到。", "找到该句。")


def a_browser_closes_while_somebody_types(group: Group, sample: str) -> None:
    """What was typed is there again after the browser was closed."""
    ben = group.ben
    ben.select(sample)
    ben.type("solution", "先找到该句，再比较四个选项。")
    ben.tab.wait_for_selector("text=Draft saved.")
    ben.leave()
    ben.sit_down()
    ben.open(sample)
    assert "Restored what you typed" in ben.tab.inner_text(".notice")
    assert ben.tab.input_value("[name=solution]") == "先找到该句，再比较四个选项。"
    ben.hand_over()


def several_are_selected(group: Group, *samples: str) -> None:
    """Drafts that need no edit; selecting them is not writing, so that both annotators may review them."""
    for number, sample in enumerate(samples):
        who, draft = (group.ann, group.ben)[number % 2], number % 2
        if number < 2:
            who.select(sample, draft=draft)
            who.hand_over(sample)
        else:
            assert who.send(sample, "Select this draft", "Selected", nth=draft)
            assert who.send(sample, "Save and hand to an expert", "Handed to an expert")


def models_answer(group: Group) -> None:
    """Baselines answer the questions that are about to be reviewed, with the documents and without."""
    for words in ((), ("--closed-book",)):
        assert "20 answers stored, 0 failed" in group.run("predict", "-m", BASELINES, "-y", *words)


# ------------------------------------------------------------------------------------------------------------- deciding


def one_is_reviewed_by_keyboard(ben: Actor, sample: str) -> None:
    """A whole review, from the queue on, without a mouse."""
    ben.go("/")
    while not ben.tab.evaluate(f"document.activeElement.matches('a[href=\"/samples/{sample}\"]')"):
        ben.press("j")
    ben.press("Enter")
    ben.tab.wait_for_selector("#text section")
    ben.press("?")
    ben.look()
    ben.press("Escape", "e", "1")
    if ben.gives_verdicts_first():
        ben.tab_to("form:has(.judged) button.main")
        ben.press("Enter")
        ben.read("Your verdicts are stored")
        ben.press(*["2"] * ben.tab.locator(".mined").count())
    ben.tab_to("form:has(.judged) button.main")
    ben.press("Enter")
    ben.read("Your review is stored")


def the_others_agree(group: Group, first: str, *samples: str) -> None:
    """Two people who did not write a sample find nothing wrong."""
    group.ann.review(first)
    for number, sample in enumerate(samples):
        writers = group.store.sample(sample).writers
        able = [one for one in (group.ann, group.ben, group.eve, group.ada) if one.name not in writers]
        for who in able[:2]:
            if number == 0:
                who.review(sample)
                continue
            judged = ".judged [value=right], .mined [value='not missing']"
            who.send(sample, "Send your verdicts", "Your verdicts are stored", chosen=judged)
            assert who.send(sample, "Send the review", "Your review is stored", chosen=judged)
    assert {group.state(one) for one in (first, *samples)} == {"accepted"}


def they_disagree(group: Group, wrong: str, doubted: str) -> None:
    """Reviews differ; the expert decides without seeing whose they are: one is reconstructed, one accepted."""
    group.ann.review(wrong)
    group.ben.review(wrong, "wrong", note="The sentence has another number.", missing="a second number")
    group.ben.review(doubted, problem="Is the question hard enough?")
    group.ann.review(doubted, "unsure")
    for sample, button in ((wrong, "Reconstruct"), (doubted, "Accept")):
        group.eve.open(sample)
        shown = group.eve.tab.inner_text(".work")
        assert "Reviewer 1" in shown
        assert not re.search(r"\b(ann|ben)\b", shown)
        group.eve.decide(sample, button, "The evidence says so.")
    assert (group.state(wrong), group.state(doubted)) == ("reconstruct", "accepted")


def one_is_reconstructed(group: Group, sample: str) -> None:
    """The second round: an annotator corrects the answer, and two others review it."""
    group.ann.begin_round(sample)
    group.ann.type("component-0", right_answer(group.store.sample(sample).content))
    group.ann.mark_by_keyboard("component-0", "the")
    group.ann.hand_over()
    group.pass_on(sample)
    group.ben.review(sample)
    group.eve.review(sample)
    after = group.store.sample(sample)
    assert (after.state, after.round, len(after.reviews)) == ("accepted", 2, 4)


def two_are_audited(group: Group, good: str, bad: str) -> None:
    """The expert audits two samples; one has a problem, on which the administrator decides with her phone."""
    group.eve.decide(good, "Nothing is wrong", then="Audited")
    group.ann.review(bad)
    group.ben.review(bad)
    group.eve.decide(bad, "There is a problem", "The evidence is too short.", "Audited")
    assert group.state(bad) == "adjudication"
    group.ada.decide(bad, "Accept", "It is long enough.")
    assert (group.state(good), group.state(bad)) == ("audited", "accepted")


def one_is_rated(ada: Actor) -> None:
    """Somebody who did not work on a sample rates it for the quality study."""
    ada.go("/quality")
    ada.tab.click("text=Rate a sample")
    ada.tab.wait_for_selector("#text section")
    ada.look()
    for yes in ada.tab.locator("[type=radio][value=yes]").all():
        yes.check()
    ada.do("Send the rating", "Your rating is stored")


def the_administrator_looks_around(group: Group, sample: str) -> None:
    """The pages that no work leads to."""
    history = f"/samples/{sample}/history"
    for path in ("/users", "/log", "/documents", "/?state=accepted", "/progress", "/quality", history):
        group.ada.go(path)
        group.ada.tab.wait_for_selector("h1")
    with group.ada.hears("404"):
        group.ada.go("/nowhere")


# ------------------------------------------------------------------------------------------------------------- the end


def every_state_was_reached(store: Store) -> None:
    """As the log has it."""
    finished = [one for one in store.samples() if one.state in ("accepted", "audited")]
    assert len(finished) == 10
    assert {one.language for one in finished} == {"en", "zh"}
    logs = [reversed(store.log(subject=one.id)) for one in store.samples()]
    actions = [[entry for entry in log if entry.kind in ACTIONS] for log in logs]  # ratings are notes
    assert {after.state for log in actions for _, _, after in steps_of_sample(log)} == set(STATES)
    assert audit(store).problems == ()


def the_samples_become_a_benchmark(group: Group) -> None:
    """The export runs on two baselines as a suite, and as a data set of LongBench Pro; reports come out."""
    call = group.call
    assert "10 samples" in group.run("export", "--out", "samples", "--lengths", "4k", "--closed-book")
    done(call, "build", "pro", "--data", "samples", "--out", "pro")
    for suite in ("samples/suite", "pro"):
        runs = [f"{suite.partition('/')[0]}-{model}" for model in ("lexical", "guess")]
        for run in runs:
            model = f"fathom/{run.rpartition('-')[2]}"
            done(call, "run", suite, "--model", model, "--out", run, "--quiet")
        done(call, "report", *runs, "--out", f"{runs[0]}.html")
        page = Path(f"{runs[0]}.html").read_text("utf-8")
        assert all(model in page for model in BASELINES.split(","))
    assert "from which follow 11 samples and 6 documents" in group.run("audit")
    assert "accepted" in group.run("stats")


def done(call: Call, *words: str) -> str:
    """What a command prints; it must succeed."""
    code, out, err = call(*words)
    assert code == 0, f"{' '.join(words)}: {out} {err}"
    return out


def sentences(text: str) -> list[str]:
    """Sentences that occur once, and stand in one line."""
    found = re.findall(r"(?:\. |。)([A-Z一-鿿][^.。“”\n]{15,70}[.。])", text)
    return [one for one in found if text.count(one) == 1]
