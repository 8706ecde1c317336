"""Checkpoint: a run that was stopped goes on with the same bits."""

import doctest
import importlib
import os
import pathlib
import random

import numpy as np
import pytest

import wisp
from tests import fresh
from wisp import _checkpoint, nn

RUN = """
import hashlib, random, sys
import numpy as np
import wisp
from wisp import nn

def run(folder, until, seed, optimizer_name, numpy_too):
    wisp.manual_seed(seed); random.seed(seed); np.random.seed(seed)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
    optimizer = getattr(wisp.optim, optimizer_name)(model.parameters(), lr=0.05)
    scheduler = wisp.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    checkpoint = wisp.Checkpoint(folder, model=model, optimizer=optimizer, scheduler=scheduler)
    first = checkpoint.restore() or 0
    for step in range(first, until):
        x = wisp.randn(8, 4) * random.random() + float(np.random.normal())
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        scheduler.step()
        checkpoint.save(step + 1, x=x)
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + bytes(memoryview(tensor.contiguous())))
    for state in optimizer.state_dict()["state"].values():
        for value in state.values():
            digest.update(repr(value.tolist() if isinstance(value, wisp.Tensor) else value).encode())
    digest.update(repr((scheduler.get_last_lr(), wisp.rand(2).tolist(), random.random(), np.random.normal())).encode())
    print(digest.hexdigest())

run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], True)
"""


def run(folder, until, seed=0, optimizer="Adam"):
    code = f"import sys; sys.argv = ['run', {str(folder)!r}, '{until}', '{seed}', {optimizer!r}]\n{RUN}"
    return fresh.python(code).strip()


@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
def test_a_stopped_run_goes_on_with_the_same_bits(tmp_path, optimizer):
    straight = run(tmp_path / "straight", 10, optimizer=optimizer)
    run(tmp_path / "halves", 5, optimizer=optimizer)
    assert run(tmp_path / "halves", 10, seed=99, optimizer=optimizer) == straight
    assert run(tmp_path / "other", 10, seed=99, optimizer=optimizer) != straight


def test_the_last_ones_are_kept(tmp_path):
    checkpoint = wisp.Checkpoint(tmp_path / "new" / "folder", model=nn.Linear(1, 1), keep=2)
    assert checkpoint.latest is None and checkpoint.steps == [] and checkpoint.restore() is None
    paths = [checkpoint.save(step) for step in (10, 20, 30)]
    assert checkpoint.steps == [20, 30]
    assert checkpoint.latest == paths[-1]
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == [os.path.basename(path) for path in paths[1:]]
    assert "steps [20, 30]" in repr(checkpoint)
    everything = wisp.Checkpoint(tmp_path / "all", model=nn.Linear(1, 1), keep=None)
    for step in range(5):
        everything.save(step)
    assert everything.steps == [0, 1, 2, 3, 4]


def test_a_run_that_starts_anew_is_the_latest(tmp_path):
    checkpoint = wisp.Checkpoint(tmp_path, model=nn.Linear(1, 1), keep=2)
    for step in (100, 200, 1):
        checkpoint.save(step)
    assert checkpoint.steps == [200, 1]
    assert checkpoint.restore() == 1


def test_going_back_to_a_step(tmp_path):
    model = nn.Linear(1, 1, bias=False)
    checkpoint = wisp.Checkpoint(tmp_path, model=model)
    for step in (1, 2, 3):
        nn.init.constant_(model.weight, step)
        checkpoint.save(step, name=f"step {step}")
    assert checkpoint.restore(2) == 2
    assert model.weight.item() == 2 and checkpoint.extra == {"name": "step 2"}
    assert checkpoint.restore() == 3
    assert model.weight.item() == 3
    with pytest.raises(ValueError, match=r"no file of step 7 in .*, only of \[1, 2, 3\]"):
        checkpoint.restore(7)


def test_a_damaged_file_is_left_out(tmp_path):
    model = nn.Linear(1, 1, bias=False)
    checkpoint = wisp.Checkpoint(tmp_path, model=model)
    for step in (1, 2):
        nn.init.constant_(model.weight, step)
        path = checkpoint.save(step)
    data = bytearray(pathlib.Path(path).read_bytes())
    data[-1] ^= 1
    pathlib.Path(path).write_bytes(data)
    with pytest.warns(UserWarning, match="damaged and left out"):
        assert checkpoint.restore() == 1
    assert model.weight.item() == 1
    for name in os.listdir(tmp_path):
        os.truncate(tmp_path / name, 50)
    with pytest.warns(UserWarning), pytest.raises(wisp.serialization.FileError):
        checkpoint.restore()


