"""Names of classes and functions in programs."""


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
