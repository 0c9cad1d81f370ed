"""What bench/peers/goodput found, as a section of Markdown, a page of HTML that fetches nothing, and a picture."""

import html

import svg_chart
from capacity import ALONE, judge, known, latencies, objective, quantile
from svg_chart import Axis, Series


class Found:
    """What the runs in a folder say of each server and objective."""

    def __init__(self, settings, probes, outputs, objectives, target):
        self.settings, self.outputs, self.objectives, self.target = settings, outputs, objectives, target
        asked = {one["server"] for one in probes}
        self.servers = sorted((name for name in settings["servers"] if name in asked), key=lambda name: name == "weir")  # Ours last.
        self.probes = sorted(probes, key=lambda one: (self.servers.index(one["server"]), one["rate"], one["seed"]))

    def verdict(self, probe, slo):
        return judge(objective(slo), probe["run"], self.outputs[:probe["requests"]])

    @property
    def shown(self):
        """Without runs that were given up where a whole one was made later."""
        ended = {(one["server"], one["rate"]) for one in self.probes if whole(one)}
        return [one for one in self.probes if whole(one) or (one["server"], one["rate"]) not in ended]

    def of(self, server):
        return [one for one in self.probes if one["server"] == server]

    def tried(self, server, slo):
        """{rate: whether it met}, by the last run that tells."""
        tried = {}
        for probe in sorted(self.of(server), key=lambda one: one["seed"]):
            met = self.verdict(probe, slo).met(self.target)
            if met is None and probe["slo"] == slo and not probe["run"]["weir"]["stopped"].startswith("it was interrupted"):
                met = False  # It had all the time there was.
            if met is not None:
                tried[probe["rate"]] = met
        return tried

    def capacity(self, server, slo):
        """The highest rate that met, and the lowest that missed; either may be None."""
        return known({rate: met for rate, met in self.tried(server, slo).items() if rate != ALONE})

    def service_time(self, server):
        """Mean seconds of an answer with nobody else there; None when that was not measured."""
        for probe in self.of(server):
            if probe["rate"] == ALONE:
                done = [one["e2el"] for one in latencies(probe["run"]) if one]
                return sum(done) / len(done) / 1e3 if done else None

    def probe_at(self, server, rate):
        return [one for one in self.of(server) if one["rate"] == rate][-1]


def rate_of(probe):
    return "one at a time" if probe["rate"] == ALONE else f"{probe['rate']:.3g}"


def whole(probe):
    """It went to its end: latencies of those that were answered before it was given up would flatter the server."""
    return not probe["run"]["weir"]["stopped"]


def spread(probe, name, digits):
    values = [one[name] for one in latencies(probe["run"]) if one and name in one]
    if not values or not whole(probe):
        return "–"
    return f"{quantile(values, .5):,.{digits}f} / {quantile(values, .9):,.{digits}f}"


def good_rate(found, probe, slo):
    """Good requests a second, in a run at a rate that went to its end; else None."""
    verdict = found.verdict(probe, slo)
    return probe["rate"] * verdict.at_least if probe["rate"] != ALONE and whole(probe) else None


def sentence(found, server, slo):
    tried, (met, missed) = found.tried(server, slo), found.capacity(server, slo)
    percent = f"{100 * found.target:.0f} %"
    if met is not None:
        at = found.verdict(found.probe_at(server, met), slo)
        to = f"misses it at {missed:.3g}/s" if missed is not None else "no higher rate was tried"
        return f"{server} meets it at {met:.3g} requests/s ({at.good} of {at.of} did) and {to}."
    if tried.get(ALONE) is False:
        at = found.verdict(found.probe_at(server, ALONE), slo)
        return f"{server} meets it at no rate: of requests sent one at a time, with nobody else there, {at} do, not {percent}."
    if missed is not None:
        at = found.verdict(found.probe_at(server, missed), slo)
        return f"{server} meets it at no rate tried: {at} do at {missed:.3g} requests/s, not {percent}."
    return f"{server}: the search ended before it tried a rate."


def ratio(found, slo):
    """Of the last server's rate to each other's: what there is to say."""
    ours = found.servers[-1]
    rate, _ = found.capacity(ours, slo)
    told = []
    for other in found.servers[:-1]:
        theirs, missed = found.capacity(other, slo)
        if rate is None:
            continue
        if theirs is not None and missed is not None:
            told.append(f"{ours} takes {rate / theirs:.1f} times the rate of {other}, and {rate / missed:.1f} times a rate that it misses.")
        elif theirs is not None:
            told.append(f"There is no ratio of {ours} to {other} yet, whose limit was not found.")
        elif found.tried(other, slo).get(ALONE) is False:
            told.append(f"There is no ratio of {ours} to {other}, whose rate is none.")
        elif missed is not None:
            told.append(f"{ours} takes over {rate / missed:.1f} times the rate of {other}.")
    return told


