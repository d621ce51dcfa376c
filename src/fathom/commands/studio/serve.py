"""Serve a studio: a web app for annotators, experts and administrators."""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from functools import partial
from typing import Annotated

from fathom.commands.studio.asking import TasksFolder
from fathom.commands.studio.shared import STORE, DesignFile, Store, libraries, opened
from fathom.options.declare import Options, Read, command, given, hidden, opt, unset


class ServeOptions(Options):
    store: Store = STORE
    _: KW_ONLY
    title: Annotated[str, opt("Title of the pages.")] = "fathom studio"
    host: Annotated[str, opt("Address to listen on.", metavar="ADDRESS")] = "127.0.0.1"
    port: Annotated[int, opt("Port to listen on; 0 for one that is free.", metavar="NUMBER")] = 8100
    secure: Annotated[
        bool, opt("Send cookies over HTTPS only; needs a web server in front that has a certificate.")
    ] = False
    proxies: Annotated[
        Read[Iterable[str] | str, tuple[str, ...]],
        opt(
            "Address of a web server in front, whose X-Forwarded-For and -Proto are believed; may be given several "
            "times.",
            flag="--proxy",
            metavar="ADDRESS",
            many=True,
        ),
    ] = given(())
    tasks: TasksFolder = unset
    design: DesignFile = unset
    ready: Annotated[Callable[[str], None] | None, hidden("Called with the address once the server listens.")] = None


@command(ServeOptions)
def studio_serve(options: ServeOptions) -> None:
    """Serve a studio: a web app for annotators, experts and administrators.

    Several servers can use one PostgreSQL database. Other machines need HTTPS: put a web server with a certificate in
    front.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        import uvicorn  # noqa: F401 - what is missing is said before anything is made

        from fathom.studio.quotas import design_of
        from fathom.studio.tasks import guideline_of, proposed_prompts
        from fathom.studio.web.server import serve
        from fathom.studio.web.settings import Settings
        from fathom.studio.work import tasks_of
    with opened(options.store):
        pass
    tasks = tasks_of(options.store, options.tasks)
    settings = Settings(
        title=options.title,
        tasks=tuple(tasks),
        prompts=partial(proposed_prompts, tasks),
        guideline=partial(guideline_of, tasks),
        design=design_of(options.store, options.design, tasks),
        secure=options.secure,
    )
    serve(
        options.store,
        settings,
        host=options.host,
        port=options.port,
        proxies=options.proxies,
        ready=options.ready,
    )


def main(line: ServeOptions) -> None:
    """Serve, and say where."""
    from fathom.terminal import tell

    studio_serve.body(line.but(ready=lambda address: tell(f"the studio is at {address}")))
