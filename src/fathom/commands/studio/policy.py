"""Show or choose how the samples of a studio are reviewed."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Json
from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import Options, arg, command

if TYPE_CHECKING:
    from fathom.studio.staffing import PolicyReport


class PolicyOptions(Options):
    policy: Annotated[
        Literal["two", "three", "four"] | None,
        arg("How many people make samples: two, three or four (and more). Without it, the present policy is shown."),
    ] = None
    _: KW_ONLY
    store: Store = STORE


@command(PolicyOptions)
def studio_policy(options: PolicyOptions) -> "PolicyReport":
    """Show or choose how samples are reviewed: by how many people, and who decides on a problem.

    two: the other person, an expert, passes and reviews; a problem leads to another round. three: one review, and an
    expert decides. four: two independent reviews, and an expert who did neither decides. Another policy holds for
    samples and rounds that begin later.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.staffing import policy_report
    with opened(options.store) as store:
        if options.policy is not None:
            store.set_policy(options.policy)
        return policy_report(store.staff(), len(store.stuck()))


class Line(PolicyOptions, Json, kw_only=True):
    pass


def main(line: Line) -> None:
    """Print the policy, and whom the studio lacks."""
    from fathom.options.terminal import print_json

    report = studio_policy.body(line)
    if line.as_json:
        return print_json(report)
    print(f"{report.policy or 'none'}: {report.words}")
    print(f"{report.able} people annotate, review or decide; {report.experts} of them are experts or administrators")
    if report.lacks:
        print(f"the policy needs {report.lacks}")
    if report.stuck:
        print(f"samples with which nobody can go on: {report.stuck}; they are first in the queue")
