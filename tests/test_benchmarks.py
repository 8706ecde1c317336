"""The workloads of the benchmarks run, compute the same as PyTorch, know their work, and are reported."""

import json
import math
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import wisp
from tests.benchmark_modules import FOLDER, modules
from tests.oracle import HAS_TORCH

workloads, models, process, report, plots, networks = modules(
    "workloads", "workload_models", "workload_process", "workload_report", "plots", "network_cases"
)


def losses(T, case, steps=2):
    workload = workloads.WORKLOADS[case]
    sizes = {**workload.tiny, **(workload.rival if T is not wisp else {})}
    step = workload.build(T, **sizes)
    return [process.first_number(step()) for _ in range(steps)]


@pytest.mark.parametrize("case", workloads.WORKLOADS)
def test_a_workload_runs(case):
    found = losses(wisp, case)
    assert all(map(math.isfinite, found))
    if HAS_TORCH:
        import torch

        assert found == pytest.approx(losses(torch, case), rel=1e-4)


@pytest.mark.parametrize("case", networks.CASES)
def test_a_network_learns(case):
    model, loss = networks.CASES[case](wisp)
    found = loss()
    found.backward()
    assert math.isfinite(found.item())
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
@pytest.mark.parametrize("case", [case for case in networks.CASES if case != "variational autoencoder"])  # which draws
def test_a_network_computes_what_it_does_in_pytorch(case):
    import torch

    (model, loss), (theirs, their_loss) = (networks.CASES[case](T) for T in (wisp, torch))
    model.load_state_dict({name: wisp.from_numpy(value.numpy()) for name, value in theirs.state_dict().items()})
    model.eval(), theirs.eval()
    assert loss().item() == pytest.approx(their_loss().item(), rel=1e-4)


# --- work


def test_work_of_known_networks():
    case = "inference: ResNet-50"
    found = workloads.work(case, workloads.WORKLOADS[case].sizes)
    assert found["flops"] == pytest.approx(2 * 4.09e9, rel=1e-2)
    assert found["bytes"] == pytest.approx(4 * 25.5e6, rel=1e-2)
    sizes = {"rows": 2, "columns": 3, "operator": "cross entropy"}
    assert workloads.work("cross entropy, 2,500 rows of 4,000", sizes) == {"flops": 0, "bytes": 4 * 3 * 6}


@pytest.mark.parametrize("case", ["MLP 4-64-64-2, batch 1", "MNIST CNN, batch 64", "ResNet-50, batch 16"])
def test_work_is_what_pytorch_counts(case):
    if not HAS_TORCH:
        pytest.skip("needs PyTorch")
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    workload = workloads.WORKLOADS[case]
    step = workload.build(torch, **workload.tiny)
    with FlopCounterMode(display=False) as counter:
        step()
    assert workloads.work(case, workload.tiny)["flops"] == counter.get_total_flops()


@pytest.mark.parametrize(
    ("case", "model", "apart"),
    [
        ("MLP 4-64-64-2, batch 1", models.mlp, ("batch",)),
        ("MNIST CNN, batch 64", models.digits_cnn, ("batch",)),
        ("ResNet-101, batch 8", models.resnet, ("batch", "image")),
        ("LSTM language model, 200 wide", models.lstm_language_model, ("batch", "length")),
        ("GPT 6 x 384, batch 8", models.gpt, ("batch",)),
    ],
)
def test_products_know_all_weights(case, model, apart):
    workload = workloads.WORKLOADS[case]
    built = model(wisp, **{key: size for key, size in workload.tiny.items() if key not in apart})
    weights = sum(p.numel() for p in built.parameters() if p.dim() > 1)
    assert sum(p.inner * p.columns for p in workload.products(**workload.tiny) if p.fetched) == weights


# --- reports


def reports(best, memory, libraries):
    return {name: {"best": best * (i + 1), "memory": memory * (i + 1)} for i, name in enumerate(libraries)}


def made_up(libraries=("wisp", "torch")):
    machine = {"processor": "a <processor>", "cores": 2, "threads": 2, "date": "2026-01-01", "flops": 1e11}
    limit = {"flops": 1e6, "bytes": 8e6, "products": 1e-5, "traffic": 1e-4}
    points = [{"size": n, **reports(1e-5 * n, (n - 1) << 20, libraries)} for n in (1, 10, 100)]
    return {
        "machine": {**machine, "copies": {"1": 1e11}, "versions": dict.fromkeys(libraries, "1.2")},
        "cases": {"a & b": {**reports(2e-4, 1 << 20, libraries), "limit": limit, "threads": 2}},
        "growth": {"c by d": {"axis": "d", "points": points}},
    }


