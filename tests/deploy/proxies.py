"""nginx and Caddy with the configuration of ``deploy``, as processes of their own in front of a server of fathom.

Only ports, names, certificates and addresses of the servers are replaced.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest

from processes import until

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMES = ("nginx", "caddy")


@dataclass(frozen=True)
class Proxy:
    """A running proxy.

    Attributes:
        port: Its port, with TLS.
        certificate: What its certificate is checked with.
    """

    port: int
    certificate: Path

    @property
    def address(self) -> str:
        """Its address, with "/" at the end."""
        return f"https://localhost:{self.port}/"

    @cached_property
    def context(self) -> ssl.SSLContext:
        """Trusts this proxy only."""
        return ssl.create_default_context(cafile=self.certificate)

    def client(self, **more: Any) -> httpx.Client:
        """A client of the proxy."""
        return httpx.Client(base_url=self.address, verify=self.context, timeout=None, trust_env=False, **more)


@contextmanager
def proxy(name: str, kind: str, server: str, folder: Path, *, upload_seconds: int = 20) -> Iterator[Proxy]:
    """A proxy in front of a server; skips where the program is missing.

    Args:
        name: ``nginx`` or ``caddy``.
        kind: ``board`` or ``studio``.
        server: Address of the server.
        folder: For its files.
        upload_seconds: Caddy passes an early answer of the server on only after so long, unless the body is complete.
    """
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if program is None:
        pytest.skip(f"there is no {name} on this machine (Debian: apt-get install {name})")
    folder.mkdir(parents=True)
    upstream, port = server.removeprefix("http://").rstrip("/"), free_port()
    start = _nginx if name == "nginx" else _caddy
    command, environment, certificate = start(program, kind, upstream, port, folder)
    environment["FATHOM_UPLOAD_TIME"] = f"{upload_seconds}s"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
        try:
            front = Proxy(port, certificate)
            until(lambda: certificate.exists() and _shakes_hands(front), process)
            yield front
        finally:
            process.terminate()
            process.wait()


def _nginx(program: str, kind: str, upstream: str, port: int, folder: Path) -> tuple[list[str], dict[str, str], Path]:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    subprocess.run(
        [*made, "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    (folder / "snippets").mkdir()
    shutil.copy(DEPLOY / "nginx" / "proxy.conf", folder / "snippets" / "fathom-proxy.conf")
    text = (DEPLOY / "nginx" / f"{kind}.conf").read_text("utf-8")
    text = text.replace(f"listen 80;\n    listen [::]:80;\n    server_name {kind}.example.org", _plain(folder))
    text = re.sub(r"listen \[::\]:443.*\n", "", text)
    replaced = {
        "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
        f"server_name {kind}.example.org;": "server_name localhost;",
        f"/etc/letsencrypt/live/{kind}.example.org/fullchain.pem": str(certificate),
        f"/etc/letsencrypt/live/{kind}.example.org/privkey.pem": str(key),
        "server 127.0.0.1:8000;" if kind == "board" else "server 127.0.0.1:8100;": f"server {upstream};",
    }
    for old, new in replaced.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text, "utf-8")
    temporary = "".join(
        f"{one}_temp_path {folder}/{one};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; worker_processes 1; error_log stderr;\n"
        f"events {{ worker_connections 256; }}\nhttp {{ access_log off; {temporary}\ninclude site.conf; }}\n",
        "utf-8",
    )
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    return command, dict(os.environ), certificate


def _plain(folder: Path) -> str:
    """The server that redirects to HTTPS, at a socket instead of port 80."""
    return f"listen unix:{folder}/plain.socket;\n    server_name plain.invalid"


def _caddy(program: str, kind: str, upstream: str, port: int, folder: Path) -> tuple[list[str], dict[str, str], Path]:
    # Certificates of Caddy's own authority in place of those of Let's Encrypt.
    local = "admin off\nlocal_certs\nskip_install_trust\nauto_https disable_redirects\nlog {\nlevel WARN\n}"
    text = (DEPLOY / "caddy" / "Caddyfile").read_text("utf-8")
    for old, new in {
        "email {$FATHOM_ACME_EMAIL:admin@example.org}": local,
        "import *.caddy": f"import {DEPLOY}/caddy/{kind}.caddy",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "Caddyfile").write_text(text, "utf-8")
    variables = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        f"FATHOM_{kind.upper()}_SITE": f"https://localhost:{port}",
        f"FATHOM_{kind.upper()}_UPSTREAM": upstream,
    }
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    root = folder / "data" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    return command, {**os.environ, **variables}, root


def free_port() -> int:
    """A port of the loopback that was free just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _shakes_hands(front: Proxy) -> bool:
    """Whether it has its certificate; Caddy listens before."""
    try:
        with socket.create_connection(("localhost", front.port)) as connection:
            front.context.wrap_socket(connection, server_hostname="localhost").close()
        return True
    except OSError:
        return False
