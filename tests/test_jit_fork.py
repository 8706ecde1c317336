"""fork() and wait() inside compiled functions."""

import io
import signal
import textwrap

import pytest

import wisp
from tests.fresh import start
from tests.in_threads import together
from wisp import Tensor, nn
from wisp.jit import Future, fork, wait

RUNS = 5


def deep(x: Tensor, w: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = (x @ w).tanh()
    return x


@wisp.jit.script
def two(x: Tensor, v: Tensor, w: Tensor):
    left = fork(deep, x, v, 4)
    right = fork(deep, x, w, n=3)
    middle = x + 1
    return wait(left) - middle, right.wait()


@wisp.jit.script
def many(xs: list[Tensor], w: Tensor):
    futures: list[Future[Tensor]] = []
    for x in xs:
        futures.append(fork(deep, x, w, 3))
    return wisp.stack([wait(f) for f in futures])


def inputs(n=64):
    return wisp.randn(n, n), wisp.randn(n, n) / 8, wisp.randn(n, n) / 8


def test_results_are_those_of_calls():
    x, v, w = inputs()
    for _ in range(RUNS):
        left, right = two(x, v, w)
        assert wisp.equal(left, deep(x, v, 4) - (x + 1)) and wisp.equal(right, deep(x, w, 3))


def test_lists_of_futures():
    xs, w = [wisp.randn(9, 40) for _ in range(7)], wisp.randn(40, 40)
    for _ in range(RUNS):
        assert wisp.equal(many(xs, w), wisp.stack([deep(x, w, 3) for x in xs]))


def test_the_graph_shows_forks():
    text = two.graph.to_text(places=False)
    assert text.count("= prim::Fork()") == 2 and text.count("prim::Wait(") == 2 and "Future(Tensor)" in text
    assert "deep(x, v, 4)" in two.code.replace("\n", "") and "Future" not in two.code


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList([nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 4)) for _ in range(4)])
        self.last = nn.Linear(30, 4)

    def forward(self, x):
        futures = [fork(net, x) for net in self.nets]
        total = self.last(x)
        for future in futures:
            total = total + wait(future)
        return total

    def plain(self, x):
        total = self.last(x)
        for net in self.nets:
            total = total + net(x)
        return total


@pytest.mark.parametrize("freeze", [False, True])
def test_modules(freeze):
    net, x = Ensemble().eval(), wisp.randn(70, 30)
    script = wisp.jit.script(net)
    if freeze:
        script = wisp.jit.freeze(script, optimize_numerics=False)
    with wisp.no_grad():
        for _ in range(RUNS):
            assert wisp.equal(script(x), net.plain(x))
            with wisp.inference_mode():
                assert script(x).is_inference()


def test_gradients_pass_through_forks():
    net, x = Ensemble(), wisp.randn(7, 30)
    wisp.jit.script(net)(x).sum().backward()
    compiled = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net.plain(x).sum().backward()
    assert all(wisp.equal(a, p.grad) for a, p in zip(compiled, net.parameters(), strict=True))


def test_files():
    file, net, x = io.BytesIO(), Ensemble().eval(), wisp.randn(3, 30)
    wisp.jit.save(wisp.jit.script(net), file)
    loaded = wisp.jit.load(io.BytesIO(file.getvalue()))
    with wisp.no_grad():
        assert wisp.equal(loaded(x), net.plain(x))


def fails(x: Tensor, n: int) -> Tensor:
    y = x @ x
    if n == 1:
        raise ValueError("no ones")
    return y


@wisp.jit.script
def failing(x: Tensor, wants: bool):
    first = fork(fails, x, 0)
    second = fork(fails, x, 1)
    fork(fails, x, 1)  # nobody waits for it
    result = wait(first) + 1
    if wants:
        result = result + wait(second)
    return result


@pytest.mark.parametrize("grad", [False, True])
def test_errors_come_out_where_they_are_waited_for(grad):
    x = wisp.randn(40, 40, requires_grad=grad)
    for _ in range(RUNS):
        assert wisp.equal(failing(x, False), x @ x + 1)
        with pytest.raises(ValueError, match="no ones") as caught:
            failing(x, True)
        text = str(caught.value)
        assert text.index("result + wait(second)") < text.index('raise ValueError("no ones")')


