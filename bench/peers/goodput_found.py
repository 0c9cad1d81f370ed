"""What the runs of a search say of each server and objective, in figures and in sentences."""

from capacity import ALONE, judge, known, latencies, objective, quantile


class Found:
    """What the runs in a folder say of each server and objective."""

    def __init__(self, settings, probes, outputs, objectives, target):
        self.settings, self.outputs, self.objectives, self.target = settings, outputs, objectives, target
        asked = {one["server"] for one in probes}
        ours_last = lambda name: name == "weir"
        self.servers = sorted((name for name in settings["servers"] if name in asked), key=ours_last)
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
    return "one at a time" if probe["rate"] == ALONE else f"{probe['rate']:.3g}/s"


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
            told.append(f"{ours} takes {rate / theirs:.1f} times the rate of {other}, and {rate / missed:.1f} times a rate that it "
                        "misses.")
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
        lines.append(f"Most good requests a second in runs that went to their end, whatever share they were: {', '.join(told)}.")
    return lines


def share(found, probe, slo):
    """Nothing where the run was given up for another objective."""
    verdict = found.verdict(probe, slo)
    return str(verdict) if verdict.exact or verdict.at_most < found.target else "–"


def rows(found):
    head = ["server", "offered", "requests", *(f"meet {slo}" for slo in found.objectives), "TTFT p50 / p90 ms", "TPOT p50 / p90 ms"]
    body = [[one["server"], rate_of(one), str(one["requests"]), *(share(found, one, slo) for slo in found.objectives),
             spread(one, "ttft", 0), spread(one, "tpot", 1)] for one in found.shown]
    return head, body
