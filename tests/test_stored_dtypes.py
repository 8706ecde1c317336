"""Dtypes that are stored: unsigned integers of more than 8 bits, and floating-point numbers of 8 bits."""

import pickle
import struct

import numpy as np
import pytest

import wisp
from tests import expressions, oracle
from wisp.utils import safetensors

UNSIGNED = ("uint16", "uint32", "uint64")
FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")

OF_ALL = """
(L.DT.itemsize, L.DT.is_floating_point, L.DT.is_complex, L.DT.is_signed, str(L.DT))
L.zeros(2, 3, dtype=L.DT)
L.ones(2, dtype=L.DT)
L.full((2,), 3, dtype=L.DT)
L.tensor([1, 2, 4], dtype=L.DT)
L.empty(2, 0, dtype=L.DT)
L.empty_like(L.ones(2, dtype=L.DT)).dtype
L.ones(2, dtype=L.DT).new_full((2,), 2)
L.tensor([1, 2, 4]).to(L.DT).float()
L.tensor([1, 2, 4]).to(L.DT)[1]
L.tensor([1, 2, 4]).to(L.DT)[1].item()
L.tensor([1, 2, 4]).to(L.DT)[1:]
L.tensor([1, 2, 4]).to(L.DT)[L.tensor([2, 0])]
L.tensor([1, 2, 4]).to(L.DT)[L.tensor([True, False, True])]
L.tensor([[1, 2], [4, 8]]).to(L.DT).t().contiguous()
L.tensor([[1, 2], [4, 8]]).to(L.DT).expand(2, 2, 2).clone()
L.cat([L.tensor([1, 2]).to(L.DT), L.tensor([4]).to(L.DT)])
L.stack([L.tensor([1, 2]).to(L.DT)] * 2, 1)
L.tensor([1, 2, 4]).to(L.DT) == L.tensor([1, 4, 4]).to(L.DT)
L.tensor([1, 2, 4]).to(L.DT) != 2
L.where(L.tensor([True, False]), L.tensor([1, 2]).to(L.DT), L.tensor([4, 8]).to(L.DT))
L.tensor([1, 2]).to(L.DT).view(L.uint8)
L.zeros(3, dtype=L.DT).fill_(2)
L.zeros(3, dtype=L.DT).copy_(L.tensor([1.0, 2.0, 4.0]))
(lambda x: (x.__setitem__(0, 4), x)[1])(L.tensor([1, 2]).to(L.DT))
(lambda x: (x.__setitem__(slice(1, 2), L.tensor([4.0])), x)[1])(L.tensor([1, 2]).to(L.DT))
L.tensor([1, 2]).to(L.DT).repeat(2)
L.tensor([1, 2]).to(L.DT).tolist()
int(L.tensor(2).to(L.DT)), float(L.tensor(2).to(L.DT)), bool(L.tensor(2).to(L.DT))
L.promote_types(L.DT, L.DT)
L.promote_types(L.DT, L.int32)
L.promote_types(L.DT, L.complex64)
L.promote_types(L.float32, L.DT)
L.result_type(L.ones(2, dtype=L.DT), 3)
L.ones(2, dtype=L.DT) + L.ones(2, dtype=L.int32)
L.can_cast(L.DT, L.float32), L.can_cast(L.float32, L.DT)
repr(L.tensor([[1, 2], [4, 8]]).to(L.DT)).replace('torch', '').replace('wisp', '')
repr(L.tensor(2).to(L.DT)).replace('torch', '').replace('wisp', '')
pickle.loads(pickle.dumps(L.DT)) is L.DT
copy.deepcopy(L.tensor([1, 2]).to(L.DT))
L.nn.functional.embedding(L.tensor([1]), L.tensor([[1, 2], [4, 8]]).to(L.DT))
"""
OF_UNSIGNED = """
L.iinfo(L.DT).min, L.iinfo(L.DT).max, L.iinfo(L.DT).bits
L.tensor([-1, 65537, 2**40, 2**62]).to(L.DT)
L.tensor([1.9, 65537.0, 3e9], dtype=L.float64).to(L.DT)
L.tensor([-1]).to(L.DT).double()
L.tensor([-1]).to(L.DT).float()
L.tensor([-1]).to(L.DT).item()
L.tensor([-1]).to(L.DT).tolist()
L.tensor([-1]).to(L.DT).bool()
L.tensor([-1]).to(L.DT).to(L.int64)
L.tensor([-1]).to(L.DT) == L.tensor([-2]).to(L.DT)
L.tensor([5, 3]).to(L.DT) & 1
L.tensor([5, 3]).to(L.DT) * L.tensor([2, 3]).to(L.DT)
L.tensor([5, 3]).to(L.DT) / 2
L.tensor([5, 3]).to(L.DT).sin()
L.tensor([5, 3]).to(L.DT) * 1.5
L.tensor([5, 3]).to(L.DT) + L.tensor([0.5])
L.tensor([5, 3]).to(L.DT).numpy()
L.from_numpy(np.arange(3).astype('DT'))
L.tensor(np.arange(3).astype('DT'))
L.from_dlpack(L.tensor([5, 3]).to(L.DT))
L.frombuffer(bytes(range(8)), dtype=L.DT)
L.zeros(2, dtype=L.DT, requires_grad=True)
"""
OF_FLOATS = """
[getattr(L.finfo(L.DT), n) for n in ('bits', 'eps', 'max', 'min', 'tiny', 'smallest_normal', 'resolution', 'dtype')]
L.tensor([0.3, -0.3, 1.1, 17.0, 100.0, 464.0, 465.0, 1e9, float('inf'), -float('inf'), float('nan')]).to(L.DT).float()
L.tensor([0.0, -0.0, 1e-3, 1e-5, 1e-9]).to(L.DT).view(L.uint8)
L.arange(256, dtype=L.uint8).view(L.DT).float()
L.arange(256, dtype=L.uint8).view(L.DT).double().to(L.DT).view(L.uint8)
L.tensor([1, 2]).to(L.DT).numpy()
L.tensor([1.0, 2.0], dtype=L.float16).to(L.DT).to(L.bfloat16)
"""


