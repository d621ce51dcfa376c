"""A small group of people who make samples in Chromium, each with mouse and keyboard, and what it takes them.

What they do is that of ``studio_group``: whatever a queue offers, its page lets that person do. On the way everybody
tries at once, from their own browser, every form that their page does not offer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.studio.store import Store
from loopback_studio import serving
from studio_actor import Actor, Witness
from studio_group import ONWARD, Group, offered_at, prepare
from studio_stores import PASSWORD, fill

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

    from fathom.studio.types import PolicyName, Role, Sample

CLICK, KEY, WORDS = 1.1 + 0.2 + 1.35, 0.28, 238
"""Seconds to decide, point and press; seconds of a key (Card, Moran and Newell 1980); words that are read in a minute
(Brysbaert 2019)."""
BUTTONS = {
    "select": ("Select this draft", "Selected"),
    "as it is": ("Hand to an expert as it is", "Handed to an expert"),
    "submit": ("Save and hand to an expert", "Handed to an expert"),
    "pass": ("Pass", "Passed"),
    "return": ("Return for revision", "Returned for revision"),
    "standardise": ("Begin the answer review", "The answer review has begun"),
    "review": ("Send the review", "Your review is stored"),
    "reconstruct": ("Begin the next round", "A new round has begun"),
}
# Counts what a person does in a tab, and the words of the pages of samples beside the text.
_COUNT = """(() => {
    const add = (name, count) => sessionStorage.setItem(name, Number(sessionStorage.getItem(name)) + count);
    addEventListener("pointerdown", (event) => event.isTrusted && add("clicks", 1), true);
    addEventListener("keydown", (event) => event.isTrusted && add("keys", 1), true);
    addEventListener("load", () => {
        const work = document.querySelector(".work");
        if (work) add("words", work.innerText.split(/\\s+/).filter(Boolean).length);
    });
})()"""
# Begins to send forms, without waiting for an answer.
_BEGIN = """([actions, fields]) => {
    const csrf = document.querySelector("[name=csrf]").value;
    const headers = { accept: "text/html" };
    window.turned = Promise.all(actions.map(async (action) => {
        const body = new URLSearchParams({ ...fields, csrf });
        const answer = await fetch(action, { method: "POST", body, headers, redirect: "manual" });
        return [action, answer.type === "opaqueredirect" ? 303 : answer.status];
    }));
}"""
_REFUSED = re.compile(r"status of (400|403|409)")


class CountingWitness(Witness):
    """Also counts clicks, keys and words."""

    def watch(self, context: BrowserContext) -> None:
        super().watch(context)
        context.add_init_script(_COUNT)


@dataclass
class Work:
    """What a group did for its samples.

    Attributes:
        accepted: Samples that were accepted.
        clicks: Clicks for each of them.
        keys: Keys for each.
        words: Words of pages for each, without the documents.
    """

    accepted: int
    clicks: float
    keys: float
    words: float

    @property
    def minutes(self) -> float:
        """Minutes of people for each sample by a model, without reading the documents and thinking about them."""
        return (self.clicks * CLICK + self.keys * KEY) / 60 + self.words / WORDS


@dataclass
class Walkers(Group):
    """People in browsers; ``at`` has their actors."""

    at: Mapping[str, Any]
    witness: Witness | None = field(default=None)

    def do_next(self, name: str) -> bool:
        """Somebody opens the first sample of their queue with which they can do something, and does it."""
        actor: Walker = self.at[name]
        actor.go("/")
        for id in re.findall(r'<(?:td|li)><a href="/samples/([^"]+)"', actor.tab.content()):
            sample = self.store.sample(id)
            self.try_wrong_turns(sample)
            # The page as it is now: somebody who is kept for a later step leaves it alone without opening it.
            offered = offered_at(actor, sample)
            forms = {action.rpartition("/")[2] for action in offered if action.startswith(f"/samples/{id}/")}
            form = next((form for form in ONWARD if form in forms), "")
            assert form, f"the queue of {name} has {id} ({sample.state}), and its page offers {sorted(forms)}"
            if form != "submit" or "edit" in forms or sample.writers or not self.edited:
                actor.tab.click(f'a[href="/samples/{id}"] >> visible=true')
                actor.tab.wait_for_selector("#text section")
                actor.look()
                self.send(name, sample, form, offered)
                return True
        return False

    def send(self, name: str, sample: Sample, form: str, offered: Mapping[str, dict[str, str]]) -> None:
        """Fills in a form and sends it, as ``Group.send`` does without a browser."""
        actor: Actor = self.at[name]
        number = int(sample.id.partition("-")[2])
        if form == "submit" and self.edited and not sample.writers:
            actor.type("rationale", f"It needs one passage, says {name}.")
        elif form == "submit" and actor.tab.locator("button:text-is('Hand to an expert as it is')").count():
            form = "as it is"
        elif form == "pass" and number % 4 == 1 and not sample.rulings:
            form = "return"
            actor.tab.click("[name=reason] >> visible=true")
            actor.tab.keyboard.type("Say when.")
        elif form == "review":
            bad = number % 3 == 0 and sample.round == 1 and not sample.current_reviews
            for at in range(len(sample.content.components)):
                actor.tab.click(f"[name=mark-{at}][value={'wrong' if bad and at == 0 else 'right'}]")
        elif form == "adjudicate":
            actor.tab.click("form:has-text('Your decision') [name=reason]")
            actor.tab.keyboard.type("The text says so.")
            return actor.do(("Accept", "Reconstruct")[number % 2], "Decided")
        actor.do(*BUTTONS[form])

    def turn(self, turns: Mapping[str, list[str]], fields: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
        """Everybody sends forms that are not theirs to send, all at once; gives the status of each answer."""
        assert self.witness is not None
        before = len(self.witness.faults)
        tabs = {name: self.at[name].tab for name, actions in turns.items() if actions}
        for name, tab in tabs.items():
            tab.evaluate(_BEGIN, [turns[name], dict(fields)])
        answers = [(name, *answer) for name, tab in tabs.items() for answer in tab.evaluate("window.turned")]
        self.witness.faults[before:] = [one for one in self.witness.faults[before:] if not _REFUSED.search(one)]
        yield from answers

    def measured(self) -> Work:
        """Does all of the work, and says what it took."""
        for actor in self.at.values():
            actor.tab.evaluate("sessionStorage.clear()")
        accepted = self.work()
        sums = [actor.tab.evaluate("({ ...sessionStorage })") for actor in self.at.values()]
        each = (sum(int(one.get(name, 0)) for one in sums) / max(1, accepted) for name in ("clicks", "keys", "words"))
        return Work(accepted, *each)


class Walker(Actor):
    """Somebody at a browser, whose pages are also read without drawing them."""

    def choose_password(self) -> None:
        """Keeps the password."""

    def page(self, path: str) -> str:
        """The text of a page."""
        answer = self.tab.context.request.get(f"{self._witness.host}{path}", headers={"accept": "text/html"})
        assert answer.status == 200, (path, answer.status)
        return answer.text()


@contextmanager
def walking(
    chromium: Browser, place: str, policy: PolicyName, roles: Mapping[str, Role], samples: int, pictures: Path | None
) -> Iterator[Walkers]:
    """A studio with drafts that is served, and people at their browsers."""
    with closing(Store(place)) as store:
        fill(store)
        prepare(store, policy, roles, samples)
        with serving(place) as (address, _):
            witness = CountingWitness(address, pictures=pictures)
            at = {name: Walker(chromium, witness, name, PASSWORD) for name in roles}
            yield Walkers(store, at, roles, witness=witness)
            for actor in at.values():
                actor.leave()
