"""The page that draws a graph."""

from html.parser import HTMLParser

import wisp
from wisp import nn
from wisp.jit import graph_html, script, trace


class Reader(HTMLParser):
    """Checks that tags are closed, and collects the boxes."""

    def __init__(self):
        super().__init__()
        self.open, self.tips, self.edges, self.links = [], [], 0, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag != "meta":
            self.open.append(tag)
        self.tips += [attrs["data-tip"]] if "data-tip" in attrs else []
        self.edges += tag == "path"
        self.links += [value for name, value in attrs.items() if name in ("src", "href")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_that_draws_a_graph():
    @script
    def f(x, n: int):
        for i in range(n):
            if i % 2 == 0:
                x = x + 1
            else:
                x = x * 2
        return x

    page = graph_html(f)
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.links == []
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert sum("aten::add" in tip for tip in reader.tips) == 1
    assert any("prim::Loop" in tip and "test_jit_drawing.py" in tip for tip in reader.tips)
    assert reader.edges >= 5
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    large = graph_html(trace(net.eval(), wisp.rand(2, 1, 8, 8)).inlined_graph, "<net>")
    assert "<title>&lt;net&gt;</title>" in large


def test_boxes_do_not_overlap():
    from wisp.jit._layout import Drawing

    @script
    def f(x, n: int):
        y = x
        for i in range(n):
            if i % 2 == 0:
                y = y + x
            else:
                y = wisp.cat([y, x, wisp.exp(y)])[: x.size(0)]
        return y, x.sum(), wisp.stack([x, y.sum().expand(x.size(0))])

    drawing = Drawing(f.graph)
    inside = {id(each): box for box in drawing.boxes for each in box.inner}
    for a in drawing.boxes:
        around = inside.get(id(a))
        if around is not None:
            assert around.x <= a.x
            assert a.x + a.width <= around.x + around.width
            assert around.y < a.y
            assert a.bottom < around.bottom
        for b in drawing.boxes:
            if a is not b and inside.get(id(b)) is around:
                apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.bottom <= b.y or b.bottom <= a.y
                assert apart, (a.label, b.label)
    assert all(0 <= box.x and box.x + box.width <= drawing.width + 1 for box in drawing.boxes)
