"""How people share the work: assignments, comments, who has a sample open, and figures for each annotator."""

from starlette.responses import JSONResponse, Response

from fathom.server.answers import AnswerError
from fathom.studio.annotators import CHOICES, Profile, annotators, background, save_profile
from fathom.studio.assignments import assign, at_work, keep_open, release
from fathom.studio.comments import comment
from fathom.studio.records import RecordError, from_record
from fathom.studio.states import DECIDING, may
from fathom.studio.web.visit import Visit


def take(visit: Visit) -> Response:
    """Assigns a sample to oneself or somebody else, or ends an assignment."""
    sample, form = visit.store.sample(visit.path("id")), visit.form
    name = form.text("name") or visit.me.name
    if form.text("what") == "release":
        release(visit.store, sample, name, visit.me)
        return visit.to(f"/samples/{sample.id}", "release")
    assign(visit.store, sample, name, visit.me)
    return visit.to(f"/samples/{sample.id}", "assign")


def write_comment(visit: Visit) -> Response:
    """Stores a comment."""
    sample = visit.store.sample(visit.path("id"))
    comment(visit.store, sample, visit.form.text("comment"), visit.me, visit.form.seconds)
    return visit.to(f"/samples/{sample.id}", "comment")


def note_open(visit: Visit) -> Response:
    """Notes that this person has a sample open, and says who else has."""
    sample = visit.store.sample(visit.path("id"))
    keep_open(visit.store, sample.id, visit.me.name)
    others = [name for name in at_work(visit.store, [sample.id])[sample.id].open if name != visit.me.name]
    return JSONResponse({"open": ["Somebody else"] * bool(others) if sample.state in DECIDING else others})


def annotators_page(visit: Visit) -> Response:
    """Figures for each annotator: all for experts, one's own for others; who they are together for administrators."""
    people = visit.store.staff().people
    figures = visit.histories.cached(("annotators", people), lambda all_: annotators(all_, people))
    mine = [row for row in figures if row.name == visit.me.name]
    return visit.page(
        "annotators",
        figures=figures if may(visit.me.role, "expert") else mine,
        background=background(visit.store) if may(visit.me.role, "administrator") else [],
    )


def change_profile(visit: Visit) -> Response:
    """Stores what somebody says about themselves.

    Raises:
        AnswerError: A field is invalid.
    """
    try:
        profile = from_record(Profile, {name: visit.form.text(name) for name in (*CHOICES, "subject")})
    except RecordError as error:
        raise AnswerError(400, str(error)) from None
    save_profile(visit.store, visit.me.name, profile)
    return visit.to("/account", "profile")
