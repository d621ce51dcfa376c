"""Free memory is that of the machine or of its container, without what only holds files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.extend.hf.checks import free_memory

FREE = 8 * 2**30


def made(root: Path, most: str) -> Path:
    """A machine with 8 GiB free, in a container that uses 3 GiB, two of them for files."""
    files = {
        "proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {FREE // 1024} kB\n",
        "sys/fs/cgroup/memory.max": f"{most}\n",
        "sys/fs/cgroup/memory.current": f"{3 * 2**30}\n",
        "sys/fs/cgroup/memory.stat": f"anon {2**30}\nactive_file {2**29}\ninactive_file {3 * 2**29}\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


@pytest.mark.parametrize(
    ("most", "free"), [("max", FREE), (str(16 * 2**30), FREE), (str(4 * 2**30), 3 * 2**30), (str(2**30), 0)]
)
def test_the_limit_of_a_container_counts(tmp_path: Path, most: str, free: int) -> None:
    assert free_memory(made(tmp_path, most)) == free


def test_a_machine_without_limits_has_what_is_available(tmp_path: Path) -> None:
    root = made(tmp_path, "max")
    (root / "sys/fs/cgroup/memory.stat").unlink()
    assert free_memory(root) == FREE
