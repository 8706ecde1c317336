"""What must hold of the sources themselves: format, lints, layers, generated files."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "core").exists(), reason="needs the source tree")


def run(*command):
    env = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_cpp_is_formatted():
    files = [str(p) for kind in ("*.h", "*.cpp", "*.c") for p in sorted((ROOT / "core").rglob(kind))]
    run("clang-format", "--dry-run", "-Werror", *files)


def test_python_is_formatted_and_clean():
    run("ruff", "check", "-q", ".")
    run("ruff", "format", "-q", "--check", ".")


@pytest.mark.parametrize("tool", ["check_layers.py", "check_typed_ops.py"])
def test_structure(tool):
    run(sys.executable, f"tools/{tool}")


@pytest.mark.parametrize("tool", ["gen_stubs.py", "gen_reference.py", "gen_cpp.py"])
def test_generated_files_are_fresh(tool):
    run(sys.executable, f"tools/{tool}", "--check")


def test_readme_and_ci_agree():
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"<!-- (demo|test) -->\n```sh\n(.+)\n```", readme)
    assert [name for name, _ in commands] == ["demo", "test"]
    for _, command in commands:
        assert command.startswith("python3 -m venv .venv && ") and "\n" not in command


def test_links_in_the_documentation():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
