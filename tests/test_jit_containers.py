"""Lists and dicts that Python and scripts hold together."""

import pytest

import wisp
from wisp.jit import script


@script
def append(to: list[int], n: int):
    to.append(n)


@script
def put(to: dict[str, int], key: str, n: int):
    to[key] = n


def test_scripts_write_into_lists():
    plain, shared = [1, 2], script([1, 2])
    append(plain, 3)
    append(shared, 3)
    assert plain == [1, 2] and shared == [1, 2, 3] and script(shared) is shared
    shared.append(4)

    @script
    def last(x: list[int]) -> int:
        return x[-1]

    assert last(shared) == 4


LISTS = [
    lambda x: x[1], lambda x: x[-1], lambda x: x[7], lambda x: x[1:], lambda x: x[::-1], lambda x: x.pop(), lambda x: x.pop(0),
    lambda x: x.insert(1, 9), lambda x: x.insert(-1, 9), lambda x: x.insert(99, 9), lambda x: x.remove(2), lambda x: x.remove(99),
    lambda x: x.index(3), lambda x: x.count(2), lambda x: x.extend([4, 5]), lambda x: x.clear(), lambda x: x.reverse(),
    lambda x: x.__setitem__(0, 8), lambda x: x.__setitem__(9, 8), lambda x: x.__setitem__(slice(0, 2), [7]),
    lambda x: x.__setitem__(slice(1, 1), [7, 8, 9]), lambda x: x.__delitem__(0), lambda x: x.__delitem__(slice(0, 2)),
    lambda x: x.__delitem__(9), lambda x: x["a"], lambda x: 2 in x, lambda x: 9 in x, lambda x: bool(x), repr, len, sum,
]  # fmt: skip
DICTS = [
    lambda x: x["a"], lambda x: x["z"], lambda x: x.get("z", 7), lambda x: x.pop("a"), lambda x: x.pop("z"), lambda x: "a" in x,
    lambda x: "z" in x, lambda x: x.__setitem__("q", 4), lambda x: x.__delitem__("a"), lambda x: x.__delitem__("z"),
    lambda x: sorted(x.items()), lambda x: sorted(x.keys()), lambda x: sorted(x.values()), lambda x: x.update({"b": 0}),
    lambda x: x.clear(), lambda x: bool(x), lambda x: [k for k in x], repr, len,
]  # fmt: skip


def outcome(f, x):
    try:
        return f(x)
    except (IndexError, KeyError, ValueError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("number", range(len(LISTS)))
def test_lists_do_what_pythons_do(number):
    plain, shared = [1, 2, 3], script([1, 2, 3])
    assert outcome(LISTS[number], shared) == outcome(LISTS[number], plain)
    assert shared == plain


@pytest.mark.parametrize("number", range(len(DICTS)))
def test_dicts_do_what_pythons_do(number):
    plain, shared = {"a": 1, "b": 2}, script({"a": 1, "b": 2})
    assert outcome(DICTS[number], shared) == outcome(DICTS[number], plain)
    assert shared == plain


def test_scripts_write_into_dicts():
    shared = script({"a": 1})
    put(shared, "b", 2)
    assert shared == {"a": 1, "b": 2}


def test_types_are_kept():
    numbers, names = script([1]), script({"a": 1})
    for wrong in (lambda: numbers.append("a"), lambda: numbers.insert(0, 1.5), lambda: names.__setitem__(1, 1),
                  lambda: names.__setitem__("a", "b"), lambda: 1 in names):  # fmt: skip
        with pytest.raises(TypeError, match="expected a value of type"):
            wrong()
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        append(script([1.5]), 1)
    with pytest.raises(TypeError):
        script([1, "a"])
    assert numbers == [1] and names == {"a": 1}


def test_tensors_in_them():
    shared = script([wisp.ones(1)])

    @script
    def double(x: list[wisp.Tensor]):
        for t in x:
            t.mul_(2)

    double(shared)
    assert shared[0].item() == 2
