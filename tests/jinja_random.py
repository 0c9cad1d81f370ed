"""Random template programs from a small grammar, for comparison with Jinja2. Seeded."""

import random

VARIABLES = {
    "a": 3, "b": -2, "s": "Ab c", "u": "é漢 <|im_end|>", "l": [2, 1, 3], "d": {"k": "v", "n": 1}, "e": "",
    "ms": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo", "x": [1]}],
    "nil": None, "t": True,
}


class Grammar:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = ["a", "b", "s", "u", "l", "d", "e", "ms", "nil", "t", "miss", "x", "y"]
        self.macros = []

    def pick(self, *options):
        return self.r.choice(options)

    def text(self):
        return self.pick("\n", " ", "x", "\n  ", "  \n", "<|u|>", "y\n\n", "é", "\t", "")

    def open(self):
        return self.pick("{%", "{%", "{%", "{%-", "{%+", " {%", "\n  {%")

    def close(self):
        return self.pick("%}", "%}", "%}", "-%}", "+%}", "%}\n", "%} ")

    def tag(self, body):
        return f"{self.open()} {body} {self.close()}"

    def expr(self, depth):
        r = self.r
        if depth <= 0 or r.random() < 0.15:
            return self.pick(*self.names, "1", "0", "'q'", "\"w'\"", "2.5", "none", "true", "[]", "'Aa bB'", "-1", "()")
        e = lambda: self.expr(depth - 1)  # noqa: E731
        kind = r.randrange(17)
        if kind == 0:
            return f"{e()} {self.pick('+', '-', '*', '/', '//', '%', '~', '~', '+')} {e()}"
        if kind == 1:
            return f"({e()} {self.pick('==', '!=', '<', '>', '<=', '>=', 'in', 'not in')} {e()})"
        if kind == 2:
            return f"({e()} {self.pick('and', 'or')} {e()})"
        if kind == 3:
            return f"({e()} if {e()} else {e()})" if r.random() < 0.8 else f"({e()} if {e()})"
        if kind == 4:
            return f"({self.pick('not ', '-', '')}{e()})"
        if kind == 5:
            return f"[{e()}, {e()}]" if r.random() < 0.5 else f"({e()}, {e()})"
        if kind == 6:
            return f"{{'k': {e()}, {self.pick('1', chr(39) + 'z' + chr(39), 'a')}: {e()}}}"
        if kind == 7:
            return f"{self.pick('ms', 'l', 's', 'd', 'u', 'x', e())}[{self.pick('0', '-1', '5', chr(39) + 'k' + chr(39), e())}]"
        if kind == 8:
            bound = lambda: self.pick("", "", "0", "1", "-1", "2", "-2", "9")  # noqa: E731
            step = self.pick("", "", ":", ":-1", ":2", ":-2")
            return f"{self.pick('ms', 'l', 's', 'u', 'x', 'e')}[{bound()}:{bound()}{step}]"
        if kind == 9:
            return f"{self.pick('d', 'ms[0]', 'ms[1]', 's', 'x', 'loop', 'nil')}.{self.pick('k', 'role', 'content', 'x', 'n', 'index', 'last', 'missing')}"
        if kind in (10, 11):
            return f"{self.subject(depth)}|{self.filter(depth - 1)}"
        if kind == 12:
            return f"({e()} is {self.pick('', 'not ')}{self.test(depth - 1)})"
        if kind in (13, 14):
            return f"{self.pick('s', 'u', 'e', '(' + e() + ')|string')}.{self.method(depth - 1)}"
        if kind == 15 and self.macros:
            return f"{self.pick(*self.macros)}({self.pick('', e(), 'q=' + e())})"
        return f"({self.pick('d', 'ms[0]')}.{self.pick('items()|list', 'keys()|list', 'values()|list', 'get(' + e() + ')', 'get(1, ' + e() + ')')})"

    def subject(self, depth):
        return self.pick(*self.names, f"({self.expr(depth - 1)})")

    def filter(self, depth):
        e = self.expr(min(depth, 1))
        return self.pick(
            "upper", "lower", "title", "capitalize", "trim", "length", "string", "int", "float", "list", "first|string",
            "last|string", "join", f"join({e})", "tojson", "tojson(indent=2)", "reverse|list", "sort", "unique|list", "default('D')",
            f"default({e}, true)", f"replace('a', {e})", "map('string')|list", "map('upper')|join(',')", "map(attribute='role')|list",
            "selectattr('role', 'equalto', 'user')|list", "rejectattr('x')|list", "select|list", "reject('odd')|list", "select('string')|list",
            "sum", "min", "max", "abs", "round", "round(1)", "escape|string", "wordcount", "indent", "indent(2, true)", "items|list", "dictsort",
            "batch(2)|list", "slice(2)|list", f"format({e})", "center(9)", "truncate(3, true, '', 0)", "attr('role')|string", "count", "urlencode")

    def test(self, depth):
        return self.pick("defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "iterable", "sequence",
                         "boolean", "true", "false", "odd", "even", "divisibleby 2", "in l", "eq a", "lower", "upper", "callable",
                         f"in({self.expr(min(depth, 1))})", f"ne({self.expr(min(depth, 1))})", "lt 2", "sameas none")

    def method(self, depth):
        e = self.expr(min(depth, 1))
        return self.pick("upper()", "lower()", "strip()", "strip('b ')", "lstrip()", "rstrip('c')", "split()", "split(' ')", "split(' ', 1)",
                         "rsplit(' ', 1)", f"split({e})", "splitlines()", "startswith('A')", f"endswith({e})", "replace(' ', '')",
                         f"replace('b', {e}, 1)", "find('c')", f"count({e})", "title()", "capitalize()", f"join(['p', {e}])", "isdigit()", "isalpha()",
                         "partition(' ')", "removeprefix('A')", "zfill(8)", "center(7, '*')", "swapcase()", "isupper()", "format(1)", "rfind(' ')",
                         "split(none, 1)", "rsplit(none, 1)")

    def statement(self, depth):
        kind = self.r.randrange(13)
        if depth <= 0 or kind <= 2:
            mark = self.pick("", "", "-", "+")
            return f"{{{{{mark} {self.expr(2)} {self.pick('', '', '-')}}}}}"
        if kind == 3:
            other = self.pick("", self.tag("else") + self.body(depth - 1), self.tag(f"elif {self.expr(2)}") + self.body(depth - 1))
            return self.tag(f"if {self.expr(2)}") + self.body(depth - 1) + other + self.tag("endif")
        if kind in (4, 5, 6):
            target = self.pick("x", "y", "x, y")
            over = self.pick("l", "ms", "d", "d.items()", "s", "range(3)", "[[1, 2], [3, 4]]", self.expr(1))
            cond = self.pick("", "", f" if {self.expr(1)}")
            jump = self.pick("", "", self.tag("if loop.index == 2") + self.tag(self.pick("break", "continue")) + self.tag("endif"))
            shown = self.pick("", "{{ loop.index }}{{ loop.last }}", "{{ loop.length }}{{ loop.previtem }}", "{{ loop.revindex0 }}{{ loop.nextitem }}")
            other = self.pick("", self.tag("else") + self.body(depth - 1))
            return self.tag(f"for {target} in {over}{cond}") + shown + self.body(depth - 1) + jump + self.body(depth - 1) + other + self.tag("endfor")
        if kind == 7:
            return self.tag(f"set {self.pick('x', 'y', 'a', 'x, y')} = {self.expr(3)}")
        if kind == 8:
            return self.tag(f"set {self.pick('x', 'y')}{self.pick('', ' | upper', ' | trim')}") + self.body(depth - 1) + self.tag("endset")
        if kind == 9:
            name = f"m{len(self.macros)}"
            out = self.tag(f"macro {name}({self.pick('', 'q', 'q=1', 'q, p=2')})") + self.body(depth - 1) + "{{ q }}" + self.tag("endmacro")
            self.macros.append(name)
            return out
        if kind == 10:
            return self.tag("set ns = namespace(v=0)") + self.tag("for x in l") + self.tag(f"set ns.v = {self.expr(2)}") + self.tag("endfor") + "{{ ns.v }}"
        if kind == 11:
            return self.tag(f"filter {self.pick('upper', 'trim', 'indent')}") + self.body(depth - 1) + self.tag("endfilter")
        return self.pick("{# c #}", "{#- c -#}", "{% raw %}{{ a }}{% endraw %}", " {#+ c #}\n", self.tag("generation") + self.body(depth - 1) + self.tag("endgeneration"))

    def body(self, depth):
        return "".join(self.text() + self.statement(depth) + self.text() for _ in range(self.r.randrange(1, 3)))


def cases(first_seed, count):
    return [(Grammar(seed).body(3), VARIABLES) for seed in range(first_seed, first_seed + count)]
