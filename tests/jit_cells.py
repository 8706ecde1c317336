"""A program of small calls that several tests compile."""

import wisp


def cell(x, h, c, w, b):
    gates = wisp.mm(x, w) + wisp.mm(h, w) + b
    i, f, g, o = gates.chunk(4, 1)
    c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
    return wisp.sigmoid(o) * wisp.tanh(c), c
