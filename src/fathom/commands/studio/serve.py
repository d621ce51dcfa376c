"""Serve a studio: a web app for annotators, experts and administrators."""

from dataclasses import KW_ONLY
from functools import partial
from typing import Annotated

from fathom.commands.servers import Host, Port, Proxies, Ready
from fathom.commands.studio.asking import TasksFolder
from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import Options, command, given, opt, unset


class ServeOptions(Options):
    store: Store = STORE
    _: KW_ONLY
    title: Annotated[str, opt("Title of the pages.")] = "fathom studio"
    host: Host = "127.0.0.1"
    port: Port = 8100
    secure: Annotated[
        bool, opt("Send cookies over HTTPS only; needs a web server in front that has a certificate.")
    ] = False
    proxies: Proxies = given(())
    tasks: TasksFolder = unset
    ready: Ready = None


@command(ServeOptions)
def studio_serve(options: ServeOptions) -> None:
    """Serve a studio: a web app for annotators, experts and administrators.

    Several servers can use one PostgreSQL database. Other machines need HTTPS: put a web server with a certificate in
    front.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        import uvicorn  # noqa: F401 - what is missing is said before anything is made

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
