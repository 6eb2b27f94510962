# SPDX-License-Identifier: MIT
"""Figures as text: units, and tables for the terminal and for Markdown."""

HEADINGS = {"ns_per_pair": "mean", "typical_cpu_ns": "CPU ns", "cpu_ns_per_pair": "CPU ns", "fill_ns": "first mallocs",
            "clear_ns": "last frees", "fresh_ns": "ns new", "again_ns": "ns again", "chance_ns": "ns by chance",
            "requests_s": "requests/s"}


def number(value):
    """Three digits that say something."""
    if value is None:
        return "-"
    if abs(value) < 10:
        return "%.2f" % value
    return "%.1f" % value if abs(value) < 100 else "{:,.0f}".format(value).replace(",", " ")


def seconds(value):
    if value is None:
        return "-"
    return "%s s" % number(value) if value >= 1 else "%.0f ms" % (value * 1e3) if value >= 0.01 else "%.1f ms" % (value * 1e3)


def size(value):
    if value is None:
        return "-"
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return "%s %s" % ("%d" % value if unit == "B" else number(value), unit)
        value /= 1024
    return "%s GiB" % number(value)


def ratio(value, base):
    return "-" if value is None or not base else "%.2f x" % (value / base) if value < 10 * base else "%.0f x" % (value / base)


def as_text(rows):
    """The first column to the left, the others to the right.  A row with fewer cells ends in free text."""
    whole = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[i]) for row in whole) for i in range(len(rows[0]))]
    widths[0] = max(len(row[0]) for row in rows)
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        if len(row) == len(rows[0]):
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        else:
            cells += row[1:]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def as_markdown(rows):
    lines = ["| " + " | ".join(row + [""] * (len(rows[0]) - len(row))) + " |" for row in rows]
    lines.insert(1, "|---|" + "---:|" * (len(rows[0]) - 1))
    return "\n".join(lines)


def _figure_columns(workload, native, memtrack):
    """Heading and cell function of what the workload measures itself; for a loop also what the tool added."""
    columns = []
    for name in workload.figures:
        columns.append(("ns/pair" if name == workload.pair else HEADINGS[name], lambda r, name=name: number(r.median(name))))
    if workload.pair:
        def added(r):
            value, base = r.median(workload.pair), native and native.median(workload.pair)
            return value - base if value is not None and base and r is not native else None
        columns.insert(1, ("added", lambda r: number(added(r))))
        columns.insert(2, ("to memtrack's", lambda r: ratio(added(r), memtrack and added(memtrack))))
    return columns


def workload_rows(workload, results):
    """The table of one workload.  `results`: in the order of the tools."""
    by_name = {r.tool: r for r in results}
    native, memtrack = by_name.get("native"), by_name.get("memtrack")
    columns = _figure_columns(workload, native, memtrack)
    for heading, field, show in (("wall", "wall", seconds), ("CPU", "cpu", seconds), ("peak RSS", "rss", size)):
        columns.append((heading, lambda r, field=field, show=show: show(r.median(field))))
        columns.append(("", lambda r, field=field: ratio(r.median(field), native and r is not native and native.median(field))))
    columns += [("recording", lambda r: size(r.median("size"))), ("finish", lambda r: seconds(r.median("finish"))),
                ("report", lambda r: seconds(r.median("report")))]
    rows = [[""] + [heading for heading, _ in columns]]
    for r in results:
        if r.failure:
            rows.append([r.tool, r.failure])
        else:
            rows.append([r.tool] + [cell(r) for _, cell in columns])
    return rows
