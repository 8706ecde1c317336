"""Counting floating-point operations: wisp.utils.flop_counter."""

import doctest

import wisp
from wisp import nn
from wisp.utils import flop_counter
from wisp.utils.flop_counter import FlopCounterMode


def counted(compute, **options):
    with FlopCounterMode(display=False, **options) as counter:
        compute()
    return counter.get_flop_counts()["Global"]


def test_products_and_convolutions():
    a, b, image = wisp.ones(2, 3), wisp.ones(3, 4), wisp.ones(2, 4, 8, 8)
    assert counted(lambda: a @ b) == {"matmul": 48}
    assert counted(lambda: wisp.mm(input=a, mat2=b)) == {"mm": 48}
    assert counted(lambda: wisp.addmm(wisp.ones(4), a, b)) == {"addmm": 48}
    assert counted(lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2)(image)) == {"conv2d": 2 * 2 * 6 * 64 * 2 * 9}
    assert counted(lambda: nn.ConvTranspose2d(4, 6, 2, stride=2)(image)) == {"conv_transpose2d": 2 * 2 * 4 * 64 * 6 * 4}
    assert counted(lambda: nn.functional.scaled_dot_product_attention(*[wisp.ones(2, 3, 5, 8)] * 3)) == {
        "scaled_dot_product_attention": 2 * 6 * 25 * 16
    }
    assert counted(lambda: a + 1) == {}


def test_gradients_of_the_block_are_counted():
    linear, x = nn.Linear(3, 4), wisp.ones(2, 3)
    assert counted(lambda: linear(x).sum().backward()) == {"linear": 48, "linear_backward": 48}
    leaf = x.clone().requires_grad_()
    assert counted(lambda: linear(leaf).sum().backward()) == {"linear": 48, "linear_backward": 96}
    with FlopCounterMode(display=False) as counter:
        y = linear(leaf)
    y.sum().backward()
    assert counter.get_total_flops() == 48


def test_tables_and_other_functions(capsys):
    with FlopCounterMode() as counter:
        _ = wisp.ones(20, 30) @ wisp.ones(30, 40)
    shown = capsys.readouterr().out
    assert "matmul" in shown and "48,000" in shown and shown.splitlines()[-1].split() == ["Total", "48,000"]
    assert shown.strip() == counter.get_table()
    mapping = {wisp.add: lambda x, y, out_val: out_val.numel()}
    assert counted(lambda: wisp.add(wisp.ones(3), 1), custom_mapping=mapping) == {"add": 3}
    assert doctest.testmod(flop_counter, extraglobs={"wisp": wisp}).failed == 0
