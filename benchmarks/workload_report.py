"""The tables of the workloads in Markdown."""

from result_tables import duration

NAMES = {"wisp": "wisp", "torch": "PyTorch"}


def size(count):
    return f"{count / 2**20:.3g} MB" if count < 100 << 20 else f"{count / 2**20:.0f} MB"


def ratio(row, key):
    """How many times as much PyTorch takes; None where one of both is missing."""
    if "wisp" not in row or "torch" not in row or not row["wisp"][key]:
        return None
    return row["torch"][key] / row["wisp"][key]


def cell(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def of_library(row, name, key, form):
    return form(row[name][key]) if name in row else "-"


def physical_limit(row):
    """What no program can go below, with the reason, and the share of it that wisp reaches."""
    reason = max(("products", "traffic"), key=row["limit"].get)
    seconds = row["limit"][reason]
    share = f"{100 * seconds / row['wisp']['best']:.0f}%" if "wisp" in row else "-"
    return f"{duration(seconds)} ({reason})", share


def machine_lines(machine):
    if not machine:
        return []
    libraries = ", ".join(f"{NAMES[name]} {version.split('+')[0]}" for name, version in machine["versions"].items())
    copies = ", ".join(f"{rate / 1e9:.0f} ({megabytes} MB)" for megabytes, rate in machine["copies"].items())
    return [
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, {machine['date']}; {libraries}.",
        f"Measured in the same run: products of large matrices {machine['flops'] / 1e9:.0f} GFLOP/s, copies {copies} GB/s.",
        "",
    ]


EXPLANATION = """\
Each figure is the best step of several processes per library, started alternately. Times faster and times less memory
are PyTorch's figure divided by wisp's; memory is the peak above what the process had after the import. The limit is the
larger of two times: all matrix products at the highest measured rate, and the least traffic of memory at the measured
rate of copies of that extent. Reached is the share of wisp's time that the limit accounts for.
"""


def case_lines(cases):
    lines = [
        "| case | wisp | PyTorch | times faster | times less memory | limit | reached |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in cases.items():
        times = [of_library(row, library, "best", duration) for library in NAMES]
        ratios = [cell(ratio(row, key)) for key in ("best", "memory")]
        lines.append(f"| {' | '.join([name, *times, *ratios, *physical_limit(row)])} |")
    return lines


def growth_lines(name, growth):
    yield from ("", f"### {name}", "")
    yield f"| {growth['axis']} | wisp | PyTorch | times faster | wisp, memory | PyTorch, memory |"
    yield "|---|---|---|---|---|---|"
    for point in growth["points"]:
        times, sizes = (
            [of_library(point, n, key, f) for n in NAMES] for key, f in (("best", duration), ("memory", size))
        )
        yield f"| {' | '.join([str(point['size']), *times, cell(ratio(point, 'best')), *sizes])} |"


def markdown(results):
    lines = ["# Workloads", "", *machine_lines(results["machine"]), EXPLANATION]
    if results["cases"]:
        lines += ["![times faster than PyTorch](workloads.svg)", "", *case_lines(results["cases"])]
    if results["growth"]:
        lines += ["", "## Growth", "", "![time and memory by size](growth.svg)"]
        for name, growth in results["growth"].items():
            lines += growth_lines(name, growth)
    return "\n".join(lines) + "\n"
