"""Tests in another order: files, and the tests within each; what is made for a file is still made once.

RANDOM_ORDER=7 PYTHONPATH=performance pytest -p random_order    # 7 seeds the order, for all workers
"""

from __future__ import annotations

import os
from itertools import groupby
from random import Random

import pytest

SEED = os.environ.get("RANDOM_ORDER", "0")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle them."""
    rng = Random(SEED)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    rng.shuffle(files)
    for tests in files:
        rng.shuffle(tests)
    items[:] = [test for tests in files for test in tests]


def pytest_report_header() -> str:
    """Name the seed."""
    return f"order of tests: RANDOM_ORDER={SEED}"
