"""Small templates, one feature each. All are rendered over VARIABLES."""

VARIABLES = {
    "n": 7, "neg": -3, "zero": 0, "f": 2.5, "t": True, "no": False, "nil": None,
    "s": "Hello, World", "u": "žluťoučký KŮŇ ñ 漢字 🎉 ß", "empty": "", "sp": "  a  b \t\n c  ",
    "html": "<a href='x'>&\"</a>", "multi": "one\ntwo\r\nthree\n\nfour",
    "l": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple"], "nested": [[1, 2], [3, [4]]],
    "d": {"b": 1, "a": [1, "x", None], "items": "mine", "Z": {"k": True}},
    "people": [{"name": "Bo", "age": 3, "pet": {"kind": "cat"}}, {"name": "al", "age": 30},
               {"name": "Cy", "age": 3, "pet": {"kind": "dog"}}],
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U1"},
                 {"role": "assistant", "content": "A1"}, {"role": "user", "content": "U2"}],
}

EXPRESSIONS = """
1 + 2 * 3 ** 2 // 4 % 5
-2 ** 2
2 ** -1
2 ** 3 ** 2
7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, -7.5 % 2
1 / 3, 10 / 2, 1e16, 1e15, 1.0e-5, 0.0001, 123456789.125, 1e100, 1_000, 0x1F, 0o17, 0b101
0.1 + 0.2, 5.0, 1e22, 1.5e300 * 1e10, -0.0
1 < 2 < 3, 3 > 2 > 2, 1 == 1.0, true == 1, 'a' < 'b', [1,2] < [1,3], (1,) == (1,)
1 in l, 5 not in l, 'ell' in s, 'b' in d, 'x' not in d, nil in [none]
not t and no or n
t and 'yes', no or 'dflt', zero or empty or 'end'
'a' ~ 1 ~ none ~ 2.0 ~ true ~ [1]
'a' 'b' "c"
'ab' * 3, [1] * 2, 2 * 'x'
'yes' if t else 'no'
('x' if no) is undefined
'x' if no
n if n > 5 else zero if no else 3
{'a': 1, 'b': [1, 2, {'c': none}]}, (1, 'two'), (), (1,)
'quote\\'s', "dq\\"x", 'nl\\n', '\\x41\\u00e9\\101', 'back\\\\slash', 'it\\'s "both"'
['\\n\\t\\r', '\\x00\\x7f\\xa0', 'é', '\\u200b', "it's"]
s[0], s[-1], s[1:4], s[::-1], s[::2], s[-3:], s[:-3], s[10:2], s[5:1:-1], s[100:]
l[0], l[-1], l[1:], l[::-1], l[5] is undefined, l['x'] is undefined
u[0], u[5:12], u[::-1], u|length
d.b, d['a'], d.items is callable, d['items'], d.Z.k, d.missing is undefined, d['missing'] is undefined
d.get('b'), d.get('q'), d.get('q', 5), d.keys()|list, d.values()|list, d.items()|list
d.keys(), d.values(), d.items()
range(3)|list, range(2, 8, 3)|list, range(5, 0, -2)|list, range(3), range(0, 10, 2), range(10)[2:5], range(10)[3]
people[0].pet.kind, people.0.name
people[1].pet is defined, people[1].pet.kind
missing, missing is defined, missing is none
missing.attr
missing['x']
missing + 1
missing()
nil.x is undefined, nil.x.y
n.x is defined
s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), u.upper(), u.lower(), u.title()
sp.strip(), sp.lstrip(), sp.rstrip(), 'xxaxx'.strip('x'), 'xyaxy'.lstrip('yx'), 'abc'.rstrip('bc')
sp.split(), 'a,b,,c'.split(','), 'a,b,c'.split(',', 1), 'a,b,c'.rsplit(',', 1), 'a b c'.split(none, 1), ' a b  c '.rsplit(none, 1), ''.split(), ''.split(',')
'a b'.split(maxsplit=1), 'a-b'.split(sep='-')
''.split('')
multi.splitlines(), multi.splitlines(true)
s.startswith('He'), s.endswith(('x', 'ld')), s.startswith('W', 7), s.startswith(1)
s.replace('l', 'L'), s.replace('l', 'L', 1), 'aaa'.replace('', '-'), 'abc'.replace('b', '')
s.find('o'), s.rfind('o'), s.find('zz'), s.count('l'), s.index('W'), u.find('漢'), s.find('o', 5)
s.index('zz')
'-'.join(['a', 'b']), ''.join([]), 'x'.join('abc')
','.join([1, 2])
'{} {}'.format(1, 'x'), '{0}{1}{0}'.format('a', 'b'), '{n:>5}|{n:<5}|{n:^5}|{n:05d}'.format(n=42), '{:.2f}'.format(3.14159), '{:,}'.format(1234567), '{{}}'.format(), '{!r}'.format('x'), '{a[k]} {a.k}'.format(a={'k': 3})
'{:x} {:#x} {:b} {:o} {:e} {:g} {:%}'.format(255, 255, 5, 8, 12345.678, 0.00001, 0.5)
'{:*^9}|{:>4}|{:+d}'.format('mid', 'x', 5)
'{}'.format()
'%s is %d years, %.2f, %5s|%-5s|%05d %x %%' % ('Bo', 3, 2.5, 'a', 'b', 42, 255)
'%s' % 'one', '%(a)s-%(b)d' % {'a': 1, 'b': 2}, '%r' % 'x', '%c%c' % (65, 'B')
'%d' % 'x'
'%s %s' % 'one'
'a' % 1
'abc'.removeprefix('a'), 'abc'.removesuffix('c'), 'abc'.removeprefix('z')
'12'.isdigit(), 'a1'.isalnum(), 'ab'.isalpha(), ' '.isspace(), 'AB'.isupper(), 'ab'.islower(), 'Ab C'.istitle(), ''.isdigit(), '½'.isnumeric(), '²'.isdigit(), '²'.isdecimal()
'a'.center(5), 'ab'.center(5, '*'), 'a'.ljust(3), 'a'.rjust(3, '.'), '-5'.zfill(4), 'a\\tb'.expandtabs(4)
'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('x')
'ΑΣ'.lower(), 'ΑΣ Σ'.lower(), 'ŉ'.upper(), 'ǆ'.title(), 'İ'.lower(), 'ﬁn'.upper(), 'ß'.capitalize(), 'ß'.upper()
l.count(1), l.index(2), (1,2,1).count(1)
l.append(4)
d.update({'x': 1})
d.pop('b')
s.__class__
s.__class__.x
'x'.nope is undefined
s|upper, s|lower, u|upper, n|upper, s|title, 'hello wORLD-foo (bar) [baz'|title, 'hELLO'|capitalize
sp|trim, 'xax'|trim('x'), n|trim, nil|trim
s|length, l|length, d|length, empty|length, missing|length
n|length
nil|length
l|join, l|join(', '), l|join('-', attribute=none), people|join(', ', attribute='name'), 'abc'|join('.'), [1, none, 'x']|join(d='|')
people|map(attribute='name')|list, people|map(attribute='pet.kind')|list, people|map(attribute='pet.kind', default='none')|list, words|map('upper')|join(','), words|map('replace', 'p', 'P')|list, l|map('string')|list
words|map('nope')|list
l|select|list, l|select('odd')|list, l|reject('odd')|list, l|select('gt', 1)|list, l|select('in', [1, 2])|list, [0, 1, '']|select|list
l|select('nope')|list
people|selectattr('pet')|map(attribute='name')|list, people|rejectattr('pet')|list, people|selectattr('age', 'equalto', 3)|list|length, people|selectattr('age', '==', 3)|list|length, messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|join('/'), people|selectattr('pet', 'defined')|list|length, people|rejectattr('age', 'gt', 5)|map(attribute='age')|list
'abc'|list, d|list, range(3)|list, missing|list
n|list
n|string, nil|string, l|string, 'x'|string
'42'|int, '42.9'|int, 'x'|int, 'x'|int(5), '0x1f'|int(0, 16), '1f'|int(base=16), 3.9|int, nil|int, ' 12 '|int, '1_0'|int, true|int, '-5'|int, ''|int, '1e3'|int
'2.5'|float, 'x'|float, 'x'|float(1.5), 3|float, nil|float, '1e3'|float, ' 2 '|float, l|float
missing|default('x'), empty|default('x'), empty|default('x', true), nil|d('x'), nil|d('x', true), missing|d, zero|default(9, boolean=true)
s|replace('o', '0'), s|replace('o', '0', 1), n|replace('7', 'x'), 'aaa'|replace('a', 'b', count=2)
l|first, l|last, 'abc'|first, 'abc'|last, d|first, []|first, ''|last, range(3)|last, l|reverse|first
[]|first is undefined, l|map('string')|first
l|map('string')|last
d|items|list, missing|items|list, {}|items|list
l|items|list
{'b': 1, 'A': 2, 'c': 0}|dictsort, {'b': 1, 'A': 2}|dictsort(true), {'b': 1, 'A': 2}|dictsort(by='value'), {'b': 1, 'A': 2}|dictsort(reverse=true)
{'b': 1}|dictsort(by='x')
l|sort, l|sort(reverse=true), words|sort, words|sort(case_sensitive=true), people|sort(attribute='age')|map(attribute='name')|list, people|sort(attribute='age,name', reverse=true)|map(attribute='name')|list, people|sort(attribute='pet.kind')|list
[1, 'a']|sort
l|unique|list, [1, 1.0, true, 'a', 'A', 'b']|unique|list, words|unique|list, words|unique(case_sensitive=true)|list, people|unique(attribute='age')|map(attribute='name')|list
l|reverse|list, 'abc'|reverse, u|reverse, (1,2)|reverse|list
n|reverse
multi|indent, multi|indent(2, true), multi|indent(2, blank=true), multi|indent('> '), 'x'|indent(2, first=true), ''|indent
html|e, html|escape, html|safe, html|e|e, html|forceescape, n|e, (html|safe) + '<b>', '<b>' + (html|e)
neg|abs, 2.5|abs, -2.5|abs
'x'|abs
2.5|round, 3.5|round, 2.675|round(2), 2.345|round(1, 'ceil'), 2.345|round(1, 'floor'), 7|round, 1234|round(-2), 1250|round(-2), 2.5|round(0, 'common'), -0.4|round, 1e20|round(2)
2.5|round(1, 'bad')
l|sum, [1.5, 2]|sum, people|sum(attribute='age'), []|sum, [[1], [2]]|sum(start=[]), l|sum(start=10)
['a']|sum
l|min, l|max, words|min, words|max, words|max(case_sensitive=true), people|max(attribute='age'), []|min is undefined, ['b', 'A']|min
l|batch(2)|list, l|batch(2, 'x')|list, range(7)|batch(3)|map('list')|list, l|slice(2)|list, range(7)|slice(3, 0)|list
s|wordcount, sp|wordcount, u|wordcount, ''|wordcount, "it's a-b_c"|wordcount
'%s-%s'|format('a', 1), '%(x)s'|format(x=5)
s|center(20), s|truncate(5), s|truncate(9, true, '..', 0), 'a b c d e f'|truncate(5, leeway=0), 'foo bar baz qux'|truncate(9, false, '...', 0)
'a b/c?d=é'|urlencode
people|groupby('age')|list|length
d|attr('b') is undefined, s|attr('upper') is callable
d|tojson, l|tojson, u|tojson, html|tojson, nil|tojson, f|tojson, t|tojson, [1.0, 1e100, -0.0]|tojson, {1: 2, none: 3, true: 4, 1.5: 5}|tojson, (1, 2)|tojson, {}|tojson, []|tojson, '\\x00\\x1f\\x7f\\\\"/'|tojson
d|tojson(indent=2), [1,[2]]|tojson(indent=4), {}|tojson(indent=2), [[]]|tojson(indent=1), d|tojson(indent='--'), [1]|tojson(indent=0)
u|tojson(ensure_ascii=true), d|tojson(sort_keys=true), d|tojson(separators=(',', ':')), d|tojson(true), d|tojson(false, 2)
missing|tojson
range(3)|tojson
l|map('string')|tojson
1 is odd, 2 is even, 9 is divisibleby 3, 9 is divisibleby(4), n is number, f is float, n is integer, t is integer, t is boolean, t is true, no is false, 1 is true
s is string, d is mapping, l is sequence, s is sequence, d is sequence, n is sequence, s is iterable, n is iterable, nil is none, l|map('string') is iterable, range is callable, missing is sequence, missing is iterable, missing is callable, d.keys() is sequence
1 is eq 1, 1 is equalto(1), 1 is ne 2, 1 is lt 2, 2 is gt 1, 1 is le 1, 1 is ge 1, 1 is in [1], 'a' is in 'abc', 1 is not in [1], s is sameas s, nil is sameas none, 'abc' is lower, 'ABC' is upper, 'x' is filter, 'upper' is filter, 'odd' is test
'x' is odd
1 is defined is defined
n is not defined, missing is not defined
dict(a=1, b=2), dict([('x', 1)]), dict({'q': 2}, z=3)
namespace(a=1).a, namespace(a=1).b is undefined, namespace({'x': 1}).x, namespace(a=1)
strftime_now('%Y-%m-%d'), strftime_now('%d %b %Y'), strftime_now('%A %a %B %H:%M:%S %p %I %j %U %W %V %G %u %w %y %e %D %F %T %R %c %x %X %C %h %%'), strftime_now('%-d %-m %k %l')
strftime_now(5)
raise_exception('no')
range(100001)
range(1, 2, 0)
'a' + 1
1 + 'a'
[1] + [2], (1,) + (2,)
[1] + (2,)
1 < 'a'
none < 1
1 // 0
1 % 0
1.0 / 0
-'a'
+true, -true, true + true, true * 5
'abc'[1.0]
s['a':]
d[1:2]
d[[1]] is undefined
{[1]: 2}
1 in 5
'x' in none
'x' in missing
1 in 'abc'
'abc'|upper|lower|title|length
(s|upper)[0:3]|lower
s | replace("Hello", "Bye") | upper ~ "!"
-1|abs, -l|length
[1, 2, 3][1:]|join(',') ~ '.'
{'a': {'b': [10, 20]}}.a.b[1]
'a.b.c'.split('.')[-1]
(l|sort)[0], (1, 2)[1]
t is true and no is false
not 1 in l
n == 7 and not no
(1 if t else 2) + 3
l|length > 2 and l|length < 4
'abc' is in ['abc'], n in range(10), 'x' in 'xyz' == true
messages[-1].role, messages[-1]['content'], messages[1:]|length, messages|length - 1
(2.0).is_integer()
l.x.y
nope(1)
s()
cycler('a', 'b').next()
joiner()() ~ joiner('|')()
"%s" % missing, "%s" % (none,), "%s" % ([1, 'a'],)
'abc' < none
[nil, t, f, 'q']
'\\d \\w'
""" .strip().splitlines()

