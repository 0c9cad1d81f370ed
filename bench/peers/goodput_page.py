"""What bench/peers/goodput found, as a section of Markdown, a page of HTML that fetches nothing, and a picture."""

import html

import svg_chart
from capacity import ALONE, latencies, objective
from goodput_found import rate_of, rows, summary, whole
from svg_chart import Axis, Series

GIVEN_UP = "At most: the run was ended once the objective was out of reach; its latencies would flatter and are left out."


def load_words(found):
    load = found.settings["load"]
    of = [f"without what is longer than {load['max_tokens']} tokens"] if load["max_tokens"] else []
    of += [f"without prompts over {load['max_input']} tokens"] if load["max_input"] else []
    return (f"{' '.join([load['trace'], ' and '.join(of)]).strip()}, from second {load['from']:g} on; each run sends its first "
            f"requests, {load['requests']} or what comes in {load['seconds']:g} s if that is more")


def threads_words(found):
    threads = found.settings["load"]["threads"]
    return f"{threads} thread{'s' * (threads > 1)}"


def server_words(found):
    return [f"{name}: {what['model']}{', ' + what['is'] if what['is'] else ''}." for name, what in found.settings["servers"].items()
            if name in found.servers]


def section(found, command, date, cpu, marks, notes=(), picture=None):
    head, body = rows(found)
    lines = [marks[0], "", f"{date}: {threads_words(found)}, {cpu}. {load_words(found)}. Good is a server that "
             f"{100 * found.target:.0f} % of the offered requests find within the objective (ms):", "", f"    {command}", ""]
    for slo in found.objectives:
        lines += [f"**{slo}.** " + " ".join(summary(found, slo)), ""]
    if picture:
        lines += [f"![Share of requests that meet the objective over the offered rate, for each server]({picture})", ""]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"] + ["| " + " | ".join(row) + " |" for row in body] + [""]
    lines += [GIVEN_UP, ""]
    lines += server_words(found) + list(notes)
    return "\n".join([*lines, "", marks[1]])


def attainment_chart(found, slo):
    series, rates = [], [one["rate"] for one in found.probes if one["rate"] != ALONE]
    low, high = (min(rates) / 1.25, max(rates) * 1.15) if rates else (0.1, 10)
    left = low / 1.35  # Where one at a time stands: left of all rates.
    for number, server in enumerate(found.servers):
        one = Series(server, [], number % 8, marks=True)
        for probe in (one for one in found.shown if one["server"] == server):
            verdict = found.verdict(probe, slo)
            point = (left if probe["rate"] == ALONE else probe["rate"], verdict.at_least if verdict.exact else verdict.at_most)
            one.tips[point] = f"{server}, {rate_of(probe)}: {verdict} of {verdict.of}"
            if verdict.exact:
                one.points.append(point)
            elif verdict.at_most < found.target:  # Else it tells nothing: it was given up for another objective.
                one.hollow.append(point)
        series.append(one)
    enough = ("y", found.target, f"{100 * found.target:.0f} % is enough")
    return svg_chart.chart(f"Requests that meet {slo}", Axis("requests a second offered", left, high, log=True),
                           Axis("share of the offered", 0, 1.04, percent=True), series, [enough],
                           "arrow: at most; leftmost: one at a time")


def distribution(found, name, title, slo):
    """Of each server with nobody else there, broken, and at the highest rate that meets the objective, whole."""
    series, values_of = [], lambda probe: sorted(one[name] for one in latencies(probe["run"]) if one and name in one)
    for number, server in enumerate(found.servers):
        met, _ = found.capacity(server, slo)
        for probe in (one for one in found.of(server) if whole(one) and one["rate"] in (ALONE, met)):
            if values := values_of(probe):
                points = [(values[0], 0)] + [(value, (i + 1) / len(values)) for i, value in enumerate(values)]
                series.append(Series(f"{server}, {rate_of(probe)}", points, number % 8, dashed=probe["rate"] == ALONE, stepped=True))
    everything = [x for one in series for x, _ in one.points if x > 0]
    if not everything:
        return ""
    limit = objective(slo).get(name)
    everything += [limit] if limit else []
    low, high = min(everything) / 1.1, max(everything) * 1.1
    limits = [("x", limit, f"{limit:g} ms")] if limit else []
    return svg_chart.chart(title, Axis("milliseconds", low, high, log=True),
                           Axis("share of the answered at or below", 0, 1.04, percent=True), series, limits)


STYLE = f"""{svg_chart.LIGHT_VARIABLES}@media(prefers-color-scheme:dark){{{svg_chart.DARK_VARIABLES}}}
body{{font:15px/1.5 {svg_chart.FONT};color:var(--ink);background:var(--page);margin:2rem auto;max-width:1400px;padding:0 1rem}}
h1{{font-size:1.4rem;margin:0}}h2{{font-size:1.1rem;margin:1.6rem 0 .4rem}}p{{margin:.2rem 0}}.dim{{color:var(--dim)}}
.plots{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:1rem;margin:1rem 0}}
.one{{max-width:860px;margin:1rem 0 0}}svg{{width:100%;height:auto}}.wide{{overflow-x:auto}}
table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}
th,td{{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}}
th:first-child,td:first-child{{text-align:left}}{svg_chart.STYLE}"""


def page(found, date, cpu, notes=()):
    escape = html.escape
    head, body = rows(found)
    told = f"{date} &middot; {escape(cpu)} &middot; {threads_words(found)} &middot; {escape(load_words(found))}"
    out = ["<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">",
           f"<title>Goodput</title><style>{STYLE}</style>",
           f"<h1>Goodput: {escape(', '.join(found.servers))}</h1><p class=\"dim\">{told}</p>"]
    for slo in found.objectives:
        out.append(f"<h2>{escape(slo)} (ms), for {100 * found.target:.0f} %</h2>")
        out += [f"<p>{escape(line)}</p>" for line in summary(found, slo)]
        out.append(f'<div class="one">{attainment_chart(found, slo)}</div><div class="plots">')
        out.append(distribution(found, "ttft", "Time to the first token", slo))
        out.append(distribution(found, "tpot", "Time for each further token", slo) + "</div>")
    cells = lambda row, kind: "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row) + "</tr>"
    out += ["<h2>All runs</h2><div class=\"wide\"><table>", cells(head, "th"), *(cells(row, "td") for row in body), "</table></div>"]
    out += [f"<p class=\"dim\">{escape(line)}</p>" for line in [GIVEN_UP, *server_words(found), *notes]]
    return "\n".join(out) + "</html>\n"