def test_random_states(tmp_path):
    checkpoint = wisp.Checkpoint(tmp_path)
    checkpoint.save(0)
    drawn = wisp.rand(3).tolist(), random.random(), np.random.rand(3).tolist(), np.random.normal()
    checkpoint.restore()
    assert drawn == (wisp.rand(3).tolist(), random.random(), np.random.rand(3).tolist(), np.random.normal())


def test_numpy_is_not_imported_for_it(tmp_path):
    code = f"import sys, wisp; c = wisp.Checkpoint({str(tmp_path)!r}); c.save(1); c.restore(); print('numpy' in sys.modules)"
    assert fresh.python(code).strip() == "False"


class Counter:
    """A part of one's own."""

    def __init__(self):
        self.count = 0

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_parts_of_ones_own(tmp_path):
    counter = Counter()
    checkpoint = wisp.Checkpoint(tmp_path, counter=counter)
    counter.count = 5
    checkpoint.save(1)
    counter.count = 0
    checkpoint.restore()
    assert counter.count == 5


def test_what_cannot_be(tmp_path):
    with pytest.raises(TypeError, match=r"loader has no state_dict\(\)"):
        wisp.Checkpoint(tmp_path, loader=[1])
    with pytest.raises(ValueError, match="keep"):
        wisp.Checkpoint(tmp_path, keep=0)
    wisp.Checkpoint(tmp_path, model=nn.Linear(1, 1)).save(1)
    model = nn.Linear(1, 1)
    before = model.weight.item()
    with pytest.raises(ValueError, match="has no state of optimizer, only of model"):
        wisp.Checkpoint(tmp_path, model=model, optimizer=wisp.optim.SGD(model.parameters())).restore()
    assert model.weight.item() == before


def test_what_killed_processes_left_is_removed(tmp_path):
    old, new, other = (
        tmp_path / name
        for name in (".000001-step-1.safetensors.12.ab.tmp", ".000002-step-2.safetensors.12.cd.tmp", ".other.tmp")
    )
    for path in (old, new, other):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    wisp.Checkpoint(tmp_path).save(1)
    assert not old.exists() and new.exists() and other.exists()


@pytest.mark.parametrize("name", ["checkpoints.md", "models.md"])
def test_the_guides(name, tmp_path, monkeypatch):
    page = pathlib.Path(__file__).parents[1] / "docs" / name
    if not page.exists():
        pytest.skip("needs the source tree")
    monkeypatch.setattr(wisp.hub._folders, "_chosen", str(tmp_path))
    guide = doctest.DocTestParser().get_doctest(page.read_text().replace("```", "\n"), {}, name, str(page), 0)
    assert doctest.DocTestRunner().run(guide).failed == 0


MODULES = ("models", "models._gpt", "models.lstm", "serialization", "serialization._trust", "utils.safetensors")


@pytest.mark.parametrize("name", ["Checkpoint", "summary", *MODULES])
def test_the_examples_in_docstrings(name):
    item = importlib.import_module(f"wisp.{name}") if name in MODULES else getattr(wisp, name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(item, name, globs={"wisp": wisp}):
        runner.run(test)
    wisp.serialization.clear_safe_globals()
    assert runner.failures == 0 and runner.tries > 0


def test_files_that_another_process_removes(tmp_path, monkeypatch):
    """A run goes on and keeps its last files while somebody reads them."""
    ours, theirs = (wisp.Checkpoint(tmp_path, model=nn.Linear(2, 1), keep=1) for _ in range(2))
    ours.save(1)
    load = _checkpoint.load

    def slowly(path, **options):
        monkeypatch.setattr(_checkpoint, "load", load)
        theirs.save(2)
        return load(path, **options)

    monkeypatch.setattr(_checkpoint, "load", slowly)
    assert ours.restore() == 2

    def removed(path):
        unlink(path)
        raise FileNotFoundError(path)

    unlink = os.unlink
    monkeypatch.setattr(os, "unlink", removed)
    theirs.save(3)
    assert ours.steps == [3]
