"""The page that draws a graph."""

import re
import shutil
import struct
import subprocess
import zlib
from html.parser import HTMLParser

import pytest

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
        self.edges += tag == "path" and attrs.get("class") == "edge"
        self.links += [value for name, value in attrs.items() if name in ("src", "href")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@script
def branches_in_a_loop(x, n: int):
    for i in range(n):
        if i % 2 == 0:
            x = x + 1
        else:
            x = wisp.exp(x * 2)
    return x


@pytest.fixture(scope="module")
def page():
    return graph_html(branches_in_a_loop)


def test_a_page_that_draws_a_graph(page):
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


# --- in a browser

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# Does what a user would do, and notes what is to be seen in attributes of the page.
USER = """<script>
const root = document.documentElement, nodes = [...document.querySelectorAll(".node")];
const seen = (name, value) => root.setAttribute("data-" + name, value);
const add = nodes.find(node => node.dataset.tip.includes("aten::add"));
const box = () => svg.getAttribute("viewBox").split(" ").map(Number);
const first = box();
seen("boxes", nodes.every(node => node.getBoundingClientRect().width > 5));
seen("fit", nodes.every(node => { const r = node.getBoundingClientRect();
  return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight; }));
seen("text", nodes.every(node => [...node.querySelectorAll(":scope > text")].every(text =>
  text.getBBox().width <= node.querySelector("rect").getBBox().width)));
add.dispatchEvent(new PointerEvent("pointerenter"));
seen("tip", getComputedStyle(tip).display + ": " + tip.textContent);
seen("lit", document.querySelectorAll(".edge.lit").length);
add.dispatchEvent(new PointerEvent("pointerleave"));
seen("left", getComputedStyle(tip).display + document.querySelectorAll(".edge.lit").length);
svg.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, clientX: 300, clientY: 300}));
const zoomed = box();
seen("zoomed", zoomed[2] < first[2]);
svg.dispatchEvent(new PointerEvent("pointerdown", {clientX: 300, clientY: 300}));
window.dispatchEvent(new PointerEvent("pointermove", {clientX: 250, clientY: 300}));
window.dispatchEvent(new PointerEvent("pointerup"));
seen("moved", box()[0] > zoomed[0] && box()[1] === zoomed[1]);
svg.dispatchEvent(new MouseEvent("dblclick"));
seen("reset", box().join() === first.join());
</script>"""


def browse(tmp_path, page, *options):
    """What a headless browser prints about a page."""
    path = tmp_path / "page.html"
    path.write_text(page)
    fixed = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [BROWSER, *fixed, "--window-size=1200,900", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def pixels(path):
    """(width, height, rows of bytes) of a PNG of 8 bits per channel."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    raw = zlib.decompress(packed)
    return (
        width,
        height,
        [raw[y * (width * channels + 1) + 1 : (y + 1) * (width * channels + 1)] for y in range(height)],
    )


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_the_page_works_in_a_browser(tmp_path, page):
    dom = browse(tmp_path, page.replace("</body>", USER + "</body>"), "--dump-dom")
    seen = dict(re.findall(r'data-(\w+)="([^"]*)"', dom.partition("<head>")[0]))
    for name in ("boxes", "fit", "text", "zoomed", "moved", "reset"):
        assert seen[name] == "true", name
    assert seen["tip"].startswith("block: %") and "aten::add" in seen["tip"] and "test_jit_drawing.py" in seen["tip"]
    assert int(seen["lit"]) >= 2
    assert seen["left"] == "none0"


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_the_page_shows_a_drawing(tmp_path, page):
    picture = tmp_path / "page.png"
    browse(tmp_path, page, f"--screenshot={picture}")
    width, height, rows = pixels(picture)
    assert (width, height) == (1200, 900)
    # Rows of one colour are compressed to hardly more than zeros: a drawing has many others.
    assert sum(len(set(row)) > 8 for row in rows) > 300
