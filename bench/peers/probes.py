"""A part of a trace that is sent at many rates, and the folder that keeps what was measured, one file for each run, so
that a search that was ended goes on and its page can be written from what is there.
"""

import datetime
import json
import pathlib


class Trace:
    """The lines of Azure's CSV or Mooncake's JSON that are sent, in order of time: `times` in seconds since the first,
    `outputs` in tokens."""

    def __init__(self, path, start=0, max_tokens=0, max_input=0):
        self.name = pathlib.Path(path).name
        lines = [line for line in pathlib.Path(path).read_text(encoding="utf-8-sig").splitlines() if line.strip()]
        self.head = [] if lines[0].startswith("{") else [lines.pop(0)]
        read = self.csv if self.head else self.mooncake
        kept = sorted(((*read(line), line) for line in lines), key=lambda one: one[0])
        begin = kept[0][0] + start
        kept = [one for one in kept if one[0] >= begin and (not max_input or one[1] <= max_input)
                and (not max_tokens or one[1] + one[2] <= max_tokens)]
        if len(kept) < 2:
            raise ValueError(f"{self.name}: fewer than two requests are left: widen the window or the bounds")
        self.times = [one[0] - kept[0][0] for one in kept]
        self.inputs, self.outputs = [one[1] for one in kept], [one[2] for one in kept]
        self.lines = [one[3] for one in kept]

    @staticmethod
    def csv(line):
        at, prompt, answer = line.split(",")[:3]
        whole, _, fraction = at.partition(".")
        seconds = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc).timestamp()
        return seconds + float(f"0.{fraction or 0}"), max(1, int(prompt)), max(1, int(answer))

    @staticmethod
    def mooncake(line):
        one = json.loads(line)
        return one["timestamp"] / 1e3, max(1, one["input_length"]), max(1, one["output_length"])

    def write(self, path):
        pathlib.Path(path).write_text("\n".join(self.head + self.lines) + "\n")

    def rate(self, count):
        """Of its first `count` requests, as it was recorded: up to the arrival of the next."""
        span = self.times[count] if count < len(self.times) else self.times[-1] * count / (count - 1)
        return count / span


class Folder:
    """FOLDER/settings.json says what is measured, FOLDER/NNN.json holds one run each:
    {"server", "rate", "requests", "slo", "seed", "took_s", "run": what weir wrote}."""

    def __init__(self, path, settings=None):
        """settings: what must be the same for runs to be comparable; None takes the folder as it is."""
        self.path = pathlib.Path(path)
        self.probes = [json.loads(one.read_text()) for one in sorted(self.path.glob("[0-9]*.json"))]
        asked = {probe["server"] for probe in self.probes}
        mark = self.path / "settings.json"
        if settings is None:
            if not mark.exists():
                raise ValueError(f"{path} holds no search: run one first")
            settings = json.loads(mark.read_text())
        elif mark.exists():
            was = json.loads(mark.read_text())
            other = [name for name in settings["load"] if was["load"].get(name) != settings["load"][name]]
            other += [name for name, what in settings["servers"].items() if name in asked and was["servers"][name] != what]
            if other:
                raise ValueError(f"{path} holds runs with another {', '.join(other)}: give another --results, or remove it")
            settings["servers"] = was["servers"] | settings["servers"]
        self.settings = settings
        self.path.mkdir(parents=True, exist_ok=True)
        mark.write_text(json.dumps(settings, indent=1) + "\n")

    @property
    def seed(self):
        """Of the next run: its own, or a server's cache would know the prompts. A server that is started again knows none."""
        return 1 + max((probe["seed"] for probe in self.probes), default=0)

    def add(self, probe):
        path = self.path / f"{probe['seed']:03}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(probe) + "\n")
        fresh.rename(path)
        self.probes.append(probe)
