"""What the command says of an exception that nothing below it has explained."""

import errno
import os
import re
import sqlite3
import traceback

from fathom.safety.secrets import hide_in_text

VARIABLE = "FATHOM_TRACEBACK"
BUG = 70
"""Exit code of a bug in fathom (``EX_SOFTWARE``)."""

_ADVICE = {
    errno.ENOSPC: "free some space, then run it again",
    errno.EDQUOT: "free some space, then run it again",
    errno.EROFS: "the disk is read-only; give a place that can be written",
    errno.EACCES: "check the permissions, or give another place",
    errno.EPERM: "check the permissions, or give another place",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "the system allows no more open files; end other programs",
    errno.EIO: "the disk is failing; check it",
    errno.EFBIG: "files may not be that large here; check `ulimit -f` and the disk",
}
# Of what libraries raise where memory, or a thread, is refused.
_REFUSED = ("Cannot allocate memory", "failed to map segment", "can't start new thread", "out of memory")
_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
# Libraries written in Rust say the system's number in words.
_OS_ERROR = re.compile(r"\(os error (\d+)\)|\[[Ee]rrno (\d+)\]")


def explain(error: BaseException) -> str | None:
    """One line about a failure of a plugin, or of the machine: disk, memory, permissions, names of files.

    Returns:
        What failed, where, and what to do; None for anything else, which is a bug.
    """
    from fathom.plugins.loading import place_of

    if place := place_of(error):
        return f"{place}: {type(error).__name__}: {hide_in_text(' '.join(str(error).split()))[:200]}"
    if isinstance(error, MemoryError) or any(words in str(error) for words in _REFUSED):
        return "there is not enough memory; end other programs, raise the limit (ulimit), or make the work smaller"
    if type(error).__name__ == "PanicException":
        return f"a library cannot go on with these inputs: {hide_in_text(' '.join(str(error).split()))[:200]}"
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return "the name of a file or folder holds a NUL character, which no name can"
    if isinstance(error, sqlite3.Error):
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF in _FULL
        return f"a database cannot be used: {error}; " + (
            "free some space" if full else "check its folder and the disk"
        )
    number = _number(error)
    if number is None:
        return None
    name = getattr(error, "filename", None)
    other = getattr(error, "filename2", None)
    where = "".join(f"{_shortened(os.fsdecode(path))}: " for path in (name, other) if isinstance(path, str | bytes))
    if not where and number in (errno.ENOSPC, errno.EDQUOT):  # files of ours are named
        where = "standard output or a file cannot be written: "
    advice = _ADVICE.get(number)
    return f"{where}{os.strerror(number)}" + (f"; {advice}" if advice else "")


def has_caused(kind: type[BaseException], error: BaseException) -> bool:
    """Whether an exception of a kind has led to this one."""
    links, seen = [error], set[int]()
    while links:
        link = links.pop()
        if isinstance(link, kind):
            return True
        if id(link) not in seen:
            seen.add(id(link))
            links += [before for before in (link.__cause__, link.__context__) if before is not None]
    return False


def _shortened(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:100]}…{name[-99:]}"


def _number(error: BaseException) -> int | None:
    """The system's number of the failure, also where a library has put it into an exception of its own."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    kinds = [kind.__module__.partition(".")[0] for kind in type(error).__mro__]
    if isinstance(error, OSError) or "polars" in kinds:
        match = _OS_ERROR.search(str(error))
        return int(match[1] or match[2]) if match else None
    return None


def about_bug(error: BaseException) -> str:
    """One line about an exception that should not have come this far."""
    words = f"{type(error).__name__}: {hide_in_text(' '.join(str(error).split()))[:200]}"
    return f"this is a bug in fathom: {words}. Please report it, with what the same command prints with {VARIABLE}=1"


def wanted_traceback(error: BaseException) -> str:
    """The traceback where ``FATHOM_TRACEBACK`` asks for it, else ""."""
    return "".join(traceback.format_exception(error)) if os.environ.get(VARIABLE, "0") not in ("", "0") else ""