def summary(found, slo):
    lines = [sentence(found, server, slo) for server in found.servers] + ratio(found, slo)
    best = [(server, max((rate for one in found.of(server) if (rate := good_rate(found, one, slo)) is not None), default=None))
            for server in found.servers]
    if told := [f"{server} {rate:.3g}" for server, rate in best if rate is not None]:
        lines.append("Most good requests a second in runs that went to their end, whatever share they were: " + ", ".join(told) + ".")
    return lines


def share(found, probe, slo):
    """Nothing where the run was given up for another objective."""
    verdict = found.verdict(probe, slo)
    return str(verdict) if verdict.exact or verdict.at_most < found.target else "–"


def rows(found):
    head = ["server", "offered/s", "requests", *(f"meet {slo}" for slo in found.objectives), "TTFT p50 / p90 ms", "TPOT p50 / p90 ms"]
    body = [[one["server"], rate_of(one), str(one["requests"]), *(share(found, one, slo) for slo in found.objectives),
             spread(one, "ttft", 0), spread(one, "tpot", 1)] for one in found.shown]
    return head, body


def load_words(found):
    load = found.settings["load"]
    of = [f"without what is longer than {load['max_tokens']} tokens"] if load["max_tokens"] else []
    of += [f"without prompts over {load['max_input']} tokens"] if load["max_input"] else []
    return (f"{load['trace']}{' ' if of else ''}{' and '.join(of)}, from second {load['from']:g} on; each run sends its first requests, "
            f"{load['requests']} or what comes in {load['seconds']:g} s if that is more")


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
    lines += ["\"At most\": the run was ended once the objective was out of reach; its latencies would flatter and are left out.", ""]
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
    words = "arrow: at most; leftmost: one at a time"
    return svg_chart.chart(f"Requests that meet {slo}", Axis("requests a second offered", left, high, log=True),
                           Axis("share of the offered", 0, 1.04, percent=True), series, [("y", found.target, f"{100 * found.target:.0f} % is enough")],
                           words)


def distribution(found, name, title, slo):
    """Of each server with nobody else there, broken, and at the highest rate that meets the objective, whole."""
    series, values_of = [], lambda probe: sorted(one[name] for one in latencies(probe["run"]) if one and name in one)
    for number, server in enumerate(found.servers):
        met, _ = found.capacity(server, slo)
        for probe, dashed in [(one, one["rate"] == ALONE) for one in found.of(server) if whole(one) and one["rate"] in (ALONE, met)]:
            if values := values_of(probe):
                points = [(values[0], 0)] + [(value, (i + 1) / len(values)) for i, value in enumerate(values)]
                series.append(Series(f"{server}, {rate_of(probe)}{'' if dashed else '/s'}", points, number % 8, dashed=dashed, stepped=True))
    everything = [x for one in series for x, _ in one.points if x > 0]
    if not everything:
        return ""
    limit = objective(slo).get(name)
    everything += [limit] if limit else []
    low, high = min(everything) / 1.1, max(everything) * 1.1
    limits = [("x", limit, f"{limit:g} ms")] if limit else []
    return svg_chart.chart(title, Axis("milliseconds", low, high, log=True), Axis("share of the answered at or below", 0, 1.04, percent=True), series, limits)


def page(found, date, cpu, notes=()):
    escape = html.escape
    head, body = rows(found)
    out = ["<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
           f"<title>Goodput</title><style>{svg_chart.LIGHT_VARIABLES}@media(prefers-color-scheme:dark){{{svg_chart.DARK_VARIABLES}}}"
           f"body{{font:15px/1.5 {svg_chart.FONT};color:var(--ink);background:var(--page);margin:2rem auto;max-width:1400px;padding:0 1rem}}"
           "h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}p{margin:.2rem 0}.dim{color:var(--dim)}"
           ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:1rem;margin:1rem 0}"
           ".one{max-width:860px;margin:1rem 0 0}svg{width:100%;height:auto}.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
           "th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}"
           f"th:first-child,td:first-child{{text-align:left}}{svg_chart.STYLE}</style>"
           f"<h1>Goodput: {escape(', '.join(found.servers))}</h1><p class=\"dim\">{escape(date)} &middot; {escape(cpu)} &middot; "
           f"{threads_words(found)} &middot; {escape(load_words(found))}</p>"]
    for slo in found.objectives:
        out.append(f"<h2>{escape(slo)} (ms), for {100 * found.target:.0f} %</h2>" + "".join(f"<p>{escape(line)}</p>" for line in summary(found, slo)))
        out.append('<div class="one">' + attainment_chart(found, slo) + '</div><div class="plots">' + distribution(found, "ttft", "Time to the first token", slo) +
                   distribution(found, "tpot", "Time for each further token", slo) + "</div>")
    out.append("<h2>All runs</h2><div class=\"wide\"><table><tr>" + "".join(f"<th>{escape(word)}</th>" for word in head) + "</tr>")
    out += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    out.append("</table></div><p class=\"dim\">At most: the run was ended once the objective was out of reach; its latencies would flatter and are left out.</p>")
    out += [f"<p class=\"dim\">{escape(line)}</p>" for line in [*server_words(found), *notes]]
    return "\n".join(out) + "</html>\n"
