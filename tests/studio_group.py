"""A small group of people who make samples through pages, each from their own queue, without a browser.

Whatever a queue offers, its page lets that person do. On the way, everybody tries every form that their page does not
offer, at once, which must be refused and change nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from fathom.studio.people import People
from fathom.studio.states import DONE
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.web.app import make_app
from fathom.studio.web.forms import FORMS
from fathom.studio.web.visit import Settings
from made_studio import OWN
from studio_browser import Browser, Forms
from studio_stores import PASSWORD, create, quick_hasher

if TYPE_CHECKING:
    from fathom.studio.types import PolicyName, Role, Sample

SAMPLES = 10
GROUPS: dict[PolicyName, dict[str, Role]] = {
    "two": {"ann": "annotator", "ada": "administrator"},
    "three": {"ann": "annotator", "bo": "annotator", "ada": "administrator"},
    "four": {"ann": "annotator", "bo": "annotator", "eve": "expert", "ada": "administrator"},
}
TASKS = {"qa": replace(OWN, name="qa")}
ONWARD = ("reconstruct", "adjudicate", "verdicts", "review", "standardise", "pass", "submit", "select")
"""Forms by which a sample gets on, the first that is offered is sent."""
REFUSED = (400, 403, 409)


@dataclass
class Group:
    """People at work in a store.

    Attributes:
        store: The store.
        at: The browser of each person.
        roles: Their roles.
        clicks: Pages that were opened from a queue, buttons and choices, by person.
        wrong_turns: Forms that were tried and refused.
        edited: Whether people edit every draft before they hand it over.
        tried: Situations in which wrong turns were tried: state, role, and what the person has done.
    """

    store: Store
    at: Mapping[str, Browser]
    roles: Mapping[str, Role]
    edited: bool = True
    clicks: Counter[str] = field(default_factory=Counter)
    wrong_turns: int = 0
    tried: set[tuple[object, ...]] = field(default_factory=set)

    def work(self) -> int:
        """Everybody does what their queue offers until nobody has anything; the number of accepted samples."""
        while sum(self.do_next(name) for name in self.at):
            pass
        return len(list(self.store.samples(states=tuple(DONE))))

    def do_next(self, name: str) -> bool:
        """Somebody does the first thing in their queue; False if there is none."""
        for id in re.findall(r'<(?:td|li)><a href="/samples/([^"]+)"', self.at[name].page("/")):
            sample = self.store.sample(id)
            self.try_wrong_turns(sample)
            offered = offered_at(self.at[name], sample)
            forms = {action.rpartition("/")[2] for action in offered if action.startswith(f"/samples/{id}/")}
            form = next((form for form in ONWARD if form in forms), "")
            assert form, f"the queue of {name} has {id} ({sample.state}), and its page offers {sorted(forms)}"
            if form != "submit" or "edit" in forms or sample.writers or not self.edited:
                self.send(name, sample, form, offered)
                return True
        return False

    def send(self, name: str, sample: Sample, form: str, offered: Mapping[str, dict[str, str]]) -> None:
        """Somebody sends a form; now and then an expert returns a sample, or a reviewer finds a problem."""
        number = int(sample.id.partition("-")[2])
        fields: dict[str, str] = {"seconds": "60"}
        choices = 0
        first_round = sample.round == 1
        if form == "select":
            fields["candidate"] = "c1"
        elif form == "submit" and f"/samples/{sample.id}/edit" in offered:
            form = "edit"
            fields["then"] = "submit"
            if self.edited and not sample.writers:
                fields["rationale"] = f"It needs one passage, says {name}."
        elif form == "pass" and number % 4 == 1 and not sample.rulings:
            form = "return"
            fields["reason"] = "Say when."
        elif form in ("verdicts", "review"):
            bad = number % 3 == 0 and first_round and not sample.current_reviews
            choices = len(sample.content.components)
            fields |= {f"mark-{at}": "right" for at in range(choices)} | ({"mark-0": "wrong"} if bad else {})
        elif form == "adjudicate":
            fields |= {"decision": ("accept", "reconstruct")[number % 2], "reason": "The text says so."}
        action = f"/samples/{sample.id}/{form}"
        filled = offered[action.replace("return", "pass")] | fields
        sent = self.at[name].client.post(action, data=filled)
        assert sent.status_code == 303, (name, form, sample.state, re.findall(r'class="wrong"[^>]*>([^<]*)', sent.text))
        self.clicks[name] += 2 + choices

    def try_wrong_turns(self, sample: Sample) -> None:
        """Everybody tries what their page does not offer, once in each situation."""
        reviewers = {review.reviewer for review in sample.current_reviews}
        turns: dict[str, list[str]] = {}
        for name, browser in self.at.items():
            situation = sample.state, self.roles[name], name in sample.writers, name in reviewers, len(reviewers)
            if situation in self.tried:
                continue
            self.tried.add(situation)
            offered = offered_at(browser, sample)
            expected = {f"/samples/{sample.id}/{form}" for form in FORMS} - set(offered)
            if f"/samples/{sample.id}/pass" in offered:
                expected.discard(f"/samples/{sample.id}/return")
            turns[name] = sorted(expected)
        fields = {"version": str(sample.version), "reason": "so", "decision": "accept", "verdict": "pass"}
        fields |= {f"mark-{at}": "right" for at in range(len(sample.content.components))}
        fields |= {"prompt_thinking": "Think.", "prompt_answering": "Say.", "candidate": "c1"}
        fields |= {"question": "What is 1+1?", "component-0": "2"}
        for name, action, status in self.turn(turns, fields):
            assert status in REFUSED, (name, action, sample.state, status)
            self.wrong_turns += 1
        assert self.store.sample(sample.id) == sample

    def turn(self, turns: Mapping[str, list[str]], fields: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
        """Everybody sends forms that are not theirs to send; gives the status of each answer."""
        for name, actions in turns.items():
            for action in actions:
                yield name, action, self.at[name].post(action, **fields).status_code


class Pages(Protocol):
    """Somebody who looks at pages."""

    def page(self, path: str) -> str: ...


def offered_at(browser: Pages, sample: Sample) -> dict[str, dict[str, str]]:
    """The forms of a page; that for edits also hands the sample over."""
    place = f"/samples/{sample.id}"
    offered = Forms(browser.page(place)).found
    if sample.state in ("selected", "revision") and f"{place}/edit" in offered:
        offered[f"{place}/submit"] = offered[f"{place}/edit"]
    return offered


def group_of(store: Store, policy: PolicyName, roles: Mapping[str, Role], *, edited: bool = True) -> Group:
    """People with accounts in a store that has a document, and drafts for ten samples."""
    people = prepare(store, policy, roles)
    app: Any = make_app(store, people, Settings(tasks=TASKS))
    return Group(store, {name: Browser(app).log_in(name) for name in roles}, roles, edited)


def prepare(store: Store, policy: PolicyName, roles: Mapping[str, Role], samples: int = SAMPLES) -> People:
    """Accounts of some people, and drafts for as many samples."""
    people = People(store, hasher=quick_hasher())
    for account in people.listed():
        if account.name not in roles:
            people.change(account.name, active=False, by=AT_SERVER)
    for name, role in roles.items():
        people.change(name, role=role, by=AT_SERVER)
        people.set_password(name, PASSWORD)
    if policy:
        store.set_policy(policy)
    for number in range(samples):
        create(store, f"s-{number}")
    return people
