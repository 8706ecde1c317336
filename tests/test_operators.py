"""Python's operators and protocols on tensors."""

import copy
import operator
import pickle
import weakref

import pytest

import wisp
from tests import expressions

BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
)
OPERANDS = ("L.tensor([1.5, -2.0, 3.0])", "L.tensor([1, 2, 3])", "L.tensor([True, False, True])", "2", "2.5", "True")
TENSORS = OPERANDS[:3]
CASES = [f"operator.{op}({a}, {b})" for op in BINARY for a in OPERANDS for b in OPERANDS if "L" in a + b]
IN_PLACE = [
    f"operator.i{op.strip('_')}({a}, {b})" for op in BINARY[:7] + BINARY[13:] for a in TENSORS for b in OPERANDS
]
OTHER = """
-L.tensor([1, -2])
+L.tensor([1, -2])
abs(L.tensor([1, -2]))
~L.tensor([1, -2])
~L.tensor([True, False])
-L.tensor([True])
~L.tensor([1.5])
(lambda x: +x is x)(L.ones(2))
L.ones(2) + None
None + L.ones(2)
L.ones(2) == None
L.ones(2) != None
None == L.ones(2)
L.ones(2) < None
L.ones(2) + 'a'
L.ones(2) == 'a'
L.ones(2) + [1, 2]
L.ones(2) == [1, 1]
L.ones(2) & L.ones(2)
L.ones(2) + L.ones(3)
2 ** L.tensor([1., 2.])
1 / L.tensor([1., 2.])
7 // L.tensor([2, -2])
7 % L.tensor([4, -4])
1 << L.tensor([1, 3])
16 >> L.tensor([1, 3])
5 & L.tensor([1, 3])
5 | L.tensor([1, 3])
5 ^ L.tensor([1, 3])
1 - L.tensor([1, 3])
pow(L.ones(2), 2, 3)
divmod(L.tensor([7]), 2)
round(L.tensor([2.567]), decimals=1)
round(L.tensor(2.5))
L.tensor([1, 0]) // 0
L.tensor([1, 0]) % 0
L.tensor([1., 0]) // 0
L.tensor([1., 0]) / 0
L.tensor([1, 2]) / 2
L.tensor([5, -5]) // 2
L.tensor([5, -5]) % 3
L.tensor([5., -5.]) % 3
L.tensor([2]) ** -1
L.tensor([2.]) ** -1
L.tensor([2, 3]) ** 2.0
2 ** 62 * L.tensor([4])
L.tensor([1], dtype=L.uint8) - 2
L.tensor([100], dtype=L.int8) + 100
L.ones(2) * 2**70
len(L.zeros(3, 2))
len(L.tensor(1))
list(L.tensor([1, 2]))
list(L.tensor(1))
list(L.zeros(0, 2))
[tuple(r.shape) for r in L.zeros(2, 3)]
bool(L.tensor(0.5))
1 in L.tensor([1, 2])
3 in L.tensor([1, 2])
L.tensor(2) in L.tensor([1, 2])
'a' in L.tensor([1, 2])
list(reversed(L.tensor([1, 2])))
max(L.tensor([1, 3, 2]))
sum(L.tensor([1, 3, 2]))
sorted(L.tensor([1, 3, 2]))
any(L.tensor([0, 1]))
all(L.tensor([0, 1]))
[*zip(L.tensor([1]), L.tensor([2]))]
(lambda a, b: [a, b])(*L.tensor([1, 2]))
L.tensor([1, 2]).__rsub__(1)
L.tensor([1., 2]).__rtruediv__(1)
L.tensor([1., 2]).__rpow__(2)
L.tensor([1, 2]).__rdiv__(2)
L.Tensor.__add__(L.ones(1), 2)
L.Tensor.add(L.ones(1), 2)
L.ones(2, 2) @ 2
isinstance(L.ones(1), L.FloatTensor)
isinstance(L.ones(1), L.LongTensor)
callable(L.ones(1))
'x' + L.ones(1)
L.ones(1).foo
L.ones(1).shape.foo
"""
ORACLES = {"operators": expressions.table("\n".join(CASES + IN_PLACE) + OTHER)}
ALL = CASES + IN_PLACE + expressions.split(OTHER)


