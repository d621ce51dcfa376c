"""Simulated people of a studio, who act through a server that may be killed at any moment."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

from fathom.studio.states import RefusedError, StaleError
from fathom.studio.store import Store
from fathom.studio.types import AddPredictions, Create, Person, Prediction, Sample, State

FORMS: dict[State, tuple[str, ...]] = {
    "drafted": ("write",),
    "selected": ("edit", "submit"),
    "revision": ("edit", "submit"),
    "expert_review": ("pass", "return"),
    "standardised": ("standardise",),
    "answer_review": ("verdicts", "review"),
    "adjudication": ("adjudicate",),
    "reconstruct": ("reconstruct",),
    "accepted": ("audit",),
}


@dataclass
class Acknowledged:
    """What the server said it had done."""

    done: list[tuple[str, str, int, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, sample: Sample, name: str) -> None:
        """Notes an answer."""
        with self.lock:
            self.done.append((kind, sample.id, sample.version, name))


def fields_of(form: str, sample: Sample, rng: random.Random) -> dict[str, str]:
    """A filled form."""
    values = {"version": str(sample.version), "reason": "because", "seconds": "3"}
    if form in ("write", "edit"):
        question = f"Question {rng.random()}?"
        values |= {"question": question, "component-0": "Ida", "component-1": "at six"}
        values |= {"prompt_thinking": f"{question} Think. [Answer]", "prompt_answering": f"{question} [Answer]"}
    else:
        asked = sample.content
        values |= {"prompt_thinking": asked.prompt_thinking, "prompt_answering": asked.prompt_answering}
    values |= {"decision": rng.choice(("accept", "reconstruct"))}
    marks = {
        f"mark-{at}": rng.choice(("right", "right", "right", "wrong")) for at in range(len(sample.content.components))
    }
    found = {"mined-text-0": "at noon", "mined-0": rng.choice(("missing", "not missing"))} if form == "review" else {}
    return values | marks | found | {"verdict": rng.choice(("pass", "problem"))}


def work(
    address: str, token: str, person: Person, store: Store, stop: threading.Event, seen: Acknowledged, seed: int
) -> None:
    """Acts at random until the server is gone."""
    rng = random.Random(seed)
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=address, headers=headers, timeout=30, trust_env=False) as client:
        while not stop.is_set():
            listed = store.listed(states=tuple(FORMS), limit=200)
            if len(listed) < 20 or rng.random() < 0.1:
                first = store.documents(limit=1)[0].id
                store.act(Create(f"s-{rng.getrandbits(60):x}", "qa", "en", 8192, (first,)), person)
                continue
            sample = store.sample(rng.choice(listed).id)
            if sample.state == "answer_review" and not sample.answered and rng.random() < 0.5:
                with suppress(RefusedError, StaleError):
                    found = (Prediction("model", ("Ida", "at noon")),)
                    store.act(AddPredictions(sample.id, sample.version, found), person)
                continue
            form = rng.choice(FORMS.get(sample.state, ("edit",)))
            try:
                answer = client.post(f"/samples/{sample.id}/{form}", data=fields_of(form, sample, rng))
            except httpx.HTTPError:  # the server is gone, and did not say that it had done it
                return
            assert answer.status_code in (303, 400, 409), (answer.status_code, answer.text[:500])
            if answer.status_code == 303:
                seen.add(form, sample, person.name)
