"""Forms by which people share the work on samples: assignments, comments, and who has one open."""

from starlette.responses import JSONResponse, Response

from fathom.studio.assignments import assign, keep_open, open_now, release
from fathom.studio.comments import comment
from fathom.studio.states import DECIDING
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
    others = [name for name in open_now(visit.store, [sample.id]).get(sample.id, ()) if name != visit.me.name]
    return JSONResponse({"open": ["somebody else"] * bool(others) if sample.state in DECIDING else others})