def test_the_table():
    text = report.markdown(made_up())
    assert "| a & b | 200 µs | 400 µs | 2.00 | 2.00 | 100 µs (traffic) | 50% |" in text
    assert "| 10 | 100 µs | 200 µs | 2.00 | 9 MB | 18 MB |" in text
    assert "100 GFLOP/s, copies 100 (1 MB) GB/s" in text
    assert "| a & b | 200 µs | - | - | - | 100 µs (traffic) | 50% |" in report.markdown(made_up(["wisp"]))


@pytest.mark.parametrize("libraries", [("wisp", "torch"), ("wisp",), ()])
def test_the_plots(libraries):
    results = made_up(libraries) if libraries else {"cases": {}, "growth": {}}
    bars = ElementTree.fromstring(plots.ratios(results["cases"]))
    curves = ElementTree.fromstring(plots.growth(results["growth"]))
    name = "{http://www.w3.org/2000/svg}"
    assert len(bars.findall(f"{name}rect")) == 1 + (len(libraries) == 2)
    assert len(curves.findall(f".//{name}circle")) == 2 * 3 * len(libraries)
    for place in [*bars.iter(f"{name}text"), *curves.iter(f"{name}text")]:
        assert all(math.isfinite(float(place.get(axis))) for axis in "xy")


def test_ticks_are_few_and_round():
    assert plots.ticks(1, 10) == [1, 2, 5, 10]
    assert plots.ticks(0.5, 2e5) == [1, 100, 10_000]
    assert plots.short(2e-3, plots.TIME_UNITS) == "2 ms"
    assert plots.short(300 << 20, plots.MEMORY_UNITS) == "300 MB"


# --- the command


def run(folder, *options):
    command = [sys.executable, str(FOLDER / "run_workloads.py"), "--libraries", "wisp", *options]
    files = ["--json", str(folder / "found.json"), "--markdown", str(folder / "found.md")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([*command, *files], env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, json.loads((folder / "found.json").read_text())


def test_the_command(tmp_path):
    quick = ("--quick", "--seconds", "0.1", "--threads", "1")
    printed, results = run(tmp_path, *quick, "--all", "--only", "^MLP 4|^MLP by width")
    assert "MLP by width: 16" in printed
    assert list(results["cases"]) == ["MLP 4-64-64-2, batch 1"]
    row = results["cases"]["MLP 4-64-64-2, batch 1"]
    assert row["wisp"]["best"] > row["limit"]["products"]
    assert row["wisp"]["memory"] > 0
    assert [point["size"] for point in results["growth"]["MLP by width"]["points"]] == [16, 64, 256, 1024]
    assert results["machine"]["flops"] > 1e8
    assert {path.name for path in tmp_path.iterdir()} == {"found.json", "found.md", "workloads.svg", "growth.svg"}

    (tmp_path / "found.md").unlink()
    _, again = run(tmp_path, "--report")
    assert again == results
    assert "MLP 4-64-64-2" in (tmp_path / "found.md").read_text()


# --- chains


def test_chains_are_measured_in_a_process_of_their_own():
    (fusion,) = modules("fusion")
    eager, compiled = (fusion.run("wisp", way, 1000, 0.001) for way in (False, True))
    assert list(eager) == list(compiled) and "gelu(x + bias)" in eager
    assert all(times["best"] > 0 and times["first"] > 0 for times in [*eager.values(), *compiled.values()])
    assert fusion.run("no_such_library", False, 1000, 0.001) is None


def test_functions_in_three_ways():
    ways, tables = modules("ways", "result_tables")
    cases = ("chain, 100", "branch by values, 64k", "LayerNorm step, 512 x 256", "momentum by hand")
    results = {case: ways.measure(ways.CASES[case], 0.01) for case in cases}
    assert all(list(best) == list(ways.WAYS) and min(best.values()) > 0 for best in results.values())
    assert all(f"| {case} |" in tables.steps(results) for case in cases)


# --- tables


def test_the_committed_tables_are_those_of_the_committed_figures():
    (tables,) = modules("result_tables")
    assert (FOLDER / "results.md").read_text() == tables.markdown()