@wisp.jit.script
def waits_twice(x: Tensor):
    future = fork(fails, x, 1)
    count = 0
    text = wait(future)
    return text.sum() + wait(future).sum() + count


def test_futures_can_be_waited_for_again():
    @wisp.jit.script
    def twice(x: Tensor):
        future = fork(deep, x, x, 2)
        return wait(future) + wait(future)

    x = wisp.randn(5, 5)
    assert wisp.equal(twice(x), deep(x, x, 2) * 2)
    with pytest.raises(ValueError, match="no ones"):
        waits_twice(x)


def changes(x: Tensor) -> Tensor:
    x.add_(1)
    return x.sum()


@wisp.jit.script
def writes(x: Tensor):
    future = fork(changes, x)
    y = x * 2
    other = fork(deep, x, x, 1)
    x.mul_(3)
    return wait(future), y, wait(other)


@wisp.jit.script
def draws(x: Tensor):
    a = fork(wisp.rand_like, x)
    b = wisp.rand_like(x)
    return wait(a), b


@wisp.jit.script
def appends(x: Tensor):
    items = [x]
    future = fork(wisp.stack, items)
    items.append(x)
    return wait(future)


def test_what_has_effects_runs_at_once():
    x = wisp.randn(6, 6)
    kept = x.clone()
    first, second, third = writes(x)
    assert first == (kept + 1).sum() and wisp.equal(second, (kept + 1) * 2)
    assert wisp.equal(third, deep(kept + 1, kept + 1, 1))
    wisp.manual_seed(3)
    got = draws(x)
    wisp.manual_seed(3)
    assert wisp.equal(got[0], wisp.rand_like(x)) and wisp.equal(got[1], wisp.rand_like(x))
    assert appends(x).shape == (1, 6, 6)


def test_results_of_every_kind():
    def pair(x: Tensor) -> tuple[Tensor, int]:
        return x + 1, x.dim()

    @wisp.jit.script
    def unpacks(x: Tensor):
        future = fork(pair, x)
        y, n = wait(future)
        return y, n, wait(fork(pair, x))[1], fork(pair, x)

    y, n, again, future = unpacks(wisp.ones(2, 3))
    assert y.sum() == 12 and n == again == 2
    assert future[1] == 2  # what leaves compiled code has been waited for


def test_forks_inside_of_forks():
    def leaf(x: Tensor) -> Tensor:
        return x.exp()

    def tree(x: Tensor) -> Tensor:
        left, right = fork(leaf, x), fork(leaf, -x)
        return wait(left) * wait(right)

    @wisp.jit.script
    def forest(x: Tensor):
        futures = [fork(tree, x), fork(tree, x + 1), fork(tree, x + 2)]
        return wisp.stack([wait(future) for future in futures])

    x = wisp.randn(50)
    assert wisp.equal(forest(x), wisp.stack([tree(x), tree(x + 1), tree(x + 2)]))


def test_modes_that_watch_see_the_calls():
    x, v, w = inputs(8)
    mapped = wisp.vmap(two, in_dims=(0, None, None))(x.expand(3, 8, 8), v, w)
    wisp.testing.assert_close(mapped[1][2], two(x, v, w)[1])
    with wisp.autocast("cpu", dtype=wisp.bfloat16):
        assert two(x, v, w)[1].dtype == wisp.bfloat16


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    before = wisp.get_num_threads()
    wisp.set_num_threads(request.param)
    yield request.param
    wisp.set_num_threads(before)


