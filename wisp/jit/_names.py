"""Names of classes and functions in programs."""

import re


def fresh_class(cls, taken):
    """A name for a class of a program that is not taken, and is from now on."""
    return _fresh(f"__wisp__.{cls.__name__}", taken)


def _fresh(name, taken):
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


_SHAPED = re.compile(
    r"\b(?:Tensor|Float|Double|Half|BFloat16|Long|Int|Short|Char|Byte|Bool|ComplexFloat|ComplexDouble)\b(?:\([\d*, ]*\))?"
)


def without_shapes(text):
    """The text of types or of a graph, without what it says of the shapes and dtypes of tensors."""
    return _SHAPED.sub("Tensor", text)
