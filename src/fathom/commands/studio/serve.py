"""Serve a studio: a web app for annotators, experts and administrators."""

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Annotated

from fathom.commands.servers import Host, Monitored, Port, Proxies, Ready
from fathom.commands.studio.shared import STORE, DesignFile, Store, TasksFolder, libraries, opened
from fathom.options.declare import command, given, hidden, opt, unset
from fathom.plugins.names import listed
from fathom.types import FathomError


class ServeOptions(Monitored):
    store: Store = STORE
    _: KW_ONLY
    demo: Annotated[
        bool,
        opt(
            "Try the studio without a model: makes or continues one with generated documents, drafts of offline "
            "baselines and five accounts, in the folder studio-demo or another --store; for this machine only."
        ),
    ] = False
    title: Annotated[str, opt("Title of the pages.")] = "fathom studio"
    host: Host = "127.0.0.1"
    port: Port = 8100
    secure: Annotated[
        bool, opt("Send cookies over HTTPS only; needs a web server in front that has a certificate.")
    ] = False
    proxies: Proxies = given(())
    tasks: TasksFolder = unset
    design: DesignFile = unset
    ready: Ready = None
    making: Annotated[Callable[[str], None] | None, hidden("Called with what is done to make a demo.")] = None
    accounts: Annotated[
        Callable[[Mapping[str, str], str], None] | None,
        hidden("Called with the roles of a demo's accounts by name, and the password of all of them."),
    ] = None


@command(ServeOptions)
def studio_serve(options: ServeOptions) -> None:
    """Serve a studio: a web app for annotators, experts and administrators.

    With --demo, one command opens a studio in which everything can be tried in five minutes, without a model.

    Several servers can use one PostgreSQL database. Other machines need HTTPS: put a web server with a certificate in
    front.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        import python_multipart  # noqa: F401 - what is missing is said before anything is made
        import uvicorn  # noqa: F401

        from fathom.server.listening import Service
        from fathom.studio.quotas import design_of
        from fathom.studio.web.server import serve
        from fathom.studio.web.visit import Settings
        from fathom.studio.work import tasks_of
    place = _demo(options) if options.demo else options.store
    with opened(place):
        pass
    tasks = tasks_of(place, options.tasks)
    settings = Settings(
        title=options.title,
        tasks=tasks,
        design=design_of(place, options.design, tasks),
        secure=options.secure,
    )
    service = Service(options.host, options.port, proxies=options.proxies, **options.of(Monitored), ready=options.ready)
    serve(place, settings, service)


def _demo(options: ServeOptions) -> str:
    """Makes or continues a demo, and returns its folder."""
    from fathom.studio.demo import FOLDER, PEOPLE, open_demo

    if not _is_loopback(options.host) or options.proxies:
        raise FathomError(
            "`demo` is for this machine only; leave out `host` and `proxy`, or make a studio with `fathom studio init`"
        )
    place = FOLDER if options.store == STORE else options.store
    password = open_demo(place, options.making)
    if options.accounts:
        options.accounts(PEOPLE, password)
    return place


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def main(line: ServeOptions) -> None:
    """Serve, and say where."""
    with libraries():
        from fathom.server.logs import announced
    from fathom.options.terminal import tell

    say = announced("fathom.studio", line.log_format, tell)

    def accounts(roles: Mapping[str, str], password: str) -> None:
        people = listed([f"{name} ({role})" for name, role in roles.items()])
        print(f"accounts: {people}\npassword of each, until the next start: {password}", flush=True)

    studio_serve.body(
        line.but(ready=lambda address: say(f"the studio is at {address}"), making=tell, accounts=accounts)
    )