@pytest.mark.parametrize("expression", ALL)
def test_as_pytorch(expression):
    expressions.check("operators", ORACLES["operators"], expression)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
)
def test_in_place_returns_self(name):
    x = wisp.ones(2, dtype=wisp.float32 if name == "truediv" else wisp.int64)
    before, address = x, x.data_ptr()
    x = getattr(operator, f"i{name}")(x, 1)
    assert x is before and x.data_ptr() == address


def test_other_classes_may_answer():
    """Operands that a tensor does not know get their turn."""

    class Other:
        def __radd__(self, other):
            return "radd"

        def __eq__(self, other):
            return "eq"

        def __rmatmul__(self, other):
            return "rmatmul"

        def __lt__(self, other):
            return "lt"

    x = wisp.ones(2)
    assert x + Other() == "radd" and x @ Other() == "rmatmul"
    assert (x == Other()) == "eq" and (x > Other()) == "lt"
    y = x
    y += Other()
    assert y == "radd"


def test_identity():
    """Tensors are keys by identity, and have one object each."""
    x, y = wisp.ones(2), wisp.ones(2)
    d = {x: 1, y: 2}
    assert d[x] == 1 and d[y] == 2 and hash(x) == id(x) and x in d and len({x, x, y}) == 2
    module = {"p": x}
    x.note = "here"
    assert module["p"].note == "here"
    z = (x.requires_grad_() * 2).sum()
    assert z.grad_fn.next_functions[0][0].next_functions[0][0].variable is x
    ref = weakref.ref(y)
    del y, d
    assert ref() is None


class Marked(wisp.Tensor):
    pass


@pytest.mark.parametrize("kind", [wisp.Tensor, Marked])
def test_weak_references_give_tensors_out_that_live_on(kind):
    """A weak reference finds the object of a tensor that only a graph, or a gradient, holds; from then on it is held."""
    x, y = wisp.ones(2).as_subclass(kind), wisp.ones(2)
    ref = weakref.ref(x)
    y.grad = x
    del x
    found = ref()
    del y
    assert type(found) is kind and found.sum() == 2 and (found + 1).tolist() == [2, 2]
    del found
    assert ref() is None


def test_copies():
    x = wisp.arange(6.0).reshape(2, 3).t().requires_grad_()
    x.grad = wisp.ones(3, 2)
    x.note = [1]
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    loaded = pickle.loads(pickle.dumps(x))
    for y in (deep, loaded):
        assert y is not x and (y == x).all() and y.requires_grad and y.stride() == x.stride() and y.note == [1]
        assert y.data_ptr() != x.data_ptr()
    assert deep.grad.tolist() == x.grad.tolist() and deep.note is not x.note
    assert (shallow == x).all()
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)


