"""Pages of samples: the queue, one page for each state, and merging."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response

from fathom.server.answers import AnswerError
from fathom.studio.assignments import AtWork, assigned_to, assigning_role, at_work, can_do
from fathom.studio.candidates import merged
from fathom.studio.comments import COMMENT, comments_of
from fathom.studio.faults import REFERENCES, STANDARDISED, faults_of, faults_of_sample
from fathom.studio.intake import bucket_of, groups
from fathom.studio.lists import ListedSample, ListQuery
from fathom.studio.log import Entry
from fathom.studio.policies import policy_of
from fathom.studio.predicting import closed_book_results, known_without_text, mined
from fathom.studio.quality import without_origin
from fathom.studio.records import RecordError
from fathom.studio.staffing import outlook, why_not_now
from fathom.studio.states import DECIDING, RefusedError, StaleError, may, states_waiting_for, visible
from fathom.studio.statistics import efforts, total
from fathom.studio.store import PAGE, Draft, new_id
from fathom.studio.tasks import guideline_of, proposed_prompts
from fathom.studio.trials import TRIAL, trial_counts
from fathom.studio.types import STATES, Component, Content, Create, Edit, Evidence, Sample, State, SubmitForReview
from fathom.studio.web import claims
from fathom.studio.web.accounts import hidden
from fathom.studio.web.forms import FORMS, action_of, components_of, content_of, evidence_of, form_of
from fathom.studio.web.progress import audits_of
from fathom.studio.web.ratings import rates, without_authors
from fathom.studio.web.visit import Form, Visit, texts_of
from fathom.types import FathomError

SHOWN = 50
TO_AUDIT = "to_audit"
"""Accepted samples that are drawn for an audit, as a filter of the queue beside the states."""
FOR_EXPERT = "for_expert"
"""What waits for an expert, as a filter of the queue beside the states."""
EXPERT_STATES: tuple[State, ...] = ("expert_review", "adjudication")
MOST_MINED = 50
"""Components of models that a reviewer decides on; the models' whole answers have the rest."""
EMPTY_ROWS = 2
"""Empty components at the end of a form, for browsers without scripts."""
ASKED: frozenset[State] = frozenset({"expert_review", "standardised", *STANDARDISED})
"""States in which pages show what models are asked."""


def queue(visit: Visit) -> Response:
    """What waits for this person, what waits for an expert, what is assigned to them, or all samples of one state."""
    state, mine = visit.query("state"), visit.query("assigned") == "me"
    asked = ListQuery(
        task=visit.query("task"),
        language=visit.query("language"),
        bucket=visit.number("bucket"),
        words=visit.query("words"),
        offset=visit.number("offset"),
        limit=SHOWN + 1,
    )
    me = visit.me.name
    assigned = tuple(assigned_to(visit.store, me))
    if mine:
        return _queue(visit, visit.store.matches(replace(asked, ids=assigned)) if assigned else [], state, asked)
    if state in STATES:
        return _queue(visit, visit.store.matches(replace(asked, states=(state,))), state, asked)
    if state == FOR_EXPERT:
        return _queue(visit, visit.store.matches(replace(asked, states=EXPERT_STATES)), state, asked)
    if state == TO_AUDIT and may(visit.me.role, "expert"):
        histories = visit.histories.all()
        ids = tuple(id for id in audits_of(visit).waiting if me not in histories[id].barred)
        return _queue(visit, visit.store.matches(replace(asked, ids=ids)) if ids else [], state, asked)
    wanted = replace(asked, states=states_waiting_for(visit.me.role) or STATES, waiting_for=me)
    first = visit.store.matches(replace(wanted, ids=assigned, offset=0, limit=PAGE)) if assigned else []
    after = max(0, asked.offset - len(first))
    rest = visit.store.matches(replace(wanted, without=assigned, offset=after))
    return _queue(visit, first[asked.offset :] + rest, "", asked)


