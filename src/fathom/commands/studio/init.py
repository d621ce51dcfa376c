"""Make a studio with its first administrator."""

import sys
from contextlib import closing
from dataclasses import KW_ONLY
from typing import Annotated, Literal

from fathom.commands.studio.shared import STORE, Store, libraries
from fathom.options.declare import Options, command, opt
from fathom.types import FathomError


class InitOptions(Options):
    store: Store = STORE
    _: KW_ONLY
    administrator: Annotated[str, opt("Name of the first administrator.", metavar="NAME")] = "admin"
    tokenizer: Annotated[
        str,
        opt(
            "Tokenizer that counts lengths of documents: tekken, tiktoken:NAME, hf:NAME, words, chars, or a path.",
            metavar="NAME",
        ),
    ] = "tekken"
    policy: Annotated[
        Literal["two", "three", "four"],
        opt("How samples are reviewed, by how many people make them; see fathom studio policy."),
    ] = "four"


@command(InitOptions)
def studio_init(options: InitOptions) -> str:
    """Make a studio with its first administrator, and return the password of that account.

    A folder is made for SQLite; a PostgreSQL database must exist and is filled with tables. The password is shown once.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.people import People
        from fathom.studio.store import Store as StudioStore
        from fathom.studio.work import settle_intake
    with closing(StudioStore(options.store)) as store:
        people = People(store)
        if people.listed():
            raise FathomError(f"`store` {options.store}: there is a studio already; give another folder or database")
        settle_intake(store, options.tokenizer)
        store.set_policy(options.policy)
        return people.add(options.administrator, "administrator")


def main(line: InitOptions) -> None:
    """Print the password, and what to do next."""
    password = studio_init.body(line)
    print(password)
    print(
        f"this is the password of {line.administrator}; keep it, the studio has only its hash\n"
        f"policy: {line.policy} people (fathom studio policy says what that means, and changes it)\n"
        f"next: fathom studio serve --store {line.store}",
        file=sys.stderr,
    )
