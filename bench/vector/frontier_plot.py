"""bench/vector/frontier_plot.py: a drawing of recall and speed of many kinds of indexes, as SVG, for light and dark pages.

A panel for each level of instructions, all of one scale; recall is drawn by the logarithm of what is missing.
"""
import html
import math

PANEL, HEIGHT, LEFT, GAP, TOP, BOTTOM = 440, 500, 64, 28, 72, 400  # BOTTOM: of the panels; the legend is below
LOWEST_RECALL, HIGHEST_RECALL = 0.45, 0.998
TICKS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995]
# of lines: Furrow's, then peers'; a colour for light pages and one for dark ones, and a pattern
OURS = {"HNSW": ("#1257b0", "#6cb0ff", ""), "IVFPQ refined by the vectors": ("#1257b0", "#6cb0ff", "7 4"),
        "IVFPQ": ("#1257b0", "#6cb0ff", "2 3")}
OTHERS = [("#b3400f", "#ff9466", ""), ("#8a6d00", "#e0c04c", ""), ("#7b3fa0", "#cf9bf0", ""), ("#0f7a55", "#58cfa2", ""),
          ("#777", "#999", ""), ("#777", "#999", "2 3")]
# kinds that are one line: how their names begin
FAMILIES = ["FastScan", "RaBitQ", "HNSW", "IVFPQ", "hnswlib"]


def scale(panels):
    """(slowest, fastest): log10 of queries per second at the bottom and at the top"""
    rates = [math.log10(1e6 / p["us"]) for lines in panels for line in lines for p in line["points"]
             if LOWEST_RECALL <= p["recall"] <= HIGHEST_RECALL]
    return min(rates) - 0.08, max(rates) + 0.08


def place(point, span, left):
    recall = min(point["recall"], HIGHEST_RECALL)
    x = left + PANEL * math.log((1 - LOWEST_RECALL) / (1 - recall)) / math.log((1 - LOWEST_RECALL) / (1 - HIGHEST_RECALL))
    y = BOTTOM - (math.log10(1e6 / point["us"]) - span[0]) / (span[1] - span[0]) * (BOTTOM - TOP)
    return x, y


def own_family(kind):
    return "HNSW" if kind.startswith("HNSW") else "IVFPQ refined by the vectors" if "refined" in kind else "IVFPQ"


def choose_lines(report, frontier, level):
    """What is drawn: Furrow's graphs, and its lists with and without refinement; each family of kinds of the others"""
    points = [p for p in report["points"] if p["level"] == level]
    lines = []
    for family, look in OURS.items():
        chosen = [p for p in points if p["by"] == "furrow" and own_family(p["kind"]) == family]
        lines.append({"name": f"Furrow, {family}", "ours": True, "points": frontier(chosen), "look": look})
    for by in dict.fromkeys(p["by"] for p in points if p["by"] != "furrow"):
        for i, family in enumerate(FAMILIES):
            chosen = [p for p in points if p["by"] == by and p["kind"].startswith(family)]
            if chosen:
                name = family if by == "hnswlib" else f"{report['titles'][by]}, {family}"
                lines.append({"name": name, "ours": False, "points": frontier(chosen), "look": OTHERS[i]})
    return lines


def style(lines):
    rules = ["text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:#333}.title{font-size:15px;font-weight:600}"
             ".small{fill:#666}.grid{stroke:#e4e4e4;fill:none}.frame{stroke:#999;fill:none}.page{fill:#fff}"
             "path,circle{vector-effect:non-scaling-stroke}"]
    dark = ["text{fill:#ddd}.small{fill:#aaa}.grid{stroke:#333}.frame{stroke:#777}.page{fill:#0d1117}"]
    for i, line in enumerate(lines):
        light, night, dash = line["look"]
        width = 2.6 if line["ours"] else 1.5
        rules.append(f".l{i}{{stroke:{light};fill:none;stroke-width:{width}"
                     + (f";stroke-dasharray:{dash}" if dash else "") + f"}}.p{i}{{fill:{light}}}")
        dark.append(f".l{i}{{stroke:{night}}}.p{i}{{fill:{night}}}")
    return "<style>" + "".join(rules) + "@media(prefers-color-scheme:dark){" + "".join(dark) + "}</style>"


