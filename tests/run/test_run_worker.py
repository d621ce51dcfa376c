from __future__ import annotations

import os
import time
from dataclasses import replace

from fathom.run.worker import SILENCE_SECONDS, _born, is_alive, retire, this_worker
from processes import start_program


def test_a_worker_lives_until_it_retires_or_its_process_ends() -> None:
    now = time.time()
    worker = this_worker()
    assert is_alive(worker, now, now)
    retire(worker)
    assert not is_alive(worker, now, now)
    child = start_program("import signal; signal.pause()", stderr=None)
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
