"""Stack Exchange threads: questions with their answers, from the official data dump or from JSONL."""

from fathom.documents.corpus.stackexchange.documents import ThreadCorpus, case_documents, document_of, thread_documents
from fathom.documents.corpus.stackexchange.markup import PostText, post_text
from fathom.documents.corpus.stackexchange.reading import read_threads
from fathom.documents.corpus.stackexchange.threads import Answer, Progress, Thread

__all__ = [
    "Answer",
    "PostText",
    "Progress",
    "Thread",
    "ThreadCorpus",
    "case_documents",
    "document_of",
    "post_text",
    "read_threads",
    "thread_documents",
]
