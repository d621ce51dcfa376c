"""Corpora: documents from files, and ``world``, a generated corpus that needs no download."""

from fathom.documents.corpus.files import Corpus, read_corpus
from fathom.documents.corpus.records import Fields
from fathom.documents.corpus.spec import is_world, parse_spec
from fathom.documents.corpus.text import document_id, merged
from fathom.documents.records import Problem

__all__ = ["Corpus", "Fields", "Problem", "document_id", "is_world", "merged", "parse_spec", "read_corpus"]
