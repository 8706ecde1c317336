"""Runs a pass on a graph's text and compares text and results with what they should be."""

import textwrap

import wisp

jit = wisp._C._jit


def parse(text):
    return jit.parse_graph(textwrap.dedent(text))


def assert_same(expected, actual):
    """Results agree: tensors closely and in dtype, everything else exactly."""
    if isinstance(expected, wisp.Tensor):
        wisp.testing.assert_close(actual, expected)
    elif isinstance(expected, (list, tuple)):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            assert_same(one, other)
    else:
        assert actual == expected


def check(name, before, after, *inputs):
    """The pass turns the first text into the second; the results for each tuple of `inputs` stay the same."""
    graph = parse(before)
    expected = [graph.copy().run(*each) for each in inputs]
    changed = graph.run_pass(name)
    graph.verify()
    assert str(graph) == textwrap.dedent(after)
    assert changed == (str(parse(before)) != str(graph))
    for each, result in zip(inputs, expected, strict=True):
        assert_same(result, graph.run(*each))
    return graph


def check_unchanged(name, text):
    check(name, text, str(parse(text)))
