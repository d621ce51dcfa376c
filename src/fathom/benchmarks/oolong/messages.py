"""Short messages whose subject is plain though they do not name it, in English and Chinese."""

from collections.abc import Mapping, Sequence

from fathom.storage.toml import packaged_toml

_MESSAGES = packaged_toml(__package__, "messages.toml")
SUBJECTS: Mapping[str, Mapping[str, Sequence[str]]] = _MESSAGES["subjects"]
OPENINGS: Mapping[str, Sequence[str]] = _MESSAGES["openings"]
