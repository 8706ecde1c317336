"""Other views of compiled functions: inlined, as Python."""


def inlined(graph):
    """A copy of a graph with the functions and methods that it calls in the place of the calls."""
    copy = graph.copy()
    copy.run_pass("inlining")
    return copy


def code_of(function):
    """A function as readable Python."""
    return function.code
