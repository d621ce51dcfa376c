"""Pages to look at replies: prompts with gold text marked, replies, and why each scored as it did."""

from fathom.browse.pages import Pages
from fathom.browse.replies import Replies, read_replies
from fathom.browse.serve import PagesServer, Refreshed, serve
from fathom.browse.site import FILTERS, Written, address, only_some, write

__all__ = [
    "FILTERS",
    "Pages",
    "PagesServer",
    "Refreshed",
    "Replies",
    "Written",
    "address",
    "only_some",
    "read_replies",
    "serve",
    "write",
]
