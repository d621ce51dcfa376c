"""The files of ``deploy`` agree with the servers and with each other, and hold what their own programs check."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from proxies import DEPLOY

from fathom.board.serve.limits import Limits
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import listed, make_token
from fathom.server.listening import GRACE_SECONDS, STOP_SECONDS
from fathom.studio.web.receiving import MOST_OF_ALL
from processes import MAIN, start_program

MIB = 1 << 20
UNITS = ("fathom-board.service", "fathom-studio.service", "fathom-backup@.service")
FATHOM = "import sys; from fathom.cli import main; main()"


def text_of(path: str) -> str:
    return (DEPLOY / path).read_text("utf-8")


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text_of("compose.yaml"))
    return found


@pytest.mark.parametrize(("kind", "most"), [("board", Limits().bundle_bytes), ("studio", MOST_OF_ALL)])
def test_proxies_let_through_what_the_servers_take_and_little_more(kind: str, most: int) -> None:
    nginx = re.findall(r"client_max_body_size (\d+)m;", text_of(f"nginx/{kind}.conf"))
    caddy = re.findall(r"max_size (\d+)MiB", text_of(f"caddy/{kind}.caddy"))
    assert len(nginx) == len(caddy) == 1
    for found in (nginx[0], caddy[0]):
        assert most < int(found) * MIB <= most + MIB


def test_proxies_wait_for_the_longest_check() -> None:
    most = 2 * Limits().check_seconds
    assert int(re.findall(r"proxy_read_timeout (\d+)s", text_of("nginx/board.conf"))[0]) > most
    assert int(re.findall(r"response_header_timeout (\d+)s", text_of("caddy/board.caddy"))[0]) > most


def test_service_managers_wait_until_running_requests_are_done() -> None:
    assert GRACE_SECONDS < STOP_SECONDS
    for unit in UNITS[:2]:
        assert int(re.findall(r"TimeoutStopSec=(\d+)", text_of(f"systemd/{unit}"))[0]) > STOP_SECONDS
    for name in ("board", "studio"):
        assert int(compose()["services"][name]["stop_grace_period"].removesuffix("s")) > STOP_SECONDS


def test_the_image_has_the_tools_of_its_database_and_pinned_versions() -> None:
    dockerfile = text_of("Dockerfile")
    major = re.findall(r"ARG POSTGRES=(\d+)", dockerfile)[0]
    services = compose()["services"]
    assert services["database"]["image"].startswith(f"postgres:{major}.")
    assert re.search(r"ARG PYTHON=3\.\d+\.\d+-slim-\w+\n", dockerfile)
    for service in services.values():
        assert re.search(r":(local|\d+\.\d+.*)$", service["image"])
    assert "USER 10001" in dockerfile
    assert "HEALTHCHECK" in dockerfile


def test_containers_have_no_rights_and_passwords_are_files() -> None:
    services = compose()["services"]
    for name in ("board", "studio", "caddy"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
    whole = text_of("compose.yaml") + text_of(".env.example")
    assert not re.search(r"(?i)password['\"]?\s*[:=]\s*['\"]?\w", whole.replace("database_password", ""))
    # Only the proxy can be reached from outside; it alone is believed, from the address that it has.
    assert [name for name, one in services.items() if "ports" in one] == ["caddy"]
    address = services["caddy"]["networks"]["front"]["ipv4_address"]
    for name in ("board", "studio"):
        assert re.findall(r"--proxy (\S+)", services[name]["command"]) == [address]


def test_every_variable_of_compose_is_in_the_example() -> None:
    wanted = set(re.findall(r"\$\{(\w+)", text_of("compose.yaml")))
    assert wanted == set(re.findall(r"^(\w+)=", text_of(".env.example"), re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "source"),
    [
        (kind, source)
        for kind in ("board", "studio")
        for source in (f"systemd/fathom-{kind}.service", "compose.yaml")
    ],
)  # fmt: skip
def test_the_commands_of_units_and_containers_are_valid(
    command: str, source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command line is read by fathom itself; the server does not start, because the store is no folder."""
    text = text_of(source)
    line = (
        compose()["services"][command]["command"]
        if source == "compose.yaml"
        else re.findall(r"ExecStart=/opt/fathom/bin/fathom (.*)", text)[0]
    )
    line = re.sub(r"\$\{BOARD_OPTIONS[^}]*\}|\$FATHOM_BOARD_OPTIONS", "--any-suite", line)
    line = line.replace("$FATHOM_STUDIO_OPTIONS", "").replace("0.0.0.0", "127.0.0.1")
    line = re.sub(r"--(metrics \S+:|port )\d+", r"--\g<1>0", line).replace("/var/lib", str(tmp_path))
    (tmp_path / "file").write_text("no folder", "utf-8")
    environment = {**os.environ, f"FATHOM_{command.upper()}_STORE": str(tmp_path / "file" / "store")}
    end = start_program(MAIN, *line.split(), env=environment)
    said = end.communicate()[1].decode()
    assert end.returncode == 2
    assert ("cannot be made" if command == "board" else "there is no studio") in said


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_units_are_valid_and_confined(unit: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine (Debian: apt-get install systemd)")
    # What the units start is not installed here; the credential of the drop-in is checked with them.
    text = text_of(f"systemd/{unit}")
    text = re.sub(r"/opt/fathom/(bin/fathom|share/backup)", "/bin/true", text)
    path = tmp_path / unit.replace("@", "@board")
    path.write_text(text, "utf-8")
    dropins = tmp_path / f"{path.name}.d"
    dropins.mkdir()
    shutil.copy(DEPLOY / "systemd" / "password.conf", dropins)
    said = _analyze("verify", "--man=no", str(path))
    assert said.stdout + said.stderr == ""
    score = _analyze("security", "--offline=true", "--threshold=20", str(path))
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d)", score.stdout)
    assert found
    assert float(found[1]) <= 1.5


