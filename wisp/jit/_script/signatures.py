"""What Python's own functions and methods take in scripts: how many arguments, and which of them by name."""

_ANY = 1_000_000

# (least, most, names of keywords in the order of the arguments that they are; None for those without a name)
_FUNCTIONS = {
    "enumerate": (1, 2, (None, "start")), "zip": (1, _ANY, ()), "range": (1, 3, ()), "int": (0, 2, (None, "base")),
    "complex": (0, 2, ("real", "imag")), "round": (1, 2, ("number", "ndigits")), "pow": (2, 2, ("base", "exp")),
    "divmod": (2, 2, ()), "sum": (1, 2, (None, "start")), "map": (2, 2, ()), "sorted": (1, 1, ()),
    "min": (1, _ANY, ()), "max": (1, _ANY, ()), "getattr": (2, 3, ()),
    **dict.fromkeys(("float", "bool", "str", "list", "tuple"), (0, 1, ())),
    **dict.fromkeys(("len", "hash", "reversed", "repr", "abs", "any", "all", "ord", "chr", "hex", "oct", "bin"), (1, 1, ())),
}  # fmt: skip
_METHODS = {
    "list.append": (1, 1, ()), "list.extend": (1, 1, ()), "list.insert": (2, 2, ()), "list.pop": (0, 1, ()),
    "list.remove": (1, 1, ()), "list.index": (1, 3, ()), "list.count": (1, 1, ()),
    "dict.get": (1, 2, ()), "dict.pop": (1, 2, ()), "dict.setdefault": (2, 2, ()), "dict.update": (1, 1, ()),
    "str.split": (0, 2, ("sep", "maxsplit")), "str.rsplit": (0, 2, ("sep", "maxsplit")), "str.join": (1, 1, ()),
    "str.splitlines": (0, 1, ("keepends",)), "str.expandtabs": (0, 1, ("tabsize",)), "str.replace": (2, 3, ()),
    **dict.fromkeys((f"str.{name}" for name in ("find", "rfind", "index", "rindex", "count", "startswith", "endswith")), (1, 3, ())),
    **dict.fromkeys((f"list.{name}" for name in ("copy", "clear", "reverse")), (0, 0, ())),
    **dict.fromkeys((f"dict.{name}" for name in ("keys", "values", "items", "copy", "clear", "popitem")), (0, 0, ())),
}  # fmt: skip
# Keywords that are no arguments, for those who look at them.
_SETTINGS = {"zip": ("strict",), "sorted": ("key", "reverse"), "min": ("key", "default"), "max": ("key", "default")}


def function_arguments(name, arguments, keywords):
    """(arguments, keywords) of a function with those in order that have a place; a TypeError if they do not fit."""
    settings = {key: value for key, value in keywords.items() if key in _SETTINGS.get(name, ())}
    rest = {key: value for key, value in keywords.items() if key not in settings}
    placed = _placed(name, _FUNCTIONS.get(name), arguments, rest, None)
    return (arguments, keywords) if placed is None else (placed, settings)


def method_arguments(kind, name, arguments, keywords, defaults):
    """The arguments of a method in order, those by name too. `defaults` stand for what is left out before them."""
    placed = _placed(name, _METHODS.get(f"{kind}.{name}"), arguments, keywords, defaults)
    return [*arguments, *keywords.values()] if placed is None else placed


def _placed(name, signature, arguments, keywords, defaults):
    if signature is None:
        return None
    least, most, names = signature
    values = list(arguments)
    for key, value in keywords.items():
        place = names.index(key) if key in names else -1
        if place < len(arguments):
            raise TypeError(f"{name}() got an unexpected or repeated keyword argument '{key}' in a script")
        while len(values) <= place:
            values.append(None)
        values[place] = value
    values = [defaults[i] if value is None and defaults else value for i, value in enumerate(values)]
    if not least <= len(values) <= most or None in values:
        count = len(arguments) + len(keywords)
        if count < least or None in values:
            raise TypeError(f"{name} expected at least {least} arguments, got {count}")
        raise TypeError(f"{name} expected at most {most} arguments in a script, got {count}")
    return values
