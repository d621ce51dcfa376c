"""List, add and change the accounts of a studio."""

import sys
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Json
from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import Options, arg, command, opt
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.studio.people import Account

Change = Literal["add", "role", "password", "off", "on", "token", "revoke"]


class Changes(Options, kw_only=True):
    role: Annotated[
        Literal["reader", "annotator", "expert", "administrator"] | None,
        opt("reader, annotator, expert or administrator; each may do what those before it may. annotator by default."),
    ] = None
    days: Annotated[float, opt("How long a new token is valid.", metavar="DAYS")] = 90.0


class UserOptions(Changes):
    what: Annotated[
        Change,
        arg(
            "add; role (with --role); password (a new one); off and on (whether the account can log in); token (a new "
            "one, for programs); revoke (all tokens)."
        ),
    ]
    name: Annotated[str, arg("Name of the account.")]
    store: Store = STORE
    _: KW_ONLY


@command(UserOptions)
def studio_user(options: UserOptions) -> str:
    """Add or change an account, and return its new password or token.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.people import People
    with opened(options.store) as store:
        people = People(store)
        match options.what:
            case "add":
                return people.add(options.name, options.role or "annotator")
            case "role":
                if options.role is None:
                    raise FathomError("users role: give the new role with `role`")
                people.change(options.name, role=options.role)
            case "password":
                return people.set_password(options.name)
            case "token":
                return people.make_token(options.name, options.days)
            case "revoke":
                people.revoke_tokens(options.name)
            case "off" | "on":
                people.change(options.name, active=options.what == "on")
    return ""


class UsersOptions(Options):
    store: Store = STORE


@command(UsersOptions)
def studio_users(options: UsersOptions) -> "list[Account]":
    """The accounts of a studio with their roles."""
    with libraries():
        from fathom.studio.people import People
    with opened(options.store) as store:
        return People(store).listed()


class Line(Changes, Json):
    what: Annotated[
        Literal["list", "add", "role", "password", "off", "on", "token", "revoke"],
        arg(
            "list; add; role (with --role); password (a new one); off and on (whether the account can log in); token "
            "(a new one, for programs); revoke (all tokens).",
        ),
    ] = "list"
    name: Annotated[str | None, arg("Name of the account.")] = None
    _: KW_ONLY
    store: Store = STORE


def main(line: Line) -> None:
    """Print a table of accounts, or a new password or token.

    Raises:
        FathomError: The name of the account is missing, or is too much.
    """
    from dataclasses import asdict

    from fathom.options.terminal import print_json, print_records

    if line.what == "list":
        if line.name is not None:
            raise FathomError(f"users list {line.name}: list takes no name; leave it out")
        records = [asdict(account) for account in studio_users.body(UsersOptions(line.store))]
        return print_json(records) if line.as_json else print_records(records, denominator="none")
    if line.name is None:
        raise FathomError(f"users {line.what}: the name of the account is missing; write it after {line.what}")
    made = studio_user.body(UserOptions(line.what, line.name, line.store, role=line.role, days=line.days))
    if made:
        print(made)
        kind = "token" if line.what == "token" else "password"
        print(f"this is the {kind} of {line.name}; keep it, the studio has only its hash", file=sys.stderr)
    else:
        print(f"{line.name}: done")
