"""Create, replace, list and revoke tokens of submitters and moderators."""

import sys
from contextlib import closing
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.board.shared import STORE, Store, libraries
from fathom.commands.shared import Json
from fathom.options.declare import Options, arg, command, opt
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.board.serve.tokens import Token

ACTIONS = ("list", "add", "rotate", "revoke")


class NewToken(Options, kw_only=True):
    role: Annotated[Literal["submit", "moderate"], opt("submit, or moderate, which includes it.")] = "submit"
    days: Annotated[float, opt("How long a new token is valid.", metavar="DAYS")] = 365.0


class TokenOptions(NewToken):
    name: Annotated[str, arg("Whose token.")]
    store: Store = STORE
    _: KW_ONLY
    revoke: Annotated[bool, opt("Revoke the token of this name instead.")] = False
    rotate: Annotated[bool, opt("Make another token in place of the present one, which is revoked.")] = False


@command(TokenOptions)
def board_token(options: TokenOptions) -> str:
    """Create, replace, list and revoke tokens of submitters and moderators.

    A token is shown once and stored nowhere. `fathom board token NAME` is `fathom board token add NAME`.

    Needs the extra board of fathom-eval.
    """
    with libraries():
        from fathom.board.serve import tokens
        from fathom.board.serve.store import Store
    with closing(Store(options.store)) as opened:
        if options.revoke:
            tokens.revoke(opened, options.name)
            return ""
        if options.rotate:
            return tokens.rotate(opened, options.name, options.days)
        return tokens.make_token(opened, options.name, options.role, options.days)


class TokensOptions(Options):
    store: Store = STORE


@command(TokensOptions)
def board_tokens(options: TokensOptions) -> "list[Token]":
    """The tokens of a store: whose, until when, and when they were used last."""
    with libraries():
        from fathom.board.serve import tokens
        from fathom.board.serve.store import Store
    with closing(Store(options.store)) as opened:
        return tokens.listed(opened)


class Line(NewToken, Json):
    what: Annotated[str, arg("list, add, rotate (another token in place of the present one) or revoke; or a NAME.")]
    name: Annotated[str | None, arg("Name of the token; submissions show it.")] = None
    _: KW_ONLY
    store: Store = STORE
    revoke: Annotated[bool, opt("With NAME alone: the same as revoke NAME.")] = False

    def wanted(self) -> TokensOptions | TokenOptions:
        """What is asked for.

        Raises:
            FathomError: The words are not such a request.
        """
        if self.what == "list" and self.name is None:
            return TokensOptions(self.store)
        named = self.what in ACTIONS
        action, who = (self.what, self.name) if named else ("revoke" if self.revoke else "add", self.what)
        if who is None or self.what == "list" or (not named and self.name is not None):
            raise FathomError(
                f"board token {' '.join(filter(None, (self.what, self.name)))}: expected list, or add, rotate or "
                "revoke NAME"
            )
        return TokenOptions(
            who, self.store, role=self.role, days=self.days, revoke=action == "revoke", rotate=action == "rotate"
        )


def main(line: Line) -> None:
    """Print a new token, what was revoked, or a table of all."""
    from fathom.options.terminal import print_json, print_records

    asked = line.wanted()
    if isinstance(asked, TokensOptions):
        records = [token.as_record() for token in board_tokens.body(asked)]
        return print_json(records) if line.as_json else print_records(records, denominator="none")
    made = board_token.body(asked)
    if asked.revoke:
        print(f"the token of {asked.name} is not valid any more")
    else:
        print(made)
        print(f"valid for {line.days:g} days; keep it: the store holds its hash only", file=sys.stderr)
