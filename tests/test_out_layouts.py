"""The order in memory of results that go into out=."""

import pytest

import wisp


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)])
def test_an_empty_out_gets_the_order_of_a_new_result(order):
    x = wisp.rand(2, 3, 4).permute(order)
    for op in (wisp.add, wisp.mul, wisp.maximum):
        out = wisp.empty(0)
        op(x, x, out=out)
        assert out.stride() == op(x, x).stride() and out.equal(op(x, x))
    assert wisp.exp(x, out=wisp.empty(0)).stride() == wisp.exp(x).stride()


def test_an_out_of_the_right_shape_keeps_its_order():
    x, out = wisp.rand(3, 4).t(), wisp.empty(4, 3)
    assert wisp.exp(x, out=out).stride() == (3, 1) and out.equal(wisp.exp(x))


def test_storages_without_values():
    for storage in (wisp.empty(2, device="meta").untyped_storage(), wisp.empty(2, device="meta").storage()):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            storage[0]