def _queue(visit: Visit, listed: list[ListedSample], state: str, asked: ListQuery) -> Response:
    shown = without_authors(visit, listed[:SHOWN])
    present = at_work(visit.store, [sample.id for sample in shown])
    who = {sample.id: _names_at_work(visit, sample, present[sample.id]) for sample in shown}
    # What others have taken comes last: two people would do the same.
    shown.sort(key=lambda sample: (visit.me.name not in who[sample.id][:1], bool(who[sample.id])))
    filters = {name: getattr(asked, name) or "" for name in ("task", "language", "bucket", "words")}
    counts = visit.store.counts()
    return visit.page(
        "queue",
        samples=shown,
        at_work={id: "; ".join(names) for id, names in who.items()},
        counts=counts,
        for_expert=sum(counts.get(name, 0) for name in EXPERT_STATES),
        stuck=[] if state or asked.offset else visit.store.stuck(),
        lacks=visit.store.staff().lacks,
        combinations=visit.store.combinations(),
        states=STATES,
        state=state,
        mine=visit.query("assigned") == "me",
        filters=filters,
        more=asked.offset + SHOWN if len(listed) > SHOWN else 0,
    )


def _names_at_work(visit: Visit, sample: ListedSample, present: AtWork) -> tuple[str, ...]:
    """Who has a sample, oneself first; without the names of others where they are hidden."""
    me, named = visit.me.name, sample.state not in DECIDING
    have = present.assigned
    others = [name if named else "somebody" for name in have if name != me]
    opening = [f"{name if named else 'somebody'} has it open" for name in present.open if name not in (me, *have)]
    return (*((me,) if me in have else ()), *others, *opening)


def sample_page(visit: Visit) -> Response:
    """A sample in its state, as this person may see it."""
    return _sample(visit, visit.store.sample(visit.path("id")))


def history(visit: Visit) -> Response:
    """What happened to a sample."""
    sample = visit.store.sample(visit.path("id"))
    entries: list[Entry] = hidden(visit, visit.store.log(subject=sample.id))
    if sample.state == "adjudication":
        entries = [replace(entry, person="(hidden)") for entry in entries]
    blind = rates(visit, sample)
    spent = efforts([visit.histories.all()[sample.id]], hourly=visit.settings.design.hourly)
    # The time in a state is that of one reviewer until the other one is done.
    spent = [effort for effort in spent if effort.actions + effort.model_cost and effort.group != sample.state]
    return visit.page(
        "history",
        sample=visible(sample, visit.me),
        blind=blind,
        entries=[] if blind else entries,
        spent=[] if blind else [*spent, total(spent)],
        hourly=visit.settings.design.hourly,
    )


def create(visit: Visit) -> Response:
    """Begins a sample about a document, or about several.

    Raises:
        AnswerError: The task is not in the list, or the documents cannot be used together.
    """
    form, prefix = visit.form, "document-"
    ids = [name.removeprefix(prefix) for name in form.fields if name.startswith(prefix)] or [form.text("document")]
    documents = [visit.store.document(id.replace("\0", "")) for id in ids]
    task = form.text("task").strip()
    if not task or (visit.settings.tasks and task not in visit.settings.tasks):
        raise AnswerError(400, "choose a task from the list")
    if other := [document for document in documents if document.state != "available"]:
        raise AnswerError(
            400, f"{other[0].title or other[0].id} is {other[0].state}; choose documents that are available"
        )
    if len({document.language for document in documents}) > 1:
        raise AnswerError(400, "the documents are in several languages; choose those of one")
    intake, bucket = visit.store.intake(), documents[0].bucket
    if len(documents) > 1:
        bucket = bucket_of(sum(document.tokens for document in documents), intake.buckets, intake.tolerance)
    action = Create(new_id(), task, documents[0].language, bucket, tuple(document.id for document in documents))
    return visit.to(f"/samples/{visit.store.act(action, visit.me).id}")


