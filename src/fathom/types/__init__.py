"""The core types of fathom: frozen values shared by all packages.

This package imports nothing else from fathom. Texts are plain ``str``; lengths are in tokens of the suite's tokenizer;
offsets are in characters; scores are fractions in [0, 1].
"""

from fathom.types.common import Facet as Facet
from fathom.types.common import FathomError as FathomError
from fathom.types.common import Json as Json
from fathom.types.common import StoppedError as StoppedError
from fathom.types.declarations import AnswerKind as AnswerKind
from fathom.types.declarations import Dial as Dial
from fathom.types.declarations import Grid as Grid
from fathom.types.declarations import PromptSource as PromptSource
from fathom.types.declarations import Results as Results
from fathom.types.declarations import Suite as Suite
from fathom.types.declarations import Task as Task
from fathom.types.declarations import Tell as Tell
from fathom.types.declarations import Wording as Wording
from fathom.types.documents import ROLES as ROLES
from fathom.types.documents import Document as Document
from fathom.types.documents import Question as Question
from fathom.types.documents import Role as Role
from fathom.types.documents import Span as Span
from fathom.types.plans import Arranged as Arranged
from fathom.types.plans import Candidate as Candidate
from fathom.types.plans import CandidatePool as CandidatePool
from fathom.types.plans import Counter as Counter
from fathom.types.plans import Draw as Draw
from fathom.types.plans import Ending as Ending
from fathom.types.plans import Haystack as Haystack
from fathom.types.plans import Layout as Layout
from fathom.types.plans import LeftOut as LeftOut
from fathom.types.plans import Measure as Measure
from fathom.types.plans import Needle as Needle
from fathom.types.plans import Passages as Passages
from fathom.types.plans import Plan as Plan
from fathom.types.plans import Resources as Resources
from fathom.types.plans import Whole as Whole
from fathom.types.replies import STATUSES as STATUSES
from fathom.types.replies import Attempt as Attempt
from fathom.types.replies import Reply as Reply
from fathom.types.replies import Row as Row
from fathom.types.replies import Status as Status
from fathom.types.samples import CONTAINED as CONTAINED
from fathom.types.samples import Ordering as Ordering
from fathom.types.samples import Part as Part
from fathom.types.samples import Sample as Sample
from fathom.types.samples import Score as Score
from fathom.types.subsets import Member as Member
from fathom.types.subsets import Subset as Subset

# Earlier names.
Card = Candidate
Scene = Resources
Stock = CandidatePool
Verdict = Score