def test_copies_keep_sharing():
    """Tensors that share memory still do after a deep copy or a pickle."""
    base = wisp.arange(4)
    for twice in (copy.deepcopy([base, base[1:], base]), pickle.loads(pickle.dumps([base, base[1:], base]))):
        twice[0][1] = 9
        assert twice[1][0] == 9 and base[1] == 1
        assert twice[2] is twice[0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_pickle(protocol, dtype):
    for shape in ((), (0,), (2, 3)):
        x = wisp.ones(shape, dtype=getattr(wisp, dtype))
        y = pickle.loads(pickle.dumps(x, protocol))
        assert y.dtype == x.dtype and y.shape == x.shape and (y == x).all()
    for constant in (wisp.float32, wisp.device("cpu"), wisp.Size([1, 2]), wisp.channels_last, wisp.strided):
        again = pickle.loads(pickle.dumps(constant, protocol))
        assert again == constant and type(again) is type(constant)
    assert pickle.loads(pickle.dumps(wisp.float32, protocol)) is wisp.float32


OLD_ORDER = {
    "add(t, 2, t)": "add(t, t, alpha=2)",
    "t.add(2, t)": "add(t, t, alpha=2)",
    "t.clone().add_(2, t)": "add(t, t, alpha=2)",
    "sub(t, 2, t)": "sub(t, t, alpha=2)",
    "t.addcmul(2., t, t)": "addcmul(t, t, t, value=2)",
    "t.clone().addcdiv_(2., t, t)": "addcdiv(t, t, t, value=2)",
    "addmm(3., m, 2., m, m)": "addmm(m, m, m, beta=3, alpha=2)",
    "addmm(3., m, m, m)": "addmm(m, m, m, beta=3)",
    "m.addmm(2., 3., m, m)": "addmm(m, m, m, beta=2, alpha=3)",
    "addmv(2, t, 3, m, t)": "addmv(t, m, t, beta=2, alpha=3)",
    "addr(2, m, 3, t, t)": "addr(m, t, t, beta=2, alpha=3)",
}


@pytest.mark.parametrize("old", OLD_ORDER)
def test_factors_before_tensors(old):
    """The order of arguments of old programs, with a warning."""
    names = {**vars(wisp), "add": wisp.add, "sub": wisp.sub, "addmm": wisp.addmm}
    names |= {"t": wisp.tensor([1.0, 2.0]), "m": wisp.tensor([[1.0, 2.0], [3.0, 4.0]])}
    with pytest.warns(UserWarning, match="deprecated"):
        result = eval(old, names)
    assert result.tolist() == eval(OLD_ORDER[old], names).tolist()


@pytest.mark.parametrize(
    "wrong", ["add(t, 'a', t)", "mul(t, 2, t)", "add(t, t, 2)", "addmm(1, 2, 3, t, t, t)", "add(t, 2, t, t)"]
)
def test_factors_that_are_none(wrong):
    names = {**vars(wisp), "t": wisp.ones(2, 2)}
    with pytest.raises(TypeError):
        eval(wrong, names)


def test_numbers_alone():
    """The four basic operations take two numbers; others need a tensor."""
    results = [wisp.add(2, 3), wisp.mul(2.0, 3), wisp.div(7, 2), wisp.div(7, 2, rounding_mode="trunc"), wisp.sub(1, 3)]
    results += [wisp.floor_divide(5, 2), wisp.add(True, True), wisp.true_divide(1, 2), wisp.add(1j, 2)]
    assert [r.item() for r in results] == [5, 6.0, 3.5, 3, -2, 2, True, 0.5, 2 + 1j]
    kinds = [wisp.int64, wisp.float32, wisp.float32, wisp.int64, wisp.int64]
    kinds += [wisp.int64, wisp.bool, wisp.float32, wisp.complex64]
    assert [r.dtype for r in results] == kinds and all(r.dim() == 0 for r in results)
    for function in (wisp.pow, wisp.remainder, wisp.bitwise_and, wisp.atan2, wisp.maximum, wisp.gt):
        with pytest.raises(TypeError):
            function(2, 1)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "fmod", "not_equal", "greater", "less_equal"])
def test_comparisons_have_a_tensor_in_front(name):
    function, x = getattr(wisp, name), wisp.tensor([1.0, 2.0])
    with pytest.raises(TypeError, match=f"{name}\\(\\): argument 'input' \\(position 1\\) must be Tensor, not int"):
        function(2, x)
    assert function(x, 2).shape == (2,)


def test_numbers_are_compared_with_tensors_by_symbols():
    x = wisp.tensor([1.0, 2.0, 3.0])
    answers = [2 == x, 2 != x, 2 < x, 2 <= x, 2 > x, 2 >= x]
    assert [a.tolist() for a in answers] == [
        [False, True, False], [True, False, True], [False, False, True], [False, True, True], [True, False, False], [True, True, False],
    ]  # fmt: skip


def test_nextafter_passes_gradients_on_to_what_moves():
    x, y = (wisp.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [2.0, 1.0]))
    wisp.nextafter(x, y).backward(wisp.tensor([3.0, 4.0]))
    assert x.grad.tolist() == [3.0, 4.0] and y.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [wisp.uint8, wisp.float32, wisp.bool])
def test_an_empty_index_may_be_of_any_dtype(dtype):
    x, nothing = wisp.arange(3.0), wisp.tensor([], dtype=dtype)
    assert wisp.gather(x, 0, nothing).shape == (0,)
    assert x.scatter(0, nothing, 1.0).tolist() == [0.0, 1.0, 2.0]


def test_lu_with_infos_names_its_results():
    found = wisp.lu(wisp.tensor([[2.0, 2.0], [1.0, 2.0]]), get_infos=True)
    assert found.LU.shape == (2, 2) and found.pivots.tolist() == [1, 2] and found.info.item() == 0


def test_roll_along_a_dimension_of_a_number():
    assert wisp.roll(wisp.tensor(2.0), 1).item() == 2.0
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        wisp.roll(wisp.tensor(2.0), 1, 0)