def act(visit: Visit) -> Response:
    """Does what a form says, or shows the merge page.

    Raises:
        AnswerError: There is no such form.
    """
    name, form = visit.path("form"), visit.form
    if name not in FORMS:
        raise AnswerError(404, "there is no such page")
    sample = visit.store.sample(visit.path("id"))
    hands_over, version = form.text("then") == "submit", form.number("version")
    try:
        action = action_of(name, sample, form)
        unchanged = isinstance(action, Edit) and _is_unchanged(visit, action, sample)
        if unchanged and not (hands_over and sample.state != "standardised"):
            raise RefusedError(f"sample {sample.id}: nothing was changed; edit it first")
        if not (hands_over and unchanged):  # who changed nothing and hands it over just hands it over
            visit.store.act(action, visit.me)
            version += 1
    except StaleError:
        return _merge(visit, visit.store.sample(sample.id), name, form)
    except (RefusedError, RecordError) as error:
        return _refused(visit, visit.store.sample(sample.id), name, form, error)
    if name != "select" or sample.state != "selected":  # who brings another draft back sees what they had typed
        visit.store.drop_drafts(visit.me.name, sample.id)
    if name == "none_fits":
        return _next_document(visit, sample)
    if hands_over:
        try:
            # What they have just saved: if somebody else has edited it since, they look at that first.
            visit.store.act(SubmitForReview(sample.id, version), visit.me)
        except StaleError:
            return _merge(visit, visit.store.sample(sample.id), "submit", Form())
        except RefusedError as error:
            return _refused(visit, visit.store.sample(sample.id), "submit", Form(), error)
        return visit.to("/", "submit")
    return visit.to(f"/samples/{sample.id}" if FORMS[name].words.stays else "/", name)


def _next_document(visit: Visit, sample: Sample) -> Response:
    """The next draft like a sample over other documents, or a new sample over one that has none like it."""
    several = len(sample.documents) > 1
    alike = ListQuery(("drafted",), sample.task, sample.language, sample.bucket, limit=PAGE)
    for id in _of_length(visit, alike):
        documents = visit.store.sample(id).documents
        if (len(documents) > 1) == several and not set(documents) & set(sample.documents):
            return visit.to(f"/samples/{id}", "none_fits")
    ids = _of_length(visit, replace(alike, states=()))
    used = {id for other in visit.store.samples(ids=[*ids, sample.id]) for id in other.documents}
    free = [
        document
        for document in visit.store.documents(state="available", language=sample.language)
        if not document.duplicate_of and document.id not in used
    ]
    alone = tuple((document.id,) for document in free if document.bucket == sample.bucket)
    chosen = groups(free, sample.bucket, tolerance=visit.store.intake().tolerance) if several else alone
    if not chosen:
        return visit.to("/", "no_document")
    action = Create(new_id(), sample.task, sample.language, sample.bucket, chosen[0])
    return visit.to(f"/samples/{visit.store.act(action, visit.me).id}", "none_fits")


def _of_length(visit: Visit, asked: ListQuery) -> list[str]:
    """Ids of samples of a length; a query for length 0 is for any, but these samples are in no bucket."""
    return [listed.id for listed in visit.store.matches(asked) if listed.bucket == asked.bucket]


def merge_draft(visit: Visit) -> Response:
    """Adds what another draft has and the sample lacks: components of the answer, rationale and solution.

    Raises:
        AnswerError: There is no such draft.
    """
    sample, form = visit.store.sample(visit.path("id")), visit.form
    other = next((draft.content for draft in sample.candidates if draft.id == form.text("candidate")), None)
    if other is None:
        raise AnswerError(404, "there is no such draft; reload the page")
    action = Edit(sample.id, form.number("version"), merged(sample.content, other), seconds=form.seconds)
    try:
        visit.store.act(action, visit.me)
    except StaleError:
        return _merge(visit, visit.store.sample(sample.id), "select", Form())
    except (RefusedError, RecordError) as error:
        return _refused(visit, visit.store.sample(sample.id), "select", Form(), error)
    return visit.to(f"/samples/{sample.id}", "edit")


def decide_on_claim(visit: Visit) -> Response:
    """Records what somebody decides on a claim of a model."""
    try:
        return claims.decide(visit)
    except RefusedError as error:
        return _sample(visit, visit.store.sample(visit.path("id")), 409, wrong=str(error), claim_form=visit.form)