STATEMENTS = [
    "{% for x in l %}{{ x }}{% endfor %}",
    "{% for x in l %}{{ loop.index }}/{{ loop.length }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.previtem }} {{ loop.nextitem }} {{ loop.depth }}{{ loop.depth0 }}\n{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{% endfor %}",
    "{% for x in [] %}a{% else %}empty{% endfor %}{% for x in [1] %}a{% else %}empty{% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}:{{ loop.index }}:{{ loop.last }}:{{ loop.length }} {% else %}none{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, (a, b) in [('x', (1, 2))] %}{{ k }}{{ a }}{{ b }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for a, b in [(1,)] %}{% endfor %}",
    "{% for a in none %}{% endfor %}", "{% for a in missing %}x{% else %}y{% endfor %}",
    "{% for c in u %}{{ c }}|{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}else{% endfor %}", "{% for x in l %}{% continue %}{% else %}else{% endfor %}",
    "{% break %}", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}",
    "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}",
    "{% set d.x = 1 %}", "{% set q.x = 1 %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set a, b = 'xy' %}{{ b }}{{ a }}",
    "{% set x %}block {{ n }}{% endset %}[{{ x }}]", "{% set x | upper | trim %} block {% endset %}[{{ x }}]",
    "{% set ns = namespace(t='') %}{% set ns.t %}abc{% endset %}{{ ns.t }}",
    "{% if n > 5 %}big{% elif n > 2 %}mid{% else %}small{% endif %}", "{% if no %}a{% elif zero %}b{% elif t %}c{% endif %}",
    "{% if t %}{% set y = 1 %}{% endif %}{{ y }}", "{% if no %}{% set n = 1 %}{% endif %}{{ n }}",
    "{{ n }}{% set n = 1 %}{{ n }}", "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 5 %}{{ n }}",
    "{% set n = n + 1 %}{{ n }}", "{% for i in l %}{{ q }}{% set q = i %}{{ q }}{% endfor %}[{{ q }}]",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=5) }} {{ m(b=1, a=0) }} {{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 'x', k=2) }}",
    "{% macro m(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) m(3) %}{{ y }}{{ n }}{% endcall %}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body{% endcall %}", "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ caller is defined }}{{ caller }}{% endmacro %}{{ m() }}",
    "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}",
    "{% macro m() %}{% set x = 5 %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{{ x }}",
    "{% macro m(l) %}{% for x in l %}{{ x }}{% endfor %}{% endmacro %}{{ m([1, 2]) | upper }}{{ m is callable }}",
    "{% filter upper %}abc {{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}aXa{% endfilter %}",
    "{% with a=1, b=n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z }}",
    "{% print n, s %}", "{% generation %}x{{ n }}{% set w = 1 %}{% endgeneration %}{{ w }}",
    "{% raw %}{{ n }}{% if %}{% endraw %}{{ n }}", "a {%- raw -%}  x  {%- endraw -%}  b", "  {% raw %}  x\n  {% endraw %}\n y",
    "{# comment {{ n }} #}x{#- c -#} y", "x  {#- a -#}  y", "  {# a #}\n  b", "a\n  {#+ c +#}\n b", "{#-#}x{# + #}y",
    "  {% if t %}\n  a\n  {% endif %}\n  b\n", "  {%- if t -%}\n  a\n  {%- endif -%}\n  b\n", "  {%+ if t +%}\n  a\n  {%+ endif +%}\n  b\n\n",
    "x {% if t %} a {% endif %} y\n", "\n\n{% if t %}\n\na{% endif %}\n\n", "{{ n -}}   \n x {{- n }}", "  {{ n }}\n\n  {{+ n }}", "a\r\nb\rc\r\n",
    "{% if t %}\n{% for x in l %}\n    {{ x }}\n{% endfor %}\n{% endif %}\nend", "\t{% set x = 1 %}  \n{{ x }}", "a\n\n", "\n", "",
    "{{ '{{' }}{{ '%}' }}{% set x = {'a': {'b': 1}} %}{{ x }}", "{{ {'a': 1}['a'] }}", "{{ { 'a': { 'b': 2 } }.a.b }}",
    "{{ 1 }}{{ n", "{% if %}", "{% for %}", "{% unknown %}", "{{ }}", "{{ a b }}", "{% if t %}", "{% endif %}", "{% endfor %}", "{{ (1 }}", "{{ 1) }}", "{{ [1} }}", "{# open", "{% raw %}x",
    "{{ 'open }}", "{{ a! }}", "{{ a | }}", "{{ a | nope }}", "{{ a is nope }}", "{% if no %}{{ a | nope }}{% endif %}", "{% if t %}{{ a | nope }}{% endif %}",
    "{% if no %}{% for x in l %}{{ x | nope }}{% endfor %}{% endif %}", "{{ (a | nope) if no else 'ok' }}", "{% if no %}{{ a is nope }}{% endif %}x",
    "{% set 1 = 2 %}", "{% set none = 2 %}", "{% for loop in l %}{% endfor %}", "{% for x in l %}{% set loop = 1 %}{% endfor %}", "{% set loop = 1 %}{{ loop }}",
    "{{ f(a=1, 2) }}", "{{ f(a=1, a=2) }}", "{{ dict(**{'a': 1}) }}", "{{ '%s%s' | format(*[1, 2]) }}", "{{ dict(*[[('a', 1)]], b=2) }}",
    "{% set m = messages[0] %}{% if m.role == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{{ rest|length }}",
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 1) %}{{ raise_exception('alternate') }}{% endif %}{{ m.role }}{% endfor %}",
    "{% set ns = namespace(done=false) %}{% for m in messages if not ns.done %}{{ m.role }}{% if m.role == 'user' %}{% set ns.done = true %}{% endif %}{% endfor %}",
    "{% for m in messages %}{{ m.content if m.content is string else m.content|map(attribute='text')|join }}{% endfor %}",
    "{% for m in messages|reverse %}{{ m.role[0] }}{% endfor %}{% for m in messages[::-1] %}{{ loop.index }}{% endfor %}",
    "{% for g, items in people|groupby('age') %}{{ g }}:{{ items|map(attribute='name')|join(',') }} {% endfor %}",
    "{% set x = l|map('string') %}{{ x|list }}{{ x|list }}{% if x %}t{% endif %}", "{% if messages|selectattr('role', 'equalto', 'tool') %}always{% endif %}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner(', ') %}{{ j() }}{{ j() }}",
    "{% macro a() %}{% macro b() %}{{ n }}{% endmacro %}{{ b() }}{% endmacro %}{{ a() }}", "{% for i in range(2) %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% set x = 1 %}{% macro m(x) %}{% for i in [1] %}{{ x }}{% endfor %}{% endmacro %}{{ m(2) }}{{ x }}", "{% for x in [1, 2] %}{% set x = x * 2 %}{{ x }}{% endfor %}",
    "{% set x = 'a' %}{% set y %}{{ x }}{% set x = 'b' %}{{ x }}{% endset %}{{ y }}{{ x }}", "{% for x in l %}{% set y %}{{ x }}{% break %}{% endset %}{% endfor %}{{ y }}",
    "{% if t: %}x{% endif %}", "{%if t%}x{%endif%}", "{% if t and\n n %}x{% endif %}", "{{ n\n+\n1 }}", "{{n}}{{-n-}} x", "{{ -n }}{{ - n }}", "{{ true }}{{ True }}{{ none }}{{ None }}{{ false }}",
    "{% for _ in range(3) %}{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}", "{{ caller }}", "{% set x = namespace(l=[]) %}{% set x.l = x.l + [1] %}{{ x.l }}",
    "{{ loop is defined }}", "{% for x in l %}{% if loop.first %}{% set ns2 = namespace(a=1) %}{% endif %}{{ ns2.a if ns2 is defined else '-' }}{% endfor %}",
    "{% for a in [1,2] %}{% for b in [a] %}{% set a = 9 %}{{ a }}{% endfor %}{{ a }}{% endfor %}", "{{ ''.join(['a', missing]) }}", "{{ [missing]|join('-') }}|{{ [missing, 1] }}",
]

CASES = [("{{ " + e.replace("\\\\", "\\") + " }}", VARIABLES) for e in EXPRESSIONS] + [(s, VARIABLES) for s in STATEMENTS]
