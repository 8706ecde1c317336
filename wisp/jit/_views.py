"""Other views of compiled functions: inlined, as Python."""


def inlined(graph):
    """A copy of a graph with the functions and methods that it calls in the place of the calls."""
    copy = graph.copy()
    copy.run_pass("inlining")
    return copy


def code_of(function):
    """A function as readable Python."""
    return function.code


def export_opnames(m):
    """The names of the operators, and functions of plain values, that a compiled module calls.

    >>> wisp.jit.export_opnames(wisp.jit.script(wisp.nn.Sequential(wisp.nn.Linear(2, 2), wisp.nn.ReLU())))
    ['aten::linear', 'aten::relu']
    """
    program = m._c.program
    graphs = [program.function(name).graph for name in program.functions()]
    kinds = {node.kind() for graph in graphs for node in all_nodes(graph)}
    return sorted(kind for kind in kinds if not kind.startswith("prim::"))


def all_nodes(block):
    """The nodes of a graph or block, with those in their blocks."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from all_nodes(inner)