def of(dtypes, cases):
    return "\n".join(cases.replace("L.DT", f"L.{name}").replace("'DT'", f"'{name}'") for name in dtypes)


CASES = of((*UNSIGNED, *FLOATS), OF_ALL) + of(UNSIGNED, OF_UNSIGNED) + of(FLOATS, OF_FLOATS)
CASES += "\n".join(
    f"L.tensor([0, 1, 2]).to(L.{a}).to(L.{b})"
    for a in (*UNSIGNED, *FLOATS)
    for b in (*UNSIGNED, *FLOATS, *oracle.DTYPES)
)
CASES += "\n" + "\n".join(
    f"L.tensor([0, 1, 2]).to(L.{b}).to(L.{a})" for a in (*UNSIGNED, *FLOATS) for b in oracle.DTYPES
)
ORACLES = {"stored_dtypes": expressions.table(CASES)}


@pytest.mark.parametrize("expression", sorted({*expressions.split(CASES)}))
def test_as_pytorch(expression):
    expressions.check("stored_dtypes", ORACLES["stored_dtypes"], expression)


@pytest.mark.parametrize("name", [*UNSIGNED, *FLOATS])
def test_large_and_strided_conversions(name):
    """Through all ways of copying, there and back: what is stored stays, whichever way it goes."""
    dtype = getattr(wisp, name)
    bits = wisp.randint(0, 255, (70, 90 * dtype.itemsize), dtype=wisp.uint8)
    x = bits.view(dtype)
    x = wisp.where(x.double() == x.double(), x, wisp.ones((), dtype=dtype))  # the bits of NaN may change
    wide = wisp.float64 if x.is_floating_point() else wisp.int64
    assert wisp.equal(x.to(wide).to(dtype).view(wisp.uint8), x.contiguous().view(wisp.uint8))
    for form in (
        lambda t: t.t(),
        lambda t: t[::3, 1::2],
        lambda t: t[0].expand(5, 90),
        lambda t: t[:, :1].expand(70, 4),
    ):
        assert wisp.equal(form(x).to(wide), form(x.to(wide)))
        assert wisp.equal(form(x).contiguous().to(wide), form(x.to(wide)))
    target = wisp.zeros(90, 70, dtype=dtype)
    target.t().copy_(x.to(wide))
    assert wisp.equal(target.to(wide), x.to(wide).t())


