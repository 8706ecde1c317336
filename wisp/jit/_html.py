"""A page that draws a graph: layers from top to bottom, to be moved and zoomed, with types and lines under the mouse."""

from html import escape

from wisp.jit._layout import Drawing

_STYLE = """
body { margin: 0; font: 13px/1.35 sans-serif; background: #fbfbfd; color: #1c2230; overflow: hidden }
svg { width: 100vw; height: 100vh; display: block; cursor: grab }
svg.moving { cursor: grabbing }
.node rect { fill: #fff; stroke: #8492ab; rx: 5 }
.node.prim rect { fill: #f3effc; stroke: #9a86c9 }
.node.builtin rect { fill: #f4f5f7 }
.node.end rect { fill: #e9f4ec; stroke: #7fb08d; rx: 12 }
.node.group > rect { fill: #f6f4fb; stroke: #9a86c9; stroke-dasharray: 5 3 }
.node text { font: 12px monospace }
.node text.small { font-size: 10.5px; fill: #5d6a82 }
.node:hover > rect { stroke: #d9480f; stroke-width: 2 }
.edge { fill: none; stroke: #a9b4c6; stroke-width: 1.3; marker-end: url(#arrow) }
.edge.lit { stroke: #d9480f; stroke-width: 2.2; marker-end: url(#lit-arrow) }
marker path { fill: #8492ab }
#lit-arrow path { fill: #d9480f }
#tip { position: fixed; display: none; max-width: 46em; padding: .5em .8em; background: #1c2230; color: #f1f3f7;
       border-radius: 5px; font: 12px/1.45 monospace; white-space: pre-wrap; pointer-events: none; z-index: 2 }
h1 { position: fixed; margin: .7em 1em; font-size: 14px; z-index: 1; pointer-events: none }
"""

_SCRIPT = """
const svg = document.querySelector("svg"), tip = document.getElementById("tip");
const whole = svg.viewBox.baseVal, view = {x: whole.x, y: whole.y, w: whole.width, h: whole.height};
const show = () => svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" "));
const scale = () => Math.max(view.w / svg.clientWidth, view.h / svg.clientHeight);
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const factor = Math.exp(Math.sign(event.deltaY) * 0.15);
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  view.x = at.x - (at.x - view.x) * factor; view.y = at.y - (at.y - view.y) * factor;
  view.w *= factor; view.h *= factor; show();
}, {passive: false});
let from = null;
svg.addEventListener("pointerdown", event => { from = event; svg.classList.add("moving"); });
window.addEventListener("pointerup", () => { from = null; svg.classList.remove("moving"); });
window.addEventListener("pointermove", event => {
  if (from) {
    view.x -= (event.clientX - from.clientX) * scale(); view.y -= (event.clientY - from.clientY) * scale();
    from = event; show();
  }
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
});
svg.addEventListener("dblclick", () => {
  Object.assign(view, {x: whole0[0], y: whole0[1], w: whole0[2], h: whole0[3]}); show();
});
const whole0 = [view.x, view.y, view.w, view.h];
document.querySelectorAll(".node").forEach(node => {
  const mine = document.querySelectorAll(`.edge[data-from="${node.id}"], .edge[data-to="${node.id}"]`);
  node.addEventListener("pointerenter", () => {
    tip.textContent = node.dataset.tip; tip.style.display = "block"; mine.forEach(edge => edge.classList.add("lit"));
  });
  node.addEventListener("pointerleave", () => {
    tip.style.display = "none"; mine.forEach(edge => edge.classList.remove("lit"));
  });
});
"""


def _arrow(name):
    """The head of an edge, as large on those that are drawn thicker."""
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" orient="auto"'
        ' markerUnits="userSpaceOnUse"><path d="M0 0.5 L8 4 L0 7.5 z"/></marker>'
    )


_ARROWS = f"<defs>{_arrow('arrow')}{_arrow('lit-arrow')}</defs>"


def graph_html(graph, title=None):
    """A page of HTML, without anything from elsewhere, that draws a graph.

    The wheel zooms, dragging moves, a double click shows all again; the mouse on a node shows its types and the line of
    the program that it comes from.

    Args:
        graph: a graph, or a compiled function or module.
        title: of the page.

    >>> page = wisp.jit.graph_html(wisp.jit.trace(wisp.exp, wisp.ones(2)))
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    title = title or getattr(graph, "original_name", None) or getattr(graph, "name", None) or "graph"
    drawing = Drawing(getattr(graph, "graph", graph))
    groups = [box for box in drawing.boxes if box.inner]  # edges are above these and below the others
    plain = [box for box in drawing.boxes if not box.inner]
    body = "".join([*map(_box, groups), *map(_edge, drawing.edges), *map(_box, plain)])
    margin = 40
    view = f"{-margin} {-margin} {drawing.width + 2 * margin:.0f} {drawing.height + 2 * margin:.0f}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}">{_ARROWS}{body}</svg><div id="tip"></div>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _box(box):
    middle = box.x + box.width / 2
    lines = [f'<text x="{middle:.1f}" y="{box.y + 17:.1f}" text-anchor="middle">{escape(box.label)}</text>']
    if box.note:
        lines.append(
            f'<text class="small" x="{middle:.1f}" y="{box.y + 32:.1f}" text-anchor="middle">{escape(box.note)}</text>'
        )
    shape = f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
    return f'<g class="node {box.kind}" id="n{box.number}" data-tip="{escape(box.tip)}">{shape}{"".join(lines)}</g>'


def _edge(edge):
    a, b = edge.source, edge.target
    x1, y1, x2, y2 = a.x + a.width / 2, a.bottom, b.x + b.width / 2, b.y
    bend = max(18, (y2 - y1) / 2)
    path = f"M{x1:.1f} {y1:.1f} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path class="edge" data-from="n{a.number}" data-to="n{b.number}" d="{path}"/>'
