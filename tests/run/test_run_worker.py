from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from fathom.runfile.worker import SILENCE_SECONDS, Worker, _born, is_alive, retire, this_worker


def test_a_worker_lives_until_it_retires_or_its_process_ends() -> None:
    now = time.time()
    worker = this_worker()
    assert is_alive(worker, now, now)
    retire(worker)
    assert not is_alive(worker, now, now)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
    other = replace(worker, pid=child.pid, born=_born(child.pid))
    assert is_alive(other, now, now)
    assert not is_alive(replace(other, born="another process had this number"), now, now)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(other, now, now), "a zombie, killed and not yet reaped, works no more"
    child.wait()
    assert not is_alive(other, now, now)


def test_a_worker_elsewhere_is_alive_while_it_beats() -> None:
    now = time.time()
    elsewhere = replace(this_worker(), host="another machine")
    assert is_alive(elsewhere, now - SILENCE_SECONDS / 2, now)
    assert not is_alive(elsewhere, now - 2 * SILENCE_SECONDS, now)


@pytest.mark.slow
def test_containers_with_one_host_name_are_two_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They share the machine's boot too; only their process numbers are different ones."""
    inside = ["unshare", "--fork", "--pid", "--mount-proc"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*inside, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system lets no test make a space of process numbers")
    program = (
        "import json, sys; from dataclasses import asdict; from fathom.runfile.worker import this_worker\n"
        "print(json.dumps(asdict(this_worker())), flush=True); sys.stdin.read()"
    )
    command = [*inside, sys.executable, "-c", program]
    with ExitStack() as both:  # both at once: the number of a container that is gone is given again
        workers = []
        for _ in range(2):
            container = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            both.enter_context(container)
            assert container.stdout is not None
            workers.append(Worker(**json.loads(container.stdout.readline())))
    first, second = workers
    assert first.pid == second.pid == 1  # init, of which there is one here too
    assert this_worker().host.split("/")[:2] == first.host.split("/")[:2] == second.host.split("/")[:2]
    assert len({first.host, second.host, this_worker().host}) == 3
    now = time.time()
    assert is_alive(first, now, now), "it is not looked up here, where its number is another process"
    assert not is_alive(replace(first, born=_born(1)), now - 2 * SILENCE_SECONDS, now)
