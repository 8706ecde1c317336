"""The plots of the workloads, as SVG: ratios as bars, growth as lines on logarithmic axes."""

import math
from xml.sax.saxutils import escape

from workload_report import NAMES, ratio

COLOURS = {"wisp": "#2563eb", "torch": "#ea580c"}
INK, FAINT = "#1f2937", "#d1d5db"


# --- pieces


def text(x, y, words, anchor="start", fill=INK, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{extra}>{escape(str(words))}</text>'


def line(x1, y1, x2, y2, stroke=FAINT, width=1):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'


def page(width, height, parts):
    """On white, so that it can be read on pages of any colour."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12"'
    rect = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([f"{head} {font}>", rect, *parts, "</svg>"]) + "\n"


def logarithmic(low, high, start, end):
    """A function from values between low and high to places between start and end."""
    scale = (end - start) / (math.log(high / low) or 1)
    return lambda value: start + scale * math.log(value / low)


def round_values(low, high, digits):
    """Those of the digits times powers of ten that lie between low and high."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [digit * 10.0**power for power in powers for digit in digits]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


def ticks(low, high, most=5):
    """A few round values, coarser ones the wider the range."""
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = round_values(low, high, digits)
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]


def short(value, units):
    """A number with the largest unit that is not too large for it."""
    unit, scale = next((pair for pair in units if value >= 0.999 * pair[1]), units[-1])
    return f"{value / scale:.3g} {unit}"


# --- ratios


def bar(at, y, value):
    colour = COLOURS["wisp" if value >= 1 else "torch"]
    left, right = sorted((at(1.0), at(value)))
    # The figure is right of the bar and of the line at 1: left of it is the name of the case.
    rect = f'<rect x="{left:.1f}" y="{y:.1f}" width="{max(right - left, 1):.1f}" height="14" rx="2" fill="{colour}"/>'
    return [rect, text(right + 6, y + 11, f"{value:.2f}x")]


def ratios(cases):
    """Bars from 1: to the right where wisp is faster, to the left where PyTorch is."""
    rows = {name: found for name, row in cases.items() if (found := ratio(row, "best"))}
    left, right, top, pitch = 320, 800, 62, 24
    low, high = min([0.7, *(0.9 * r for r in rows.values())]), max([2.0, *(1.15 * r for r in rows.values())])
    at, bottom = logarithmic(low, high, left, right), top + pitch * len(rows)
    parts = [text(20, 28, "Speed of wisp, times that of PyTorch", extra=' font-size="15" font-weight="600"')]
    for value in sorted({1.0, *ticks(low, high, 8)}):
        parts.append(line(at(value), top - 6, at(value), bottom, INK if value == 1 else FAINT))
        parts.append(text(at(value), top - 12, f"{value:g}x", "middle", "#6b7280"))
    for i, (name, value) in enumerate(rows.items()):
        y = top + pitch * i + 5
        parts += [text(left - 12, y + 11, name, "end"), *bar(at, y, value)]
    return page(right + 60, bottom + 20, parts)


# --- growth

PANEL = 170, 110  # width and height of the axes
CELL = 260, 190
TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
MEMORY_UNITS = (("GB", 2.0**30), ("MB", 2.0**20), ("KB", 2.0**10))
LEAST = {"best": 1e-7, "memory": 2.0**17}  # zero has no logarithm


def axes(across, up, sizes, marks, units):
    """Grid and numbers; every size that was measured has its mark."""
    for value in marks:
        yield line(0, up(value), PANEL[0], up(value))
        yield text(-6, up(value) + 4, short(value, units), "end", "#6b7280", ' font-size="10"')
    for value in sizes:
        yield line(across(value), PANEL[1], across(value), PANEL[1] + 4)
        yield text(across(value), PANEL[1] + 16, value, "middle", "#6b7280", ' font-size="10"')


def curve(across, up, points, name, key):
    places = [(across(p["size"]), up(max(p[name][key], LEAST[key]))) for p in points if name in p]
    colour = COLOURS[name]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    if places:
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def panel(title, growth, key, units):
    points = growth["points"]
    sizes = [point["size"] for point in points]
    values = [max(point[name][key], LEAST[key]) for point in points for name in NAMES if name in point]
    low, high = min(values) / 1.3, max(values) * 1.3
    # Powers of two of memory would not be round as powers of ten of bytes.
    unit = next((scale for _, scale in units if high >= scale), 1.0)
    marks = [value * unit for value in ticks(low / unit, high / unit)]
    across, up = logarithmic(min(sizes), max(sizes), 8, PANEL[0] - 8), logarithmic(low, high, PANEL[1], 0)
    yield text(0, -10, title, extra=' font-weight="600"')
    yield from axes(across, up, sizes, marks, units)
    for name in ("torch", "wisp"):
        yield from curve(across, up, points, name, key)
    yield text(PANEL[0] / 2, PANEL[1] + 32, growth["axis"], "middle")


def legend(x, y):
    for i, (name, title) in enumerate(NAMES.items()):
        yield line(x + 90 * i, y - 4, x + 90 * i + 20, y - 4, COLOURS[name], 2)
        yield text(x + 90 * i + 26, y, title)


def growth(series):
    """Two panels for each series: time and memory."""
    columns, top = 4, 80
    series = {name: found for name, found in series.items() if found["points"]}
    panels = [
        panel(title, found, key, units)
        for name, found in series.items()
        for title, key, units in ((name, "best", TIME_UNITS), ("memory", "memory", MEMORY_UNITS))
    ]
    parts = [
        text(20, 28, "Time and memory of a step", extra=' font-size="15" font-weight="600"'),
        *legend(CELL[0] * columns - 170, 28),
    ]
    for i, drawn in enumerate(panels):
        x, y = 70 + CELL[0] * (i % columns), top + CELL[1] * (i // columns)
        parts += [f'<g transform="translate({x} {y})">', *drawn, "</g>"]
    rows = -(-len(panels) // columns)
    return page(CELL[0] * columns + 10, top + CELL[1] * rows - 20, parts)
