"""Pages to look at replies: prompts with gold text marked, replies, and why each scored as it did."""

from fathom.browse.replies import Replies, read_replies
from fathom.browse.site import FILTERS, Written, address, write

__all__ = ["FILTERS", "Replies", "Written", "address", "read_replies", "write"]