def _analyze(*words: str) -> subprocess.CompletedProcess[str]:
    end = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    assert end.returncode == 0, end.stdout + end.stderr
    return end


@pytest.mark.slow
def test_the_timer_runs_every_day(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine (Debian: apt-get install systemd)")
    when = re.findall(r"OnCalendar=(.*)", text_of("systemd/fathom-backup@.timer"))[0]
    days = re.findall(r": \w+ (\d{4}-\d\d-\d\d) 03:15:00", _analyze("calendar", "--iterations=3", when).stdout)
    assert len(set(days)) == 3, days


# Backups


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, str]:
    """The environment of the script for a store with a token."""
    store = tmp_path / "store"
    with closing(Store(str(store))) as opened:
        make_token(opened, "ann", "submit")
    program = tmp_path / "fathom"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{FATHOM}" "$@"\n', "utf-8")
    program.chmod(0o755)
    return {**os.environ, "FATHOM": str(program), "FATHOM_BOARD_STORE": str(store), "FATHOM_TEXTFILES": str(tmp_path)}


def back_up(folder: Path, environment: dict[str, str], *kept: str) -> subprocess.CompletedProcess[str]:
    command = [str(DEPLOY / "backup"), "board", str(folder), *kept]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.slow
def test_backups_are_verified_and_old_ones_removed(tmp_path: Path, saved: dict[str, str]) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for day in range(1, 6):
        for ending in ("", ".sha256"):
            (folder / f"board-2026010{day}T031500Z.backup{ending}").write_text("old", "utf-8")
    (folder / "studio-20260101T031500Z.backup").write_text("another's", "utf-8")
    end = back_up(folder, saved, "3")
    assert end.returncode == 0, end.stderr
    names = sorted(path.name for path in folder.glob("board-*"))
    assert [name[:14] for name in names[:4:2]] == ["board-20260104", "board-20260105"]
    assert len(names) == 6
    assert (folder / "studio-20260101T031500Z.backup").exists()
    assert not list(folder.glob(".rehearsal*"))
    assert {path.stat().st_mode & 0o077 for path in folder.glob(names[-2])} == {0}
    metric = re.findall(r'^fathom_backup_timestamp_seconds\{kind="board"\} (\d+)$', _textfile(tmp_path), re.MULTILINE)
    assert time.time() - int(metric[0]) < 300
    # What it kept is the store.
    restored = tmp_path / "restored"
    newest = folder / names[-2]
    command = [saved["FATHOM"], "board", "restore", str(newest), "--store", str(restored)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    with closing(Store(str(restored))) as opened:
        assert [one.name for one in listed(opened)] == ["ann"]


def _textfile(folder: Path) -> str:
    return (folder / "fathom_backup_board.prom").read_text("utf-8")


@pytest.mark.slow
def test_a_failed_backup_removes_nothing_and_says_so(tmp_path: Path, saved: dict[str, str]) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    old = folder / "board-20260101T031500Z.backup"
    old.write_text("old", "utf-8")
    damaged = tmp_path / "store" / "board.sqlite"
    damaged.write_bytes(b"no database" * 1000)
    end = back_up(folder, saved, "1")
    assert end.returncode == 2
    assert "fathom:" in end.stderr
    assert [path.name for path in folder.glob("board-*")] == [old.name]
    assert not (tmp_path / "fathom_backup_board.prom").exists()


@pytest.mark.parametrize("words", [("0",), ("-1",), ("many",)])
def test_a_backup_keeps_at_least_one(tmp_path: Path, saved: dict[str, str], words: tuple[str, ...]) -> None:
    end = back_up(tmp_path / "backups", saved, *words)
    assert end.returncode == 2
    assert "1 or more" in end.stderr


@pytest.mark.slow
def test_the_script_is_clean() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("there is no shellcheck on this machine (Debian: apt-get install shellcheck)")
    end = subprocess.run(["shellcheck", str(DEPLOY / "backup")], capture_output=True, text=True, check=False)
    assert (end.returncode, end.stdout) == (0, "")


@pytest.mark.slow
def test_the_caddyfile_is_valid(tmp_path: Path) -> None:
    if shutil.which("caddy") is None:
        pytest.skip("there is no caddy on this machine (Debian: apt-get install caddy)")
    config = DEPLOY / "caddy" / "Caddyfile"
    environment = {**os.environ, "HOME": str(tmp_path), "FATHOM_ACME_EMAIL": "admin@example.org"}
    command = ["caddy", "adapt", "--config", str(config), "--adapter", "caddyfile"]
    end = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert end.returncode == 0, end.stderr
    for name in ("board.example.org", "studio.example.org", "admin@example.org"):
        assert name in end.stdout


def test_what_the_pages_say_of_the_files_is_there() -> None:
    """Files, units, alerts and numbers that the pages name are those of ``deploy``."""
    pages = "".join(
        (DEPLOY.parent / "docs" / "how-to" / f"{name}.md").read_text("utf-8") for name in ("deploy", "operate")
    )
    for path in re.findall(r"\bdeploy/[\w./@-]*\w", pages):
        assert (DEPLOY.parent / path).exists(), path
    rules = yaml.safe_load(text_of("prometheus/rules.yaml"))["groups"][0]["rules"]
    alerts = {rule["alert"] for rule in rules}
    assert set(re.findall(r"`(Fathom[A-Z]\w+)`", pages)) == alerts
    units = {path.name for path in (DEPLOY / "systemd").iterdir()}
    for unit in re.findall(r"\bfathom-[\w@-]+\.(?:service|timer)", pages):
        assert unit.replace("@board", "@").replace("@studio", "@") in units, unit
    named = ("backup", "compose.yaml", "systemd/password.conf", "caddy/Caddyfile")
    for variable in re.findall(r"\bFATHOM_\w+", pages):
        assert any(variable in text_of(name) for name in named), variable
