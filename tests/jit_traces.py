"""Traces, for tests."""

import warnings

from wisp.jit import trace


def kinds(graph):
    return [node.kind() for node in graph.nodes()]


def quiet(function, *args, **options):
    """A trace that no warning is given for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return trace(function, *args, **options)
