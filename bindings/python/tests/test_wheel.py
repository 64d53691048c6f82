"""What a stranger gets who installs the wheel: two commands, and a package that needs nothing else."""

import os
import subprocess
import sys
import venv

import pytest

import metroon

# METROON_WHEEL names the wheel: `cargo xtask test` says which it built.
WHEEL = os.environ.get("METROON_WHEEL")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The scripts of an environment in which there is nothing but the wheel."""
    missing = "METROON_WHEEL does not name the wheel: `cargo xtask test` does"
    if not WHEEL and os.environ.get("CI") not in ("true", "1"):
        pytest.skip(missing)
    assert WHEEL, missing
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    install = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*install, "--disable-pip-version-check", "--no-index", WHEEL], check=True, timeout=300)
    return folder / "bin"


@pytest.fixture
def run(scripts, tmp_path):
    (tmp_path / "program.metta").write_text('(= (double $x) (* 2 $x))\n!(double 21)\n!(println! "said")\n!(superpose (a b))\n')
    (tmp_path / "wrong.metta").write_text("!(+ 1 2)\n!(+ 1")
    (tmp_path / "python.metta").write_text("!(py-dot (py-atom math) pi)\n")

    def run(name, *words):
        environment = {"PATH": "", "HOME": str(tmp_path)}
        return subprocess.run(
            [str(scripts / name), *words], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120
        )

    return run


def test_the_command_metroon_runs(run):
    assert run("metroon", "--version").stdout == f"metroon {metroon.__version__}\n"
    found = run("metroon", "program.metta")
    assert (found.stdout, found.returncode) == ("[42]\nsaid\n[()]\n[a, b]\n", 0), found.stderr
    found = run("metroon", "run", "-e", "!(+ 1 2)", "--record", "trip.tape")
    assert (found.stdout, found.returncode) == ("[3]\n", 0), found.stderr
    assert run("metroon", "replay", "trip.tape").returncode == 0
    found = run("metroon", "wrong.metta")
    assert found.returncode == 3 and "wrong.metta:2" in found.stderr


def test_the_command_metta_runs(run):
    assert run("metta", "--version").stdout == f"{metroon.__version__}\n"
    found = run("metta", "program.metta")
    assert (found.stdout, found.returncode) == ("said\n[42]\n[()]\n[a, b]\n", 0), found.stderr
    assert run("metta", "python.metta").stdout == "[3.141592653589793]\n"
    found = run("metta", "wrong.metta")
    assert found.returncode == 1 and "Unexpected end of expression" in found.stderr
    assert run("metta").returncode == 2


def test_the_module_is_the_command(run):
    found = run("python", "-m", "metroon", "run", "-e", "!(+ 1 2)")
    assert (found.stdout, found.returncode) == ("[3]\n", 0), found.stderr


def test_the_package_needs_nothing_else(run):
    program = "import metroon; kb = metroon.KnowledgeBase(); kb.add('(a 1)'); print(kb.query('(a $x)').to_dicts())"
    found = run("python", "-c", program)
    assert found.stdout == "[{'x': 1}]\n", found.stderr
    program = "import metroon\nwith metroon.cassette('none.cassette', allow_empty=True): print('recorded')"
    found = run("python", "-c", program)
    assert found.stdout == "recorded\n", found.stderr
