"""Threads: the number of them changes no result; Python threads and forked processes may compute."""

import os
import threading

import pytest

import wisp
from tests import fresh

LARGE = {
    "sum": lambda x, y: x.sum(),
    "sum_rows": lambda x, y: x.sum(1),
    "sum_columns": lambda x, y: x.sum(0),
    "mean": lambda x, y: x.mean(),
    "prod": lambda x, y: (x * 1e-3 + 1).prod(),
    "var": lambda x, y: x.var(0),
    "norm": lambda x, y: x.norm(),
    "max": lambda x, y: x.max(1)[0],
    "argmax": lambda x, y: x.argmax(0),
    "cumsum": lambda x, y: x.flatten().cumsum(0),
    "softmax": lambda x, y: x.softmax(1),
    "log_softmax": lambda x, y: x.log_softmax(0),
    "logsumexp": lambda x, y: x.logsumexp(1),
    "exp": lambda x, y: x.exp(),
    "add": lambda x, y: x + y.t(),
    "sort": lambda x, y: x.sort(0)[1],
    "topk": lambda x, y: x.topk(5)[0],
    "matmul": lambda x, y: x @ y,
    "index_add": lambda x, y: wisp.zeros(7, 512).index_add(0, wisp.arange(512) % 7, x),
    "scatter_add": lambda x, y: wisp.zeros(7, 512).scatter_add(
        0, wisp.arange(512).mul(5).remainder(7)[:, None].expand(512, 512), x
    ),
    "index": lambda x, y: x[wisp.arange(512).flip(0), :],
    "masked_select": lambda x, y: x[x > 0],
    "nonzero": lambda x, y: (x > 0).nonzero(),
    "median": lambda x, y: x.median(),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_results_do_not_depend_on_the_number_of_threads(name, dtype):
    if name == "matmul" and not hasattr(wisp, "matmul"):
        pytest.skip("no matmul yet")
    x, y = (wisp.randn(512, 512).to(getattr(wisp, dtype)) for _ in range(2))
    if name in ("index_add", "scatter_add"):
        x = x.float()
    wisp.set_num_threads(1)
    want = LARGE[name](x, y)
    for threads in (2, 3, 8):
        wisp.set_num_threads(threads)
        assert LARGE[name](x, y).equal(want)


def test_gradients_do_not_depend_on_the_number_of_threads():
    x = wisp.randn(400, 300)
    grads = []
    for threads in (1, 2, 5):
        wisp.set_num_threads(threads)
        leaf = x.clone().requires_grad_()
        (leaf.softmax(1).log() * leaf.cumsum(0).tanh()).sum().backward()
        grads.append(leaf.grad)
    assert grads[0].equal(grads[1]) and grads[0].equal(grads[2])


def test_validation():
    for bad in (0, -1):
        with pytest.raises((RuntimeError, ValueError)):
            wisp.set_num_threads(bad)
    for bad in ("a", 1.5, None):
        with pytest.raises((TypeError, RuntimeError)):
            wisp.set_num_threads(bad)
    wisp.set_num_threads(3)
    assert wisp.get_num_threads() == 3
    assert wisp.get_num_interop_threads() >= 1


def work(seed, out):
    g = wisp.Generator().manual_seed(seed)
    x = wisp.randn(200, 300, generator=g).requires_grad_()
    for _ in range(5):
        y = (x.exp().sum(1) * x.softmax(1).amax(1)).sum()
        (x.grad,) = wisp.autograd.grad(y, x)
        x = (x - 1e-3 * x.grad).detach().requires_grad_()
    out[seed] = x.detach()


def test_concurrent_threads():
    """Several Python threads compute and differentiate at the same time."""
    together, alone = {}, {}
    threads = [threading.Thread(target=work, args=(seed, together)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for seed in range(8):
        work(seed, alone)
        assert together[seed].equal(alone[seed])


def test_grad_mode_is_per_thread():
    seen = {}
    with wisp.no_grad():
        t = threading.Thread(target=lambda: seen.update(inside=wisp.is_grad_enabled()))
        t.start()
        t.join()
        assert not wisp.is_grad_enabled()
    assert seen["inside"]


def test_one_tensor_read_by_many():
    x = wisp.randn(100_000)
    want = x.sort()[0]
    results = []
    threads = [threading.Thread(target=lambda: results.append(x.sort()[0])) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 6 and all(r.equal(want) for r in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    """A child computes after the parent used its threads, and so does the parent afterwards."""
    code = """
import os, sys, wisp
wisp.set_num_threads(4)
x = wisp.arange(1_000_000.)
want = x.sum()
pid = os.fork()
if pid == 0:
    ok = x.sum().equal(want) and (x * 2).sum().equal(want * 2) and x.softmax(0).sum() > 0
    y = wisp.rand(200_000, requires_grad=True)
    y.exp().sum().backward()
    os._exit(0 if ok and y.grad is not None else 1)
status = os.waitpid(pid, 0)[1]
assert status == 0, status
assert x.sum().equal(want)
"""
    fresh.python(code, timeout=60)


def test_multiprocessing_pool():
    code = """
import multiprocessing, wisp
def f(n):
    return wisp.arange(n).sum().item()
if __name__ == "__main__":
    wisp.ones(1_000_000).sum()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(f, [10, 100_000]) == [45, 4999950000]
"""
    fresh.python(code, timeout=60)


def test_the_process_ends_while_daemon_threads_compute():
    fresh.python(
        "import threading, time, wisp\n"
        "def busy():\n"
        "    while True: wisp.rand(300, 300).softmax(1)\n"
        "for _ in range(3): threading.Thread(target=busy, daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )


@pytest.mark.parametrize(
    "given,kept", [({}, "2000"), ({"GOMP_SPINCOUNT": "77"}, "77"), ({"OMP_WAIT_POLICY": "PASSIVE"}, "0")]
)
def test_threads_that_wait_spin_briefly(given, kept, monkeypatch):
    """What libgomp says itself when it is loaded. Nothing of it is left for other programs."""
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**given, "OMP_DISPLAY_ENV": "verbose"}.items():
        monkeypatch.setenv(name, value)
    code = "import os, sys; os.dup2(1, 2); import wisp; print(os.environ.get('GOMP_SPINCOUNT'))"
    told = fresh.python(code)
    assert f"GOMP_SPINCOUNT = '{kept}'" in told
    assert told.splitlines()[-1] == str(given.get("GOMP_SPINCOUNT"))