def axes(span, left, title):
    out = [f'<text x="{left}" y="{TOP - 10}">{title}</text>']
    for recall in TICKS:
        x = place({"recall": recall, "us": 1}, span, left)[0]
        out.append(f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/>')
        out.append(f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{BOTTOM + 17}">{recall:g}</text>')
    for power in range(1, 7):
        for times in (1, 2, 5):
            rate = times * 10 ** power
            if span[0] <= math.log10(rate) <= span[1]:
                y = place({"recall": 0, "us": 1e6 / rate}, span, left)[1]
                out.append(f'<path class="grid" d="M{left} {y:.1f}h{PANEL}"/>')
                if left == LEFT:
                    text = f"{rate // 1000} k" if rate >= 1000 else str(rate)
                    out.append(f'<text class="small" text-anchor="end" x="{left - 8}" y="{y + 4:.1f}">{text}</text>')
    out.append(f'<path class="frame" d="M{left} {TOP}V{BOTTOM}h{PANEL}"/>')
    return out


def draw_line(i, line, span, left):
    """From the side of the frame on: a line that begins left of it is cut there"""
    points = line["points"]
    inside = [p for p in points if LOWEST_RECALL <= p["recall"] <= HIGHEST_RECALL]
    before = [p for p in points if p["recall"] < LOWEST_RECALL][-1:]
    spots = [place(p, span, left) for p in inside]
    if not spots:
        return []
    if before:
        (x0, y0), (x1, y1) = place(before[0], span, left), spots[0]
        spots = [(left, y0 + (y1 - y0) * (left - x0) / (x1 - x0))] + spots
    out = [f'<path class="l{i}" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots) + '"/>']
    for point in inside:
        x, y = place(point, span, left)
        about = (f"{line['name']}: {point['kind']}, nprobe or ef {point['nprobe']}, k factor {point['k_factor']}, recall "
                 f"{point['recall']:.3f}, {point['us']:.1f} us")
        out.append(f'<circle class="p{i}" cx="{x:.1f}" cy="{y:.1f}" r="{3 if line["ours"] else 2}">'
                   f"<title>{html.escape(about)}</title></circle>")
    return out


def legend(lines, width):
    """Below the panels, in three columns"""
    out, rows = [], (len(lines) + 2) // 3
    for i, line in enumerate(lines):
        x, y = LEFT + i // rows * (width - LEFT) // 3, BOTTOM + 58 + i % rows * 17
        out.append(f'<path class="l{i}" d="M{x} {y}h26"/>')
        out.append(f'<text x="{x + 34}" y="{y + 4}">{html.escape(line["name"])}</text>')
    return out


def write_plot(path, report, frontier, levels):
    """frontier: a function that leaves the points that no other beats; levels: {name in points: title}"""
    panels = [choose_lines(report, frontier, level) for level in levels]
    span, width = scale(panels), LEFT + len(panels) * (PANEL + GAP)
    title = f"Recall and speed, data set {report['data']}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
           f'role="img" aria-label="{title}">', style(panels[0]), '<rect class="page" width="100%" height="100%"/>',
           f'<text class="title" x="{LEFT}" y="22">{title}</text>',
           f'<text class="small" x="{LEFT}" y="40">k 10, calls of 1,000 queries, one core, by processor time; each point is '
           "a setting; up is better</text>"]
    for number, (lines, name) in enumerate(zip(panels, levels.values())):
        left = LEFT + number * (PANEL + GAP)
        out += axes(span, left, name)
        for i in reversed(range(len(lines))):
            out += draw_line(i, lines[i], span, left)
    out.append(f'<text text-anchor="middle" x="{(LEFT + width) / 2:.0f}" y="{BOTTOM + 38}">'
               "recall: share of the 10 nearest that are among the 10 found</text>")
    out.append(f'<text text-anchor="middle" transform="translate(15 {(TOP + BOTTOM) / 2}) rotate(-90)">'
               "queries a second</text>")
    out += legend(panels[0], width)
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
