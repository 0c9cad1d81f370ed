"""A line chart as SVG text, for a page that has STYLE or as a file of its own. Series are drawn in the order of their
names' colours, the legend stands in a row of its own under the title, and what a point means is in its tooltip.
"""

import dataclasses
import html
import math

COLOURS = ("#0b6bcb", "#d1495b", "#2a9d6f", "#b8860b", "#7b4fb5", "#0f8b8d", "#c2571a", "#5f6b7a")
DARK = ("#5aa9f5", "#f07f8d", "#5fd1a0", "#e0b64a", "#b394e6", "#52c7c9", "#f0935a", "#a3afbf")
FONT = "system-ui,-apple-system,'DejaVu Sans',sans-serif"
STYLE = f"""
svg text{{font:12px {FONT};fill:var(--dim)}}svg .title{{font-size:14px;font-weight:600;fill:var(--ink)}}
svg .name{{fill:var(--ink)}}svg .note{{font-size:11px}}svg .grid{{stroke:var(--grid)}}svg .axis{{stroke:var(--dim);fill:none}}
svg .limit{{stroke:var(--dim);stroke-dasharray:5 4;fill:none}}svg .halo{{paint-order:stroke;stroke:var(--page);stroke-width:4px}}
"""
LIGHT_VARIABLES = ":root{--ink:#1c2430;--dim:#5b6675;--grid:#e3e7ec;--page:#fff;" + \
    ";".join(f"--s{i}:{c}" for i, c in enumerate(COLOURS)) + "}"
DARK_VARIABLES = ":root{--ink:#e6e9ee;--dim:#9aa5b4;--grid:#2c3440;--page:#14181f;" + \
    ";".join(f"--s{i}:{c}" for i, c in enumerate(DARK)) + "}"

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 360, 62, 20, 64, 50


@dataclasses.dataclass
class Series:
    name: str
    points: list  # (x, y)
    colour: int = 0
    dashed: bool = False
    stepped: bool = False  # It holds its value until the next point.
    marks: bool = False
    hollow: list = dataclasses.field(default_factory=list)  # (x, y): no more than y is known.
    tips: dict = dataclasses.field(default_factory=dict)  # (x, y): what the tooltip says.


@dataclasses.dataclass
class Axis:
    label: str
    low: float
    high: float
    log: bool = False
    percent: bool = False
    begin: float = 0
    end: float = 1

    def at(self, value):
        scale = math.log if self.log else float
        share = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.begin + min(max(share, 0), 1) * (self.end - self.begin)

    def ticks(self):
        if not self.log:
            step = next(s * 10 ** d for d in range(-6, 9) for s in (1, 2, 2.5, 5) if s * 10 ** d >= (self.high - self.low) / 5.5)
            first = math.ceil(self.low / step - 1e-9)
            return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1,)):
            ticks = [s * 10 ** d for d in decades for s in steps if self.low / 1.0001 <= s * 10 ** d <= self.high * 1.0001]
            if len(ticks) <= 9:
                break
        return ticks

    def shown(self, tick):
        return f"{100 * tick:.0f} %" if self.percent else f"{tick:,.10g}"