def save_draft(visit: Visit) -> Response:
    """Keeps what somebody typed.

    Raises:
        AnswerError: There is no such form, or its fields are no JSON.
    """
    body, subject, form = visit.form.text("body"), visit.path("subject"), visit.path("form")
    try:
        values = texts_of(body)
    except (ValueError, RecursionError):
        raise AnswerError(400, "a draft is the fields of a form as JSON; reload the page") from None
    if form not in FORMS:
        raise AnswerError(404, "there is no such form; reload the page")
    visit.store.sample(subject)
    at = visit.store.save_draft(visit.me.name, subject, form, visit.form.number("version"), json.dumps(values))
    return JSONResponse({"saved": at})


def _sample(visit: Visit, sample: Sample, status: int = 200, **values: Any) -> Response:
    staff = visit.store.staff()
    reasons = {name: why_not_now(sample, kind, visit.me, staff) for name, kind in FORMS.items()}
    may_do = {name: not reason for name, reason in reasons.items()}
    blind = rates(visit, sample)
    seen = without_origin(sample) if blind else visible(sample, visit.me)
    # Both steps of a review are one form: models may answer while somebody fills it in.
    typed = visit.store.drafts(visit.me.name, sample.id)
    drafts = {name: typed.get(name) for name in FORMS if may_do[name] or (name == "review" and may_do["verdicts"])}
    form = {name: _restored(draft, sample) for name, draft in drafts.items()} | values.pop("forms", {})
    edited = _edited(form.get("edit") or form.get("write"), seen)
    standard = proposed_prompts(visit.settings.tasks, sample)
    thinking, answering = standard if sample.state in ASKED else ("", "")
    first = seen.judged_by(visit.me.name) if may_do["review"] else None
    form["review"] = form.get("review") or form.get("verdicts") or (form_of(first) if first else None)
    reviewing = sample.state == "standardised"  # whoever is here may be a reviewer soon
    decides = not (blind or reviewing) and any(may_do[name] for name in ("edit", "pass", "adjudicate", "audit"))
    asked = (edited.prompt_thinking or thinking, edited.prompt_answering or answering)
    same = set(asked[1].splitlines())
    task = visit.settings.tasks.get(sample.task)
    references = REFERENCES if task is not None and task.is_summary and task.published else 0
    return visit.page(
        "sample",
        status,
        sample=seen,
        blind=blind,
        documents=[visit.store.document(id) for id in sample.documents],
        can=may_do,
        trials=trial_counts(visit.store.notes(topic=TRIAL, subject=sample.id)) if sample.state == "drafted" else {},
        policy=policy_of(sample),
        outlook=outlook(sample, staff),
        able=can_do(sample, staff, visit.me.name),
        comments=[]
        if blind
        else comments_of(sample, visit.store.notes(topic=COMMENT, subject=sample.id), visit.me.name),
        people_at_work=_people_at_work(visit, sample),
        reasons=reasons,
        forms=form,
        edited=edited,
        faults=faults_of_sample(seen, visit.settings.tasks),
        faults_of=lambda content: faults_of(content, task, sample.language),
        missing=_components(form["review"], "missing"),
        evidence_for=partial(_evidence, form["review"]),
        first=first,
        firsts={(review.reviewer, review.round): review.verdicts for review in seen.first_verdicts},
        mined=mined(seen, task, [component.text for component in first.missing])[:MOST_MINED] if first else (),
        one_choice=task is not None and task.metric == "Accuracy",
        claims=claims.claims_of(visit, sample),
        closed_book=closed_book_results(sample, task) if decides else None,
        known=bool(decides and known_without_text(sample, task)),
        own_prompts=_own_prompts(edited, standard),
        prompts=asked,
        reasoning="\n".join(line for line in asked[0].splitlines() if line not in same),
        guideline=guideline_of(visit.settings.tasks, sample.task),
        restored={name: draft.saved for name, draft in drafts.items() if draft and draft.version == sample.version},
        unsaved=_unsaved(drafts.get("edit"), sample, seen),
        outdated={name: draft.saved for name, draft in drafts.items() if draft and draft.version != sample.version},
        empty_rows=max(0, references - len(edited.components)) if references else EMPTY_ROWS,
        summary=task is not None and task.is_summary,
        references=references,
        **{"wrong": "", "mine": None, "conflict": "", "claim_form": None} | values,
    )


