"""What a run of `weir bench serve` proves about an objective, and which rate to try next. Pure: no server, file or clock.

A request is good, missed, or neither: not known, as the run ended first. So a run that was given up still bounds the
share that would have met the objective, and one run is judged for many objectives.
"""

import dataclasses
import math

LIMITS = ("ttft", "tpot", "e2el", "stall")
ALONE = 0.0  # The rate of requests sent one at a time: nobody else there, so no rate above it can be easier.


def objective(text):
    """The limits of "ttft:1000,tpot:50", in milliseconds, as weir reads them."""
    limits = {}
    for item in text.split(","):
        name, _, number = item.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = 0
        if name not in LIMITS or name in limits or not 0 < value < math.inf:
            raise ValueError(f'"{text}" is no objective: write limits in milliseconds like ttft:1000,tpot:50 '
                             f'(of {", ".join(LIMITS)})')
        limits[name] = value
    return limits


def latencies(run):
    """Of each request that completed, in milliseconds: {name: value}; no tpot for an answer of one token."""
    told = []
    for ttft, whole, gaps, tokens, outcome in zip(run["ttfts"], run["latencies"], run["itls"], run["output_lens"],
                                                  run["weir"]["outcomes"]):
        if outcome != "completed":
            told.append(None)
            continue
        one = {"ttft": 1e3 * ttft, "e2el": 1e3 * whole, "stall": 1e3 * max(gaps, default=0)}
        if tokens > 1:
            one["tpot"] = 1e3 * (whole - ttft) / (tokens - 1)
        told.append(one)
    return told


def least(run, planned):
    """Of each request that was cut off, what its latencies would at least have been: it was not answered so far, and
    was to have `planned` tokens."""
    told = []
    for first, ended, gaps, tokens in zip(run["weir"]["first_after"], run["weir"]["ended_after"], run["itls"], planned):
        if ended is None:
            told.append({})  # It was never sent.
            continue
        one = {"ttft": 1e3 * (ended if first is None else first), "e2el": 1e3 * ended, "stall": 1e3 * max(gaps, default=0)}
        if first is not None and tokens > 1:
            one["tpot"] = 1e3 * (ended - first) / (tokens - 1)
        told.append(one)
    return told


@dataclasses.dataclass
class Verdict:
    good: int
    missed: int
    of: int

    @property
    def at_least(self):
        return self.good / self.of

    @property
    def at_most(self):
        return 1 - self.missed / self.of

    @property
    def exact(self):
        return self.good + self.missed == self.of

    def met(self, target):
        """None where the run does not tell."""
        return True if self.at_least >= target - 1e-9 else False if self.at_most < target - 1e-9 else None

    def __str__(self):
        return f"{100 * self.at_least:.3g} %" if self.exact else f"at most {100 * self.at_most:.3g} %"


def judge(limits, run, planned):
    """planned: the tokens that each answer was to have."""
    within = lambda one: all(one.get(name, 0) <= limit for name, limit in limits.items())
    good = missed = 0
    for outcome, done, cut in zip(run["weir"]["outcomes"], latencies(run), least(run, planned)):
        if outcome == "completed":
            good += within(done)
            missed += not within(done)
        elif outcome == "cut_off" or outcome == "unsent":
            missed += not within(cut)
        else:  # It failed.
            missed += 1
    return Verdict(good, missed, len(planned))


@dataclasses.dataclass
class Plan:
    least: float = 0.02  # Requests a second; nothing is tried below,
    most: float = 64  # or above.
    factor: float = 2  # Of the coarse steps until one rate meets the objective and one does not.
    precision: float = 1.15  # Done when these two differ by no more.


def rounded(rate):
    """Four digits, so that a search that goes on finds the rates it tried."""
    return float(f"{rate:.4g}")


def known(tried):
    """The highest rate that met the objective with no lower one that missed it, and the lowest that missed it."""
    missed = min((rate for rate, met in tried.items() if not met), default=None)
    return max((rate for rate, met in tried.items() if met and (missed is None or rate < missed)), default=None), missed


def next_rate(tried, first, plan):
    """None when the capacity is known. tried: {rate: whether it met the objective}; first: where the steps begin."""
    if ALONE not in tried:
        return ALONE
    if not tried[ALONE]:
        return None
    met, missed = known({rate: met for rate, met in tried.items() if rate != ALONE})
    if met is None and missed is None:
        return rounded(min(max(first, plan.least), plan.most))
    if met is None:
        return rounded(max(missed / plan.factor, plan.least)) if missed > plan.least else None
    if missed is None:
        return rounded(min(met * plan.factor, plan.most)) if met < plan.most else None
    return rounded(math.sqrt(met * missed)) if missed / met > plan.precision else None


def quantile(values, share):
    """Between the two nearest, as numpy has it."""
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])