@pytest.mark.parametrize("name", [*UNSIGNED, *FLOATS])
def test_files(name, tmp_path):
    dtype = getattr(wisp, name)
    x = wisp.tensor([[1, 2], [4, 8]]).to(dtype)
    for form in ({}, {"format": "torch"}):
        path = tmp_path / "x.pt"
        wisp.save({"x": x, "y": x[1]}, path, **form)
        found = wisp.load(path)
        assert found["x"].dtype is dtype and found["x"].tolist() == x.tolist() and found["y"].tolist() == [4, 8]
    safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
    assert (
        safetensors.load_file(tmp_path / "x.safetensors")["x"].view(wisp.uint8).tolist() == x.view(wisp.uint8).tolist()
    )


def test_numbers_beyond_int64():
    x = wisp.tensor([2**63, 2**64 - 1, 5], dtype=wisp.uint64)
    assert x.tolist() == [2**63, 2**64 - 1, 5] and x[1].item() == 2**64 - 1
    assert x.double().tolist() == [2.0**63, 2.0**64, 5.0]
    assert x.double()[0].to(wisp.uint64).item() == 2**63
    assert (x == x.clone()).all() and (x == wisp.tensor([1, 2**64 - 1, 6], dtype=wisp.uint64)).tolist() == [
        False,
        True,
        False,
    ]
    assert (x.numpy() == np.array([2**63, 2**64 - 1, 5], dtype=np.uint64)).all()
    with pytest.raises((OverflowError, ValueError)):
        wisp.tensor([2**64], dtype=wisp.uint64)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*UNSIGNED, *FLOATS])
def test_no_operator_of_the_table_fails_otherwise_than_by_an_error(name):
    """What there is no kernel for is refused."""
    dtype = getattr(wisp, name)
    x = wisp.tensor([[1, 2], [4, 8]]).to(dtype)
    index = wisp.tensor([0, 1])
    for attribute in sorted(dir(wisp.Tensor)):
        if attribute.startswith("__") or attribute in ("share_memory_", "backward", "item", "register_hook", "set_"):
            continue
        found = getattr(wisp.Tensor, attribute)
        if not callable(found):
            continue
        for args in (
            (),
            (x,),
            (2,),
            (0, index),
            (0, index, x),
            (x, x),
            (index,),
            (x > 0 if name in UNSIGNED[:2] else x == 2, 1),
        ):
            try:
                found(x.clone(), *args)
            except (TypeError, ValueError, RuntimeError, IndexError, AttributeError, OverflowError, BufferError):
                pass


COMPUTED = (
    lambda x: x.abs(),
    lambda x: x.sin(),
    lambda x: x.sqrt(),
    lambda x: x * 3,
    lambda x: x * x - x,
    lambda x: x.maximum(x.flip(0)),
    lambda x: x.clamp(2, 4),
    lambda x: wisp.where(x > 2, x, x + 1),
)


@pytest.mark.parametrize("compute", COMPUTED)
@pytest.mark.parametrize("name", [*UNSIGNED[:2], *FLOATS])
def test_what_is_computed_is_computed_in_a_wider_dtype(name, compute):
    x = wisp.tensor([[1, 2], [4, 8]]).to(getattr(wisp, name))
    found, exact = compute(x), compute(x.float() if x.is_floating_point() else x.long())
    assert found.double().tolist() == exact.to(found.dtype).double().tolist()


@pytest.mark.parametrize("name", [*UNSIGNED, *FLOATS])
def test_pickles_and_bytes(name):
    x = wisp.tensor([1, 4]).to(getattr(wisp, name))
    found = pickle.loads(pickle.dumps(x))
    assert found.dtype is x.dtype and found.tolist() == [1, 4]
    if name == "uint16":
        assert struct.unpack("<2H", bytes(x.view(wisp.uint8).tolist())) == (1, 4)