def _own_prompts(content: Content, standard: tuple[str, str]) -> tuple[str, str]:
    """The prompts of a content as its form shows them: empty for the standard ones, which follow the question."""
    prompts = content.prompt_thinking, content.prompt_answering
    return ("", "") if prompts == standard else prompts


def _is_unchanged(visit: Visit, action: Edit, sample: Sample) -> bool:
    """Whether an edit leaves the sample as its form showed it."""
    standard = proposed_prompts(visit.settings.tasks, sample)
    stored, sent = (
        replace(content, components=_stripped(content), prompt_thinking=thinking, prompt_answering=answering)
        for content in (sample.content, action.content)
        for thinking, answering in [_own_prompts(content, standard)]
    )
    return action.version == sample.version and sent == stored


def _stripped(content: Content) -> tuple[Component, ...]:
    """Components as forms give them."""
    return tuple(replace(part, text=text) for part in content.components if (text := part.text.strip()))


def _people_at_work(visit: Visit, sample: Sample) -> dict[str, Any]:
    """Who has a sample assigned and open; only how many others where names are hidden."""
    me, named = visit.me.name, sample.state not in DECIDING
    present = at_work(visit.store, [sample.id])[sample.id]
    may_assign = may(visit.me.role, assigning_role(sample))
    others = [name for name in present.assigned if name != me]
    opening = [name for name in present.open if name != me]
    return {
        "mine": sample.id in assigned_to(visit.store, me),
        "assigned": others if named or may_assign else ["somebody"] * len(others),
        "open": opening if named else ["Somebody else"] * bool(opening),
        "may_assign": may_assign,
    }


def _merge(visit: Visit, sample: Sample, name: str, form: Form) -> Response:
    """Both versions side by side; nothing is lost."""
    if name in ("edit", "write"):
        try:
            mine = content_of(form, sample.content)
        except FathomError:
            mine = Content(form.text("question"))
        differs = _differences(mine, sample.content)
        return _sample(visit, sample, 409, conflict=name, mine=mine, differs=differs, forms={name: form})
    return _sample(visit, sample, 409, conflict=name, mine=None, differs=[], forms={name: form})


def _refused(visit: Visit, sample: Sample, name: str, form: Form, error: FathomError) -> Response:
    """The page again, with the reason and what was typed."""
    return _sample(visit, sample, 409 if isinstance(error, RefusedError) else 400, wrong=str(error), forms={name: form})


def _differences(mine: Content, theirs: Content) -> list[tuple[str, str, str]]:
    """Fields that differ, as texts."""
    names = ("question", "rationale", "solution", "prompt_thinking", "prompt_answering")
    pairs = [(name.replace("_", " "), getattr(mine, name), getattr(theirs, name)) for name in names]
    parts = [("components", _lines(mine), _lines(theirs)), ("requirement", mine.requirement, theirs.requirement)]
    return [pair for pair in pairs + parts if pair[1] != pair[2]]


def _lines(content: Content) -> str:
    return "\n".join(
        f"{component.text}   [{', '.join(f'{part.start}-{part.end}' for part in component.evidence)}]"
        if component.evidence
        else component.text
        for component in content.components
    )


def _restored(draft: Draft | None, sample: Sample) -> Form | None:
    return Form(json.loads(draft.body)) if draft is not None and draft.version == sample.version else None


def _unsaved(draft: Draft | None, sample: Sample, seen: Sample) -> list[tuple[str, str, str]]:
    """What somebody typed about an earlier version and did not save, beside what is stored."""
    if draft is None or draft.version == sample.version:
        return []
    return _differences(_edited(Form(json.loads(draft.body)), seen), seen.content)


def _edited(form: Form | None, sample: Sample) -> Content:
    """The content as a form shows it: what was typed, or what is stored."""
    if form is None:
        return sample.content
    try:
        return content_of(form, sample.content)
    except FathomError:
        return sample.content


def _components(form: Form | None, prefix: str) -> list[Component]:
    try:
        return list(components_of(form, prefix)) if form else []
    except FathomError:
        return []


def _evidence(form: Form | None, name: str) -> tuple[Evidence, ...]:
    try:
        return evidence_of(form, name) if form else ()
    except FathomError:
        return ()