def text(x, y, words, kind="", anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def width_of(words):
    return 6.9 * len(words)  # At 12 pixels; a little over what the fonts take.


def legend(series):
    out, x, y = [], LEFT, 42
    for one in series:
        if not one.name:
            continue
        needed = 30 + width_of(one.name)
        if x > LEFT and x + needed > WIDTH - RIGHT:
            x, y = LEFT, y + 16
        dash = ' stroke-dasharray="4 3"' if one.dashed else ""
        out.append(f'<path d="M{x:.1f} {y - 4}h18" fill="none" stroke="var(--s{one.colour})" stroke-width="2.4"{dash}/>')
        out.append(text(x + 23, y, one.name, "name"))
        x += needed + 12
    return "".join(out), y


def path(one, x, y):
    out, last = [], None
    for px, py in one.points:
        at = x.at(px), y.at(py)
        out.append(f"M{at[0]:.1f} {at[1]:.1f}" if last is None else
                   f"H{at[0]:.1f}V{at[1]:.1f}" if one.stepped else f"L{at[0]:.1f} {at[1]:.1f}")
        last = at
    return "".join(out)


def tip(one, point):
    return f"<title>{html.escape(one.tips[point])}</title>" if point in one.tips else ""


def mark(one, point, x, y, hollow):
    at, colour = (x.at(point[0]), y.at(point[1])), f"var(--s{one.colour})"
    if not hollow:
        return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3.6" fill="{colour}">{tip(one, point)}</circle>'
    # A bar with an arrow down from it: the share is there or below.
    return (f'<path d="M{at[0] - 4:.1f} {at[1]:.1f}h8m-4 0v9m-3 -3l3 3l3 -3" fill="none" stroke="{colour}" '
            f'stroke-width="1.8">{tip(one, point)}</path>')


def chart(title, x, y, series, limits=(), note=""):
    """limits: (axis "x" or "y", value, words) drawn as broken lines. Axes are given without pixels."""
    key, bottom = legend(series)
    top = max(TOP, bottom + 18)
    height = HEIGHT + top - TOP
    x = dataclasses.replace(x, begin=LEFT, end=WIDTH - RIGHT)
    y = dataclasses.replace(y, begin=height - BOTTOM, end=top)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}">',
           text(LEFT, 20, title, "title"), key]
    for tick in y.ticks():
        at = y.at(tick)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{x.end}" y1="{at:.1f}" y2="{at:.1f}"/>' +
                   text(LEFT - 8, at + 4, y.shown(tick), "", "end"))
    for tick in x.ticks():
        at = x.at(tick)
        out.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{y.end}" y2="{y.begin}"/>' +
                   text(at, y.begin + 18, x.shown(tick), "", "middle"))
    out.append(f'<path class="axis" d="M{LEFT} {top}V{y.begin}H{x.end}"/>')
    out.append(text((x.begin + x.end) / 2, height - 12, x.label, "", "middle"))
    out.append(text(0, 0, y.label, "", "middle", f' transform="translate(16 {(y.begin + y.end) / 2:.0f}) rotate(-90)"'))
    for axis, value, words in limits:
        if axis == "x":
            at = x.at(value)
            right = at < WIDTH - RIGHT - width_of(words)
            out.append(f'<path class="limit" d="M{at:.1f} {top}V{y.begin}"/>' +
                       text(at + (5 if right else -5), y.begin - 7, words, "note halo", "start" if right else "end"))
        else:
            at = y.at(value)
            out.append(f'<path class="limit" d="M{LEFT} {at:.1f}H{x.end}"/>' + text(LEFT + 6, at + 14, words, "note halo"))
    for one in series:
        dash = ' stroke-dasharray="5 4"' if one.dashed else ""
        if len(one.points) > 1:
            out.append(f'<path d="{path(one, x, y)}" fill="none" stroke="var(--s{one.colour})" stroke-width="2"{dash}/>')
        out += [mark(one, point, x, y, False) for point in one.points if one.marks or len(one.points) == 1]
        out += [mark(one, point, x, y, True) for point in one.hollow]
    if note:
        out.append(text(x.end, 20, note, "note", "end"))
    return "".join(out) + "</svg>\n"


def alone(svg):
    """The chart as a file: white, whatever the page around it."""
    begin = svg.index(">") + 1
    size = svg[:begin].split('viewBox="0 0 ')[1].split('"')[0].split()
    return (svg[:begin - 1] + f' width="{size[0]}" height="{size[1]}"><style>{LIGHT_VARIABLES}{STYLE}</style>'
            f'<rect width="{size[0]}" height="{size[1]}" fill="#fff"/>' + svg[begin:])