def branch(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return x.tanh()
    left, right = fork(branch, x + n, n - 1), fork(branch, x * n, n - 1)
    return wait(left) - wait(right)


def plain_branch(x, n):
    return x.tanh() if n == 0 else plain_branch(x + n, n - 1) - plain_branch(x * n, n - 1)


def test_trees_of_forks(threads):
    x = wisp.randn(30, 30)
    grown = wisp.jit.script(branch)
    assert wisp.equal(grown(x, 7), plain_branch(x, 7))


@wisp.jit.script
def countdown(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return x
    return wait(fork(countdown, x + 1, n - 1))


def test_forks_that_call_themselves_too_often_are_errors(threads):
    x = wisp.zeros(2)
    assert countdown(x, 300).tolist() == [300, 300]
    with pytest.raises(RecursionError, match="1000 times"):
        countdown(x, 2000)


def adds(first: Future[Tensor], x: Tensor) -> Tensor:
    return wait(first) + x


@wisp.jit.script
def relay(x: Tensor, n: int):
    future = fork(deep, x, x, 3)
    for _ in range(n):
        future = fork(adds, future, x)
    return wait(future), wait(future)


def test_forks_wait_for_forks(threads):
    x = wisp.randn(20, 20) / 8
    expected = deep(x, x, 3)
    for _ in range(50):
        expected = expected + x
    for _ in range(RUNS):
        assert all(wisp.equal(result, expected) for result in relay(x, 50))


def lists(x: Tensor, n: int) -> list[Tensor]:
    rows = [x * i for i in range(n)]
    return [row.sum() for row in rows]


@wisp.jit.script
def listed(x: Tensor):
    futures = [fork(lists, x, n) for n in range(9)]
    return [wisp.stack(wait(future)) for future in futures[1:]]


def test_forks_may_build_lists(threads):
    x = wisp.randn(11)
    for n, result in enumerate(listed(x), 1):
        assert wisp.equal(result, wisp.stack(lists(x, n)))


def test_forks_are_made_in_the_modes_that_they_stand_in(threads):
    def double(x: Tensor) -> Tensor:
        return x * 2

    @wisp.jit.script
    def modes(x: Tensor):
        with wisp.no_grad():
            first = fork(double, x)
        second = fork(double, x)
        return wait(first), wait(second)

    first, second = modes(wisp.ones(3, requires_grad=True))
    assert not first.requires_grad and second.requires_grad
    second.sum().backward()


def test_forks_of_many_threads_at_once():
    xs, w = [wisp.randn(9, 40) for _ in range(20)], wisp.randn(40, 40)
    expected = wisp.stack([deep(x, w, 3) for x in xs])
    wrong = []

    def call():
        wrong.extend(i for i in range(20) if not wisp.equal(many(xs, w), expected))

    together([call] * 4)
    assert not wrong


def test_an_endless_fork_can_be_interrupted(tmp_path, monkeypatch):
    program = """
        import wisp

        def endless(x: wisp.Tensor) -> wisp.Tensor:
            print("begun")  # twice, where there are threads for both
            while bool(x[0] == x[0]):
                x = x + 0
            return x

        @wisp.jit.script
        def forks(x: wisp.Tensor):
            first, second = wisp.jit.fork(endless, x), wisp.jit.fork(endless, x)
            return wisp.jit.wait(first) + wisp.jit.wait(second)

        try:
            forks(wisp.ones(3))
        except KeyboardInterrupt:
            print("interrupted")
    """
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    run = start(tmp_path / "endless.py", textwrap.dedent(program))
    assert run.stdout.readline() == "begun\n"
    run.send_signal(signal.SIGINT)
    rest = run.communicate(timeout=60)[0]
    assert rest.replace("begun\n", "") == "interrupted\n" and run.returncode == 0


def test_unknown_methods_are_errors():
    with pytest.raises(RuntimeError, match="use wait"):

        @wisp.jit.script
        def asks(x: Tensor):
            future = fork(deep, x, x, 1)
            return future.done()


def test_damaged_texts_are_errors():
    good = "graph(%x : Tensor):\n  %f : Future(Tensor) = prim::Fork()\n    block0():\n      -> (%x)\n  %y : Tensor = prim::Wait(%f)\n  return (%y)\n"
    graph = wisp._C._jit.parse_graph(good)
    assert str(graph) == good and graph.run(wisp.ones(2)).tolist() == [1, 1]
    for old, new in [
        ("Future(Tensor)", "Tensor"),
        ("Fork()", "Fork(%x)"),
        ("Wait(%f)", "Wait(%x)"),
        ("(Tensor)", "(int)"),
        ("Future(Tensor)", "Future"),
    ]:
        with pytest.raises(RuntimeError):
            wisp._C._jit.parse_graph(good.replace(old, new, 1))


def test_older_names():
    def forks(x):
        return wisp.jit._wait(wisp.jit._fork(wisp.neg, x))

    for each in (forks, wisp.jit.script(forks)):
        assert each(wisp.ones(2)).tolist() == [-1, -1]
