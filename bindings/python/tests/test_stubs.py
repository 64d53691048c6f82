"""The stubs say what the module is."""

import subprocess
import sys

import pytest


def test_the_stubs_agree_with_the_module(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "metroon._engine", "--ignore-disjoint-bases"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
