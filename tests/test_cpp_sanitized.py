"""Programs built from the package with AddressSanitizer and UndefinedBehaviorSanitizer: whatever they notice ends the
program with an error, leaks at its end too. The headers are checked with the program, the library is as it was installed:
tools/sanitize.sh builds that with sanitizers."""

import pytest

import wisp
from tests.cpp_build import PROGRAMS, SANITIZED, attempt, compiled, compiled_c, run
from tests.test_cpp_api import layer_inputs, write_checkpoint, write_mnist
from tests.test_cpp_jit import ForC, models, net, save_model

WRONG = """
#include <wisp/wisp.h>
int main(int count, char**) {
  auto x = wisp::ones({3});
  float* copy = new float[3];
  for (int i = 0; i < 3; ++i) copy[i] = x.data_ptr<float>()[i];
  const float sum = copy[0] + copy[count == 2 ? 3 : 2];
  if (count != 3) delete[] copy;
  return sum != 2;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sanitized")


def built(source, folder, **settings):
    return compiled(source, folder / source.stem, options=SANITIZED, **settings)


@pytest.fixture(scope="module")
def checks(folder):
    return built(PROGRAMS / "checks.cpp", folder)


def test_mistakes_are_noticed(folder):
    """Of a program, or the others here would prove nothing."""
    source = folder / "wrong.cpp"
    source.write_text(WRONG)
    program = built(source, folder)
    assert attempt(program).returncode == 0
    assert "heap-buffer-overflow" in attempt(program, "beyond").stderr
    assert "detected memory leaks" in attempt(program, "without", "delete").stderr


@pytest.mark.parametrize("part", ["tensors", "training", "errors", "threads", "printing"])
def test_front_end(checks, part):
    run(checks, part)


def test_layers_and_optimizers(checks, tmp_path):
    wisp.save(layer_inputs(), tmp_path / "inputs.pt")
    run(checks, "layers", tmp_path)
    run(checks, "optimizers", tmp_path)


def test_data_loader(checks, tmp_path):
    write_mnist(tmp_path, "t10k", 20)
    run(checks, "data", tmp_path)


def test_files(checks, tmp_path):
    write_checkpoint(tmp_path)
    run(checks, "files", tmp_path)
    good = (tmp_path / "tree.pt").read_bytes()
    (tmp_path / "cut.pt").write_bytes(good[: len(good) // 2])
    assert run(checks, "damaged", tmp_path / "cut.pt") == ""


def test_compiled_models(folder, tmp_path):
    program = built(PROGRAMS / "jit.cpp", folder, torch=True)
    for name, (model, inputs) in models().items():
        save_model(tmp_path / name, model, inputs)
        run(program, "run", tmp_path / name)
    wisp.jit.script(net()).save(tmp_path / "net.pt")
    run(program, "members", tmp_path / "net.pt")
    run(program, "train", tmp_path / "net.pt", tmp_path / "state.pt")
    assert run(program, "threads", tmp_path / "conv") == "1111"


def test_c(tmp_path):
    program = compiled_c(PROGRAMS / "c_api.c", tmp_path / "c_api", options=SANITIZED)
    wisp.jit.script(ForC()).save(tmp_path / "model.pt")
    run(program, tmp_path / "model.pt", cwd=tmp_path)
