"""Lists and dicts that Python and scripts hold together: what one writes, the other sees."""

from collections.abc import MutableMapping, MutableSequence

from wisp._C import _jit


class ScriptList(MutableSequence):
    """A list of values of one type, as ``wisp.jit.script()`` makes it of a list. Scripts that it is given write into it.

    >>> numbers = wisp.jit.script([1, 2])
    >>> @wisp.jit.script
    ... def add(to: List[int], n: int):
    ...     to.append(n)
    >>> add(numbers, 3)
    >>> numbers
    [1, 2, 3]
    """

    def __init__(self, values):
        self._box = _jit.Box(list(values))

    def __len__(self):
        return self._box.count()

    def _places(self, index):
        """The places that an index means, as Python counts them."""
        return range(len(self))[index]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ScriptList([self._box.item(i) for i in self._places(index)])
        return self._box.item(self._place(index))

    def _place(self, index):
        if not hasattr(index, "__index__"):
            raise TypeError(f"list indices must be integers or slices, not {type(index).__name__}")
        try:
            return self._places(index)
        except IndexError:
            raise IndexError("list index out of range") from None

    def __setitem__(self, index, value):
        if not isinstance(index, slice):
            self._box.set(self._place(index), value)
            return
        now = self._box.copy()
        now[index] = value
        self._exchange(now)

    def _exchange(self, values):
        for i, value in enumerate(values):
            if i < len(self):
                self._box.set(i, value)
            else:
                self._box.insert(i, value)
        while len(self) > len(values):
            self._box.erase(len(self) - 1)

    def __delitem__(self, index):
        places = self._places(index) if isinstance(index, slice) else [self._place(index)]
        for place in sorted(places, reverse=True):
            self._box.erase(place)

    def insert(self, index, value):
        """Puts a value in front of the one at a place."""
        self._box.insert(min(max(index + len(self) if index < 0 else index, 0), len(self)), value)

    def __eq__(self, other):
        return self._box.copy() == (other._box.copy() if isinstance(other, ScriptList) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._box.copy())


class ScriptDict(MutableMapping):
    """A dict of keys of one type and values of one type, as ``wisp.jit.script()`` makes it of a dict."""

    def __init__(self, values):
        self._box = _jit.Box(dict(values))

    def __len__(self):
        return self._box.count()

    def __iter__(self):
        return iter(self._box.copy())

    def __getitem__(self, key):
        found = self._box.find(key)
        if found is None:
            raise KeyError(key)
        return found[0]

    def __contains__(self, key):
        return self._box.find(key) is not None

    def __setitem__(self, key, value):
        self._box.set(key, value)

    def __delitem__(self, key):
        if not self._box.erase(key):
            raise KeyError(key)

    def __eq__(self, other):
        return self._box.copy() == (other._box.copy() if isinstance(other, ScriptDict) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._box.copy())
