"""bench/frontier_plot.py: a drawing of recall and speed of many kinds of indexes, as SVG, for light and dark pages."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 470, 64, 740, 52, 420
LOWEST_RECALL, LEGEND = 0.45, (84, 268)
# of lines: Furrow's, then peers'; a colour for light pages and one for dark ones, and a pattern
OURS = [("#1257b0", "#6cb0ff", ""), ("#1257b0", "#6cb0ff", "7 4")]
OTHERS = [("#b3400f", "#ff9466", ""), ("#8a6d00", "#e0c04c", ""), ("#7b3fa0", "#cf9bf0", ""), ("#0f7a55", "#58cfa2", ""),
          ("#777", "#999", ""), ("#777", "#999", "2 3")]


def scale(lines):
    """(slowest, fastest): log10 of queries per second at the bottom and at the top"""
    rates = [math.log10(1e6 / p["us"]) for line in lines for p in line["points"] if p["recall"] >= LOWEST_RECALL]
    return min(rates) - 0.08, max(rates) + 0.08


def place(point, span):
    x = LEFT + (point["recall"] - LOWEST_RECALL) / (1 - LOWEST_RECALL) * (RIGHT - LEFT)
    y = BOTTOM - (math.log10(1e6 / point["us"]) - span[0]) / (span[1] - span[0]) * (BOTTOM - TOP)
    return x, y


def choose_lines(report, frontier):
    """What is drawn: Furrow with and without refinement; each kind of the newest Faiss; all of the older as one"""
    points = report["points"]
    newest = "built" if any(p["by"] == "built" for p in points) else "faiss"
    lines = []
    for refined in (True, False):
        chosen = [p for p in points if p["by"] == "furrow" and ("refined" in p["kind"]) == refined]
        lines.append({"name": "Furrow, IVFPQ" + (" refined by the vectors" if refined else ""), "ours": True,
                      "points": frontier(chosen)})
    for kind in dict.fromkeys(p["kind"] for p in points if p["by"] == newest):
        chosen = [p for p in points if p["by"] == newest and p["kind"] == kind]
        lines.append({"name": kind, "ours": False, "points": frontier(chosen)})
    plain = [line for line in lines if line["name"].startswith("IVFPQ, M") and "refined" not in line["name"]]
    lines = [line for line in lines if line not in plain]
    lines.append({"name": "IVFPQ", "ours": False, "points": frontier([p for line in plain for p in line["points"]])})
    if newest == "built":
        lines.append({"name": report["titles"]["faiss"] + ", best of all", "ours": False,
                      "points": frontier([p for p in points if p["by"] == "faiss"])})
    lines = [line for line in lines if line["points"] and line["points"][-1]["recall"] >= LOWEST_RECALL]
    ours, others = iter(OURS), iter(OTHERS * 2)
    for line in lines:
        line["look"] = next(ours if line["ours"] else others)
    return lines, report["titles"][newest]


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


def axes(span):
    out = []
    for i in range(10, 21):
        recall = i / 20
        x = place({"recall": recall, "us": 1}, span)[0]
        out.append(f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/>')
        out.append(f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{BOTTOM + 17}">{recall:g}</text>')
    for power in range(1, 7):
        for times in (1, 2, 5):
            rate = times * 10 ** power
            if span[0] <= math.log10(rate) <= span[1]:
                y = place({"recall": 1, "us": 1e6 / rate}, span)[1]
                text = f"{rate // 1000} k" if rate >= 1000 else str(rate)
                out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>')
                out.append(f'<text class="small" text-anchor="end" x="{LEFT - 8}" y="{y + 4:.1f}">{text}</text>')
    out.append(f'<path class="frame" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>')
    out.append(f'<text text-anchor="middle" x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 38}">'
               "recall: share of the 10 nearest that are among the 10 found</text>")
    out.append(f'<text text-anchor="middle" transform="translate(15 {(TOP + BOTTOM) / 2}) rotate(-90)">'
               "queries a second</text>")
    return out


def draw_line(i, line, span):
    """From the side of the frame on: a line that begins left of it is cut there"""
    points = line["points"]
    inside = [p for p in points if p["recall"] >= LOWEST_RECALL]
    before = [p for p in points if p["recall"] < LOWEST_RECALL][-1:]
    spots = [place(p, span) for p in inside]
    if before:
        (x0, y0), (x1, y1) = place(before[0], span), spots[0]
        spots = [(LEFT, y0 + (y1 - y0) * (LEFT - x0) / (x1 - x0))] + spots
    out = [f'<path class="l{i}" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots) + '"/>']
    for point in inside:
        x, y = place(point, span)
        about = (f"{line['name']}: nprobe or ef {point['nprobe']}, k factor {point['k_factor']}, recall "
                 f"{point['recall']:.3f}, {point['us']:.1f} us")
        out.append(f'<circle class="p{i}" cx="{x:.1f}" cy="{y:.1f}" r="{3 if line["ours"] else 2}">'
                   f"<title>{html.escape(about)}</title></circle>")
    return out


def legend(lines, newest):
    x, y = LEGEND
    out, told = [], False
    for i, line in enumerate(lines):
        if not line["ours"] and not told:
            out.append(f'<text class="small" x="{x}" y="{y + 4}">{html.escape(newest)}:</text>')
            told, y = True, y + 18
        out.append(f'<path class="l{i}" d="M{x} {y}h26"/>')
        out.append(f'<text x="{x + 34}" y="{y + 4}">{html.escape(line["name"])}</text>')
        y += 18
    return out


def write_plot(path, report, frontier):
    """frontier: a function that leaves the points that no other beats"""
    lines, newest = choose_lines(report, frontier)
    span = scale(lines)
    title = f"Recall and speed, data set {report['data']}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'role="img" aria-label="{title}">', style(lines), '<rect class="page" width="100%" height="100%"/>',
           f'<text class="title" x="{LEFT}" y="22">{title}</text>',
           f'<text class="small" x="{LEFT}" y="40">k 10, calls of 1,000 queries, one core, by processor time; each point is a setting; up is better'
           "</text>"]
    out += axes(span)
    for i in reversed(range(len(lines))):
        out += draw_line(i, lines[i], span)
    out += legend(lines, newest)
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
