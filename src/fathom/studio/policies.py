"""How many people a studio has, and so how its samples are reviewed: a policy, chosen once for all later rounds."""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.studio.types import PolicyName, Sample


@dataclass(frozen=True, slots=True)
class Policy:
    """How samples are reviewed.

    Attributes:
        people: Who must be there at least: annotators, experts and administrators, at least one of them an expert.
        reviews: Blind reviews of an answer in each round.
        adjudicated: Whether an expert who did not review decides on a problem; otherwise it begins another round.
        words: What holds, in a sentence or two.
        audited: Whether accepted samples are drawn for audits.
    """

    people: int
    reviews: int
    adjudicated: bool
    words: str
    audited: bool = True


POLICIES: Mapping[PolicyName, Policy] = {
    "two": Policy(
        2,
        1,
        False,
        "One person writes, the other one, an expert, passes the sample and reviews the answer. A problem leads to "
        "another round; nobody adjudicates, and no sample is drawn for an audit, because both have worked on each.",
        audited=False,
    ),
    "three": Policy(
        3,
        1,
        True,
        "One person writes, another one reviews the answer, and an expert, who passes the sample, decides if the "
        "reviewer finds a problem.",
    ),
    "four": Policy(
        4,
        2,
        True,
        "Two people who did not write the sample review the answer independently, and an expert who did neither "
        "decides if one of them finds a problem, as for LongBench Pro.",
    ),
    "": Policy(
        3,
        2,
        True,
        "No policy was chosen: two people review, an expert who did neither decides on a problem, and nobody is kept "
        "for a later step.",
    ),
}
"""Policies by name; "" is that of a store in which none was chosen."""


def policy_of(sample: Sample) -> Policy:
    """The policy by which a sample is reviewed in this round."""
    return POLICIES[sample.policy]
