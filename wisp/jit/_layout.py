"""Where the nodes of a graph stand in a drawing: each below those it reads from, near them, blocks inside their node."""

from collections import namedtuple

_CHAR, _ROW, _GAP_X, _GAP_Y, _PAD = 7.3, 17, 22, 34, 14
_LONGEST = 60
_NEAR_USERS = ("prim::GetAttr", "prim::Constant")

Edge = namedtuple("Edge", "source target")


class Box:
    """A node in the drawing; ``bottom`` is where edges leave it."""

    def __init__(self, number, label, note, tip, kind):
        self.number, self.label, self.note, self.tip, self.kind = number, label, note, tip, kind
        self.width = max(len(label), 0.87 * len(note)) * _CHAR + 2 * 8
        self.height = 24 + (15 if note else 0)
        self.x = self.y = 0.0
        self.inner = []

    @property
    def bottom(self):
        return self.y + self.height

    def move(self, x, y):
        self.x, self.y = self.x + x, self.y + y
        for box in self.inner:
            box.move(x, y)


def _cut(text):
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


class Drawing:
    """A graph laid out.

    Attributes:
        boxes: those around others first.
        edges: from the box that computes a value to those that read it.
        width, height: of all.
    """

    def __init__(self, graph):
        self.boxes, self.edges, self.owner, self.texts = [], [], {}, {}
        self.width, self.height = self._block(graph)[1:]

    # --- what there is

    def _block(self, block):
        """Boxes of a block with its parameters and results, laid out at the origin: (boxes, width, height)."""
        boxes = [self._end("%" + value.name, value.type, value) for value in block.inputs()]
        for node in block.nodes():
            if not self._is_shown_as_text(node):
                boxes.append(self._node(node))
        for value in block.outputs():
            box = self._end("return %" + value.name, value.type, None)
            boxes.append(box)
            self._connect(value, box)
        return self._place(boxes)

    def _is_shown_as_text(self, node):
        """Small constants stand in the boxes of those who use them."""
        if node.kind() != "prim::Constant":
            return False
        value = node.attributes["value"]
        shown = f"<{node.outputs()[0].type}>" if hasattr(value, "shape") else repr(value)
        self.texts[node.outputs()[0]] = _cut(shown)
        return not hasattr(value, "shape")

    def _new(self, label, note, tip, kind):
        box = Box(len(self.boxes), _cut(label), _cut(note), tip, kind)
        self.boxes.append(box)
        return box

    def _end(self, label, type_text, value):
        box = self._new(label, type_text, f"{label} : {type_text}", "end")
        if value is not None:
            self.owner[value] = box
        return box

    def _node(self, node):
        kind = node.kind()
        arguments = ", ".join(self.texts.get(value, "%" + value.name) for value in node.inputs())
        attributes = ", ".join(
            f"{name}={value!r}" for name, value in node.attributes.items() if not hasattr(value, "shape")
        )
        label = kind.removeprefix("aten::") + (f" {attributes}" if attributes else "")
        results = ", ".join(f"%{value.name} : {value.type}" for value in node.outputs())
        tip = f"{results}{' = ' if results else ''}{kind}({arguments})"
        if node.place:
            tip += f"\n{node.place}"
        box = self._new(label, arguments and f"({arguments})", tip, "prim" if kind.startswith("prim::") else "op")
        for value in node.inputs():
            self._connect(value, box)
        for value in node.outputs():
            self.owner[value] = box
        self._fill(box, node)
        return box

    def _fill(self, box, node):
        """Puts the blocks of a node side by side into its box."""
        x, tallest, top = _PAD, 0, box.height + 6
        for block in node.blocks():
            inner, width, height = self._block(block)
            for each in inner:
                each.move(x, top)
            box.inner += inner
            x, tallest = x + width + _PAD, max(tallest, height)
        if node.blocks():
            box.kind += " group"
            box.width, box.height = max(box.width, x), top + tallest + _PAD

    def _connect(self, value, box):
        source = self.owner.get(value)
        if source is not None and Edge(source, box) not in self.edges[-8:]:
            self.edges.append(Edge(source, box))

    # --- where it goes

    def _place(self, boxes):
        """Rows by distance from what is read, each row ordered by the middle of its neighbours above."""
        ours = {box: i for i, box in enumerate(boxes)}
        above = {box: [] for box in boxes}
        for edge in self.edges:
            if edge.source in ours and edge.target in ours:
                above[edge.target].append(edge.source)
        depth = {}
        for box in boxes:
            depth[box] = max((depth[each] + 1 for each in above[box]), default=0)
        last = max(depth.values(), default=0)
        for box in reversed(boxes):  # results at the end, attributes just above those who read them
            users = [depth[each] for each in boxes if box in above[each]] if box.label.startswith(_NEAR_USERS) else ()
            if box.label.startswith("return "):
                depth[box] = last
            elif users:
                depth[box] = min(users) - 1
        rows = [[box for box in boxes if depth[box] == i] for i in range(last + 1)]
        width = max((sum(box.width + _GAP_X for box in row) - _GAP_X for row in rows if row), default=0)
        y = 0
        for row in rows:
            self._place_row(row, above, width, y)
            y += max((box.height for box in row), default=0) + _GAP_Y
        return boxes, width, max(y - _GAP_Y, 0)

    def _place_row(self, row, above, width, y):
        def middle(box):
            found = above[box]
            return sum(each.x + each.width / 2 for each in found) / len(found) if found else width / 2

        wanted = {box: middle(box) for box in row}
        row.sort(key=wanted.get)
        free = width - sum(box.width + _GAP_X for box in row) + _GAP_X
        x = 0
        for box in row:
            target = min(max(wanted[box] - box.width / 2, x), x + free)
            free -= target - x
            box.move(target - box.x, y - box.y)
            x = target + box.width + _GAP_X
