"""More of the language than generate.py knows, and rules that are spoiled. The same seed and number make the same question."""
from generate import Generator

NAMES = ["a__b", "__c__", "in", "as", "let", "x-y.z/w", "_d", "ns", "true", "ab", "n1", "list"]
ZONES = ["UTC", "America/New_York", "+02:00", "-08:30", "Europe/Berlin", "23:00", "Nowhere/City", "Asia/Kathmandu", "-1:5", "+14:00"]
QUANTITIES = ["1", "1Gi", "200m", "1.5", "1e3", "1E3", "-2k", "100Mi", "1n", "0.5Ki", "12e-1", "x", "", "1 Gi", "9223372036854775807", "1e400"]
VERSIONS = ["1.2.3", "v1.2.3", "1.2.3-rc.1", "1.2", "01.2.3", "1.2.3+b", "1.0.0-alpha.beta", "x", "1.2.3-1", "10.20.30"]
ADDRESSES = ["10.0.0.1", "127.0.0.1", "::1", "fe80::1", "ff02::1", "::ffff:1.2.3.4", "224.0.0.1", "0.0.0.0", "169.254.1.1", "1.2.3", "2001:DB8::1", "01.2.3.4", "fe80::1%eth0"]
PREFIXES = ["10.0.0.0/8", "10.1.2.3/8", "::1/128", "2001:db8::/32", "0.0.0.0/0", "10.0.0.0/33", "10.0.0.0", "::ffff:10.0.0.0/104", "192.168.0.0/16"]
URLS = ["https://u:p@example.com:80/a%20b?q=1&q=2#f", "http://[::1]:8080/", "/path", "example.com", "mailto:a@b", "https://", "http://a b", "HTTPS://EXAMPLE.com", "http://h/%zz", "//h/p", "?a=%20&b"]
REGEXES = ["^a", "[a-z]+", "(a)(b)?", "\\\\d{1,3}", "a|b|", "(?i)ABC", "[[:alpha:]]", "\\\\bx", "(", "a**", "[z-a]", ".{0,1001}", "\\\\p{L}+", "^$", "a{2", "(?P<n>a)", "\\\\C", "(?=a)"]
TIMES = ["2020-01-01T00:00:00Z", "2020-02-29T23:59:59.999999999Z", "1969-12-31T23:59:59+05:30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2021-03-14T02:30:00-08:00", "2020-01-01", "10000-01-01T00:00:00Z"]
SPANS = ["1h", "90s", "-1ms", "1h2m3.5s", "1ns", "2562047h", "1d", "", "1.5h", "0.1us", "-0"]
TEXTS = ["", "a", "ab", "Hello, World", "ünï", "👑 x", "a\\nb", "\\t", "  t  ", "日本語", "a'b", "%s %d", "1", "-5", "1.5", "true", "0x10", "NaN", "inf", "1e3", "YWJj", "\\u00e9", "\\U0001f600", "\\x41", "\\101", "e\\u0301", "ß", "İ"]
FORMATS = ["dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"]
CLAUSES = ["%s", "%d", "%f", "%.2f", "%e", "%.1e", "%x", "%X", "%o", "%b", "%%", "%5d", "%", "%q", "%.30f", "%.x", "%s %s"]
FIELD_PATHS = [".a", ".b.c", "a", "", ".", "['a']", ".a['k']", ".l[0]", ".missing", ".b-c", "['b-c']", ".a b", ".['x']", ".a.", ".spec.name"]
TYPES = ["int", "uint", "double", "string", "bytes", "bool", "list", "map", "type", "null_type", "timestamp", "duration", "dyn", "net.IP", "optional_type",
         "google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.Empty", "google.protobuf.Int32Value", "kubernetes.Quantity"]


class Wide(Generator):
    """Expressions of all libraries, and schemas with more in them."""

    def question(self):
        self.rules_left = 5
        return super().question()

    def schema(self, depth=0, is_root=False):
        node = super().schema(depth, is_root)
        if not is_root and node.get("type") and self.chance(0.15):
            node["nullable"] = True
        if node.get("type") == "object" and "properties" in node and self.chance(0.3):
            node["properties"][self.pick(NAMES)] = self.scalar()
        if node.get("type") == "string" and "enum" not in node and self.chance(0.2):
            node["format"] = self.pick(["ipv4", "cidr", "uri", "password", "float", "int32", "hostname", "email", "byte", "duration", "date-time", "date"])
        return node

    def scalar(self):
        kind = self.pick(["string", "integer", "boolean", "number", "string"])
        node = {"type": kind}
        if kind == "string" and self.chance(0.7):
            node["maxLength"] = self.pick([3, 20, 100])
        return node

    def rule(self, node, is_root):
        rule = super().rule(node, is_root)
        if self.chance(0.1):
            rule["fieldPath"] = self.pick(FIELD_PATHS)
        if self.chance(0.05):
            rule["reason"] = self.pick(["FieldValueInvalid", "Nonsense", "", "FieldValueTooLong"])
        if self.chance(0.15):
            rule["messageExpression"] = self.pick(["''", "'  '", "'a\\nb'", "string(1/0)", "self", "1", "oldSelf", "'x' + string(self)", "self.missing", "'" + "x" * 60 + "'",
                                                   "[1,2].map(x, string(x)).join(', ')", "dyn('a')", "'é👑'", "string(type(self))", "'%s'.format([self])", "{}"])
        if self.chance(0.05):
            rule["message"] = self.pick(["", " ", "a\nb", "é", "x" * 200])
        if self.chance(0.05):
            rule["optionalOldSelf"] = self.chance(0.5)
        if self.chance(0.1):
            rule["rule"] = self.layout(rule["rule"])
        return rule

    def layout(self, text):
        """The same with other white space, comments, and unicode before it."""
        out = []
        for part in text.split(" "):
            out += [part, self.pick([" ", " ", " ", "\n", "\t", "\r\n", " // ünï\n", "\n\n", "\f", " "])]
        return "".join(out[:-1])

    def spoil(self, text):
        for _ in range(self.random.randint(1, 3)):
            text = super().spoil(text) if self.chance(0.4) else self.damage(text)
        return text

    def damage(self, text):
        at = self.random.randrange(len(text) + 1)
        piece = self.pick(["'", "\"", "`", "[", "]", "{", "}", "(", ")", ",", ":", ";", "é", "👑", "\n", "&&", "||", "==", "=", "has(", ".?", "[?", "?", "0x", "1e", "1u", "r'", "b\"", "'''", "\\", "\\q", "//",
                           "if", " in ", "-", "!", "--", "!!", "$", "@", "#", "self", ".all(x, ", "{a: 1}", "[?x]", "..", "1.", ".5", "00", "9223372036854775808", "-9223372036854775808", "18446744073709551616u", "'\\u12'", "'\\400'", "\x00", "a b", "true", "null."])
        cut = self.random.randint(0, 3) if self.chance(0.5) else 0
        return text[:at] + piece + text[at + cut:]

    def literal(self, kind):
        p = self.pick
        mark = p(["'", '"'])
        quote = lambda text: mark + text.replace("'", "\\'").replace('"', '\\"') + mark
        options = {
            "int": lambda: p(["0", "1", "-1", "7", "0x1F", "-0x8", "9223372036854775807", "-9223372036854775808", "1000000", "int('12')", "int(1.9)"]),
            "double": lambda: p(["0.0", "-0.0", "1.5", "1e308", "1e-320", ".5", "double('NaN')", "double('Infinity')", "double(3)", "1.0e+2", "double('0x1p-2')", "double('+nan')", "double('1_0')", "double('.')", "double('-INF')"]),
            "string": lambda: quote(p(TEXTS)) if self.chance(0.7) else p(["r'a\\b'", "'''a'b'''", '"""x"y"""', "string(1.5)", "string(b'abc')", "string(type(1))"]),
            "bytes": lambda: p(["b'abc'", "b''", "b'\\xff\\x00'", "bytes('é')", "b'é'", "b\"\\303\\277\""]),
            "timestamp": lambda: f"timestamp('{p(TIMES)}')" if self.chance(0.9) else p(["timestamp(0)", "timestamp(253402300800)"]),
            "duration": lambda: f"duration('{p(SPANS)}')",
            "bool": lambda: p(["true", "false", "bool('true')", "bool('yes')"]),
        }
        return options[kind]() if self.chance(0.5) else super().literal(kind)

    def paths(self, scope):
        found = super().paths(scope)
        if not self.chance(0.2):
            return found
        quoted = []
        for text, schema in found:
            if self.kind(schema) == "object":
                for name, one in schema.get("properties", {}).items():
                    if all(c.isascii() and (c.isalnum() or c in "_.-/ ") for c in name):
                        quoted.append((f"{text}.`{name}`", one))
        return found + quoted

    def list_of(self, scope, depth):
        named = self.of_kind("list", scope)
        if named and self.chance(0.6):
            text, schema = self.pick(named)
            return text, self.kind(schema["items"])
        kind = self.pick(["int", "string", "double", "bool"])
        return self.items(kind, scope, max(depth - 1, 0)), kind

    def of_bool(self, sub, scope, depth):
        p = self.pick
        string, integer = (lambda: sub("string")), (lambda: sub("int"))
        compare = ["==", "!=", "<", "<=", ">", ">="]
        options = [
            lambda: f"quantity('{p(QUANTITIES)}').{p(['compareTo', 'isLessThan', 'isGreaterThan'])}(quantity({self.text_of(QUANTITIES, sub)})){p(['', '', ' == 0'])}",
            lambda: f"quantity({self.text_of(QUANTITIES, sub)}).{p(['isInteger()', 'asInteger() > 1', 'asApproximateFloat() < 2.0', 'add(1).isInteger()', 'sub(quantity(' + chr(39) + '1' + chr(39) + ')).isInteger()'])}",
            lambda: f"sign(quantity({self.text_of(QUANTITIES, sub)})) == {p(['0', '1', '-1'])}",
            lambda: f"{p(['isQuantity', 'isSemver', 'isIP', 'isCIDR', 'isURL'])}({self.text_of(p([QUANTITIES, VERSIONS, ADDRESSES, PREFIXES, URLS]), sub)})",
            lambda: f"isSemver({self.text_of(VERSIONS, sub)}, {p(['true', 'false'])})",
            lambda: f"semver({self.text_of(VERSIONS, sub)}{p(['', ', true'])}).{p(['major() == 1', 'minor() > 2', 'patch() < 5', 'isLessThan(semver(' + chr(39) + '2.0.0' + chr(39) + '))', 'compareTo(semver(' + chr(39) + '1.2.3' + chr(39) + ')) == 0'])}",
            lambda: f"ip({self.text_of(ADDRESSES, sub)}).{p(['family() == 4', 'isLoopback()', 'isUnspecified()', 'isGlobalUnicast()', 'isLinkLocalUnicast()', 'isLinkLocalMulticast()'])}",
            lambda: f"ip.isCanonical({self.text_of(ADDRESSES, sub)})",
            lambda: f"ip({self.text_of(ADDRESSES, sub)}) == ip('{p(ADDRESSES)}')",
            lambda: f"cidr({self.text_of(PREFIXES, sub)}).{p(['containsIP', 'containsCIDR'])}({self.text_of(ADDRESSES + PREFIXES, sub)})",
            lambda: f"cidr({self.text_of(PREFIXES, sub)}).{p(['prefixLength() == 8', 'masked() == cidr(' + chr(39) + '10.0.0.0/8' + chr(39) + ')', 'ip().isLoopback()', 'containsIP(ip(' + chr(39) + '10.0.0.1' + chr(39) + '))'])}",
            lambda: f"url({self.text_of(URLS, sub)}).{p(['getScheme()', 'getHost()', 'getHostname()', 'getPort()', 'getEscapedPath()'])} == {string()}",
            lambda: f"url({self.text_of(URLS, sub)}).getQuery(){p(['.size() == 1', ' == {}', '.q == [' + chr(39) + '1' + chr(39) + ']', '.all(k, k != ' + chr(39) + chr(39) + ')'])}",
            lambda: f"format.{p(FORMATS)}().validate({string()}).hasValue()",
            lambda: f"format.named({p(['self.kind', chr(39) + 'date' + chr(39), chr(39) + 'nope' + chr(39), chr(39) + 'dns1123Label' + chr(39)])}).{p(['hasValue()', 'value().validate(' + string() + ').orValue([]).size() == 0'])}",
            lambda: f"{string()}.{p(['matches'])}('{p(REGEXES)}')",
            lambda: f"{string()}.findAll('{p(REGEXES)}'{p(['', ', 1', ', -1', ', 0'])}).size() {p(compare)} 1",
            lambda: self.sets(scope, depth), lambda: self.sets(scope, depth),
            lambda: self.two_variables(scope, depth), lambda: self.two_variables(scope, depth), lambda: self.two_variables(scope, depth),
            lambda: self.optional(sub, scope, depth), lambda: self.optional(sub, scope, depth), lambda: self.optional(sub, scope, depth),
            lambda: f"{sub('timestamp')}.{self.clock()} {p(compare)} {integer()}",
            lambda: f"type({sub(p(['int', 'string', 'double', 'bool', 'bytes', 'timestamp', 'duration']))}) == {p(TYPES)}",
            lambda: f"type({p(['self', '{}', '[]', 'null', 'optional.none()', 'type(1)', '1u'])}) {p(['==', '!='])} {p(TYPES)}",
            lambda: f"dyn({sub(p(['int', 'string', 'double']))}) {p(compare)} {p(['dyn(', '('])}{sub(p(['int', 'string', 'double']))})",
            lambda: f"uint({integer()}) {p(compare)} {p(['1u', '0u', '18446744073709551615u', 'uint(' + chr(39) + '5' + chr(39) + ')'])}",
            lambda: f"{integer()} {p(compare)} {p(['1u', '1.5', 'double(2)', 'uint(3)'])}",
            lambda: self.mapping(sub, scope, depth),
            lambda: self.message(sub),
            lambda: f"({string()} {p(['in', '=='])} {p(['[]', '{}', 'null', '[' + chr(39) + 'a' + chr(39) + ']', '{' + chr(39) + 'a' + chr(39) + ': 1}'])})",
            lambda: f"has({p(['self', 'dyn(self)', 'self.metadata', 'self.a', '{' + chr(39) + 'a' + chr(39) + ': 1}', 'self.?a', '[self][0]'])}.{p(['a', 'k', '`b-c`', 'kind', 'name', '__if__'])})",
            lambda: f"[{sub('bool')}, {sub('bool')}].{p(['all', 'exists', 'exists_one', 'existsOne'])}(b, {p(['b', '!b', 'true', 'b && b'])})",
        ]
        for text, schema in self.paths(scope):
            kind = self.kind(schema)
            if kind == "list":
                items = schema["items"]
                options += [
                    lambda text=text: f"{text}.{p(['includes', 'exists', 'contains'])}({p(['1', 'e, e == e', 'null'])})",
                    lambda text=text: f"{text}.{p(['distinct()', 'reverse()', 'slice(0, 2)', 'sort()', 'flatten()', 'sortBy(e, e)', 'filter(e, e == e)', 'map(e, e)'])}.{p(['size() > 0', 'isSorted()', 'first().hasValue()'])}",
                    lambda text=text: f"{text} + {text} == {text}", lambda text=text: f"{text}.{p(['first', 'last'])}().{p(['hasValue()', 'value() == ' + text + '[0]', 'orValue(' + text + '[0]) == ' + text + '[0]'])}",
                    lambda text=text, items=items: f"{text}.exists_one(e, {self.expression('bool', [('e', items), *scope], 1)})",
                    lambda text=text: f"{text}[?{p(['0', '5', '-1'])}].{p(['hasValue()', 'or(' + text + '[?1]).hasValue()'])}",
                ]
            if kind == "map":
                options += [
                    lambda text=text: f"{text}.{p(['all', 'exists', 'existsOne'])}(k, v, {p(['k != ' + chr(39) + 'k' + chr(39), 'v == v', 'k.size() > 0 && v == ' + text + '[k]'])})",
                    lambda text=text: f"{text}.{p(['transformMap(k, v, v)', 'transformMap(k, v, k != ' + chr(39) + 'k' + chr(39) + ', v)', 'transformList(k, v, v)', 'transformMapEntry(k, v, {k + ' + chr(39) + 'x' + chr(39) + ': v})'])}.size() == {text}.size()",
                ]
            if kind == "dyn":
                options += [lambda text=text: f"{text} {p(compare)} {p(['1', '1.5', chr(39) + 'a' + chr(39), 'true', 'null', '1u'])}", lambda text=text: f"{p(['string', 'int', 'double', 'type'])}({text}) == {p(['1', chr(39) + '5' + chr(39), 'int', 'string'])}",
                            lambda text=text: f"{text}.{p(['matches(' + chr(39) + 'a' + chr(39) + ')', 'size() == 1', 'startsWith(' + chr(39) + 'a' + chr(39) + ')', 'foo', 'isSorted()', 'all(x, true)'])}"]
            if kind is None:
                options += [lambda text=text: f"{text} == {text}", lambda text=text: f"has({text}.any)"]
        return options if self.chance(0.6) else super().of_bool(sub, scope, depth)

    def text_of(self, texts, sub):
        return f"'{self.pick(texts)}'" if self.chance(0.75) else sub("string")

    def clock(self):
        part = self.pick(["getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds"])
        return f"{part}({self.pick([chr(39) + self.pick(ZONES) + chr(39), ''])})"

    def sets(self, scope, depth):
        kind = self.pick(["int", "string", "double"])
        a, b = self.items(kind, scope, depth - 1), self.items(self.pick([kind, kind, "int"]), scope, depth - 1)
        return f"sets.{self.pick(['contains', 'equivalent', 'intersects'])}({a}, {b})"

    def two_variables(self, scope, depth):
        p = self.pick
        text, kind = self.list_of(scope, depth)
        typed = {"type": {"int": "integer", "double": "number", "bool": "boolean"}.get(kind, kind)} if kind in ("int", "double", "bool", "string") else None
        inner = self.expression("bool", [("v", typed), ("i", {"type": "integer"}), *scope], 1) if typed else p(["i > 0", "v == v", "true"])
        return p([
            lambda: f"{text}.{p(['all', 'exists', 'existsOne', 'exists_one'])}(i, v, {inner})",
            lambda: f"{text}.transformList(i, v, {p(['i', 'v', inner])}).size() {p(['==', '>'])} 1",
            lambda: f"{text}.transformList(i, v, {inner}, {p(['i', 'v', '[i]'])}).size() == 1",
            lambda: f"{text}.transformMap(i, v, {p([inner + ', v', 'v', 'i', '[v]'])}) == {p(['{}', '{0: 1}'])}",
            lambda: f"{text}.transformMapEntry(i, v, {p(['{i: v}', '{v: i}', '{string(i): v}', '{1: i}', '{}'])}).size() == 1",
            lambda: f"{text}.map(v, {p(['v', '[v]', '[v, v]', '{1: v}'])}).{p(['size() > 0', 'flatten().size() > 1', 'distinct().size() == 1'])}",
            lambda: f"{text}.map(v, v == v, v).filter(v, v == v).size() == {text}.size()",
            lambda: f"{text}.{p(['all', 'exists'])}(v, {text}.{p(['all', 'exists'])}(w, {p(['v == w', 'v != w || true', 'w == v'])}))",
            lambda: f"lists.range({p(['0', '3', '10', '-1', '100000'])}).{p(['all', 'exists'])}(n, {p(['n < 5', 'n >= 0', 'n % 2 == 0'])})",
        ])()

    def optional(self, sub, scope, depth):
        p = self.pick
        kind = p(["int", "string"])
        made = p([lambda: f"optional.of({sub(kind)})", lambda: f"optional.ofNonZeroValue({sub(kind)})", lambda: "optional.none()", lambda: f"{self.items(kind, scope, 0)}[?{p(['0', '3'])}]",
                  lambda: f"{{'a': {sub(kind)}}}.?{p(['a', 'b'])}", lambda: f"{{'a': {sub(kind)}}}[?'a']"])
        return p([
            lambda: f"{made()}.hasValue()", lambda: f"{made()}.orValue({sub(kind)}) == {sub(kind)}", lambda: f"{made()}.or({made()}).hasValue()", lambda: f"{made()}.value() == {sub(kind)}",
            lambda: f"{made()}.optMap(o, {p(['o', 'o == o', 'string(o)', '[o]'])}).hasValue()", lambda: f"{made()}.optFlatMap(o, {p(['optional.of(o)', 'optional.none()', 'optional.ofNonZeroValue(o)'])}).hasValue()",
            lambda: f"[?{made()}, {sub(kind)}].size() == 1", lambda: f"{{?'a': {made()}}}.size() == 1", lambda: f"[{made()}, {made()}].unwrapOpt().size() == 1", lambda: f"optional.unwrap([{made()}]).size() == 1",
            lambda: f"{made()} == {made()}", lambda: f"{made()} != optional.none()", lambda: f"type({made()}) == optional_type",
        ])()

    def mapping(self, sub, scope, depth):
        p = self.pick
        key = p(["'a'", "1", "true", "1u", "string(1)", "1.5", "null"])
        made = f"{{{key}: {sub(p(['int', 'string', 'bool']))}{p(['', ', ' + p([chr(39) + 'b' + chr(39), '2', key]) + ': ' + sub('int')])}}}"
        return p([lambda: f"{made}.size() == 1", lambda: f"{key} in {made}", lambda: f"{made}[{key}] == {sub('int')}", lambda: f"{made}.all(k, k == {key})", lambda: f"{made} == {made}",
                  lambda: f"{made}.exists(k, v, v == {sub('int')})", lambda: f"{made}.a == {sub('int')}", lambda: f"has({made}.a)", lambda: f"{made}.map(k, k).size() == 1"])()

    def message(self, sub):
        p = self.pick
        made = p([
            lambda: f"google.protobuf.{p(['Int32Value', 'Int64Value'])}{{value: {sub('int')}}} == {sub('int')}",
            lambda: f"google.protobuf.{p(['UInt32Value', 'UInt64Value'])}{{value: uint({sub('int')})}} == 1u",
            lambda: f"google.protobuf.{p(['DoubleValue', 'FloatValue'])}{{value: {sub('double')}}} > {sub('double')}",
            lambda: f"google.protobuf.StringValue{{{p(['', 'value: ' + sub('string')])}}} == {sub('string')}",
            lambda: f"google.protobuf.Timestamp{{seconds: {sub('int')}{p(['', ', nanos: 5', ', nanos: -1'])}}} {p(['==', '<'])} {sub('timestamp')}",
            lambda: f"google.protobuf.Duration{{seconds: {sub('int')}}} {p(['==', '<'])} {sub('duration')}",
            lambda: f"google.protobuf.Struct{{fields: {{'a': {sub(p(['int', 'string', 'double', 'bytes', 'timestamp', 'duration', 'bool']))}}}}}.a == {sub(p(['int', 'string']))}",
            lambda: f"google.protobuf.ListValue{{values: [{sub('int')}]}}[0] == {sub('int')}",
            lambda: f"google.protobuf.Value{{{p(['number_value: ' + sub('double'), 'string_value: ' + sub('string'), 'bool_value: ' + sub('bool'), 'null_value: 0', 'list_value: [1]', 'struct_value: {}', ''])}}} == {p(['null', '1.5', chr(39) + 'a' + chr(39), 'true', '[1]', '{}'])}",
            lambda: f"google.protobuf.{p(['Int32Value', 'BoolValue', 'Foo', 'Empty', 'Timestamp'])}{{{p(['value: ', 'valu: ', '?value: ', ''])}{p(['1', 'true', 'dyn(1)', 'optional.of(1)', ''])}}} == {p(['1', 'true', 'null'])}",
        ])
        return made()

    def of_int(self, sub, scope, depth):
        p = self.pick
        options = [
            lambda: f"{sub('timestamp')}.{self.clock()}", lambda: f"{sub('duration')}.{p(['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}()",
            lambda: f"int({sub(p(['timestamp', 'duration', 'string', 'double']))})", lambda: f"int(uint({sub('int')}))",
            lambda: f"{sub('string')}.{p(['indexOf', 'lastIndexOf'])}({sub('string')}, {p(['0', '1', '-1', '100'])})", lambda: f"{self.items('int', scope, 0)}.{p(['indexOf', 'lastIndexOf'])}({sub('int')})",
            lambda: f"size({sub('bytes')})", lambda: f"{self.items('int', scope, 0)}[{p(['0', '1', '-1', '1.0', '0u'])}]", lambda: f"lists.range({p(['3', sub('int')])}).sum()",
            lambda: f"{self.items('int', scope, depth - 1)}.{p(['sort()', 'sortBy(q, -q)', 'distinct()', 'reverse()'])}[0]", lambda: f"quantity('{p(QUANTITIES)}').asInteger()",
        ]
        return options if self.chance(0.5) else super().of_int(sub, scope, depth)

    def of_string(self, sub, scope, depth):
        p = self.pick
        options = [
            lambda: f"{sub('string')}.substring({p(['0', '1', '5'])}, {p(['1', '3', '0'])})", lambda: f"{sub('string')}.charAt({sub('int')})", lambda: f"{sub('string')}.replace({sub('string')}, {sub('string')}, {p(['0', '1', '-1', '2'])})",
            lambda: f"{sub('string')}.split({sub('string')}, {p(['0', '1', '2', '-1'])}).join()", lambda: f"strings.quote({sub('string')})", lambda: f"string({sub(p(['bytes', 'timestamp', 'duration', 'double', 'int', 'bool']))})",
            lambda: self.printf(sub), lambda: self.printf(sub), lambda: f"{sub('string')}.{p(['lowerAscii', 'upperAscii', 'trim'])}()", lambda: f"string(uint({sub('int')}))", lambda: f"string(ip('{p(ADDRESSES)}'))", lambda: f"string(cidr('{p(PREFIXES)}'))",
            lambda: f"format.{p(FORMATS)}().validate({sub('string')}).orValue(['']).join('; ')", lambda: f"string(quantity('{p(QUANTITIES)}').asApproximateFloat())", lambda: f"{self.items('string', scope, 0)}.{p(['max', 'min'])}()",
        ]
        return options if self.chance(0.5) else super().of_string(sub, scope, depth)

    def printf(self, sub):
        p = self.pick
        clauses = [p(CLAUSES) for _ in range(self.random.randint(1, 3))]
        args = [p([lambda: sub("int"), lambda: sub("string"), lambda: sub("double"), lambda: sub("bool"), lambda: sub("bytes"), lambda: sub("timestamp"), lambda: sub("duration"), lambda: p(["[1, 'a']", "{'b': 1, 'a': [2]}", "null", "type(1)", "1u", "dyn(1)", "optional.of(1)", "ip('::1')", "[1.5, true]", "{1: b'a'}"])])()
                for _ in range(max(0, len(clauses) + p([0, 0, 0, 1, -1])))]
        return f"'{p(['', 'x '])}{' '.join(clauses)}'.format([{', '.join(args)}])"

    def of_double(self, sub, scope, depth):
        options = [lambda: f"double({sub(self.pick(['string', 'int']))})", lambda: f"quantity('{self.pick(QUANTITIES)}').asApproximateFloat()", lambda: f"{self.items('double', scope, 0)}.{self.pick(['max', 'min'])}()",
                   lambda: f"(-{sub('double')})", lambda: f"({sub('double')} / {self.pick(['0.0', '3.0'])})"]
        return options if self.chance(0.5) else super().of_double(sub, scope, depth)

    def of_timestamp(self, sub, scope, depth):
        options = [lambda: f"timestamp({sub('int')})", lambda: f"({sub('duration')} + {sub('timestamp')})", lambda: f"timestamp({sub('timestamp')})"]
        return options if self.chance(0.3) else super().of_timestamp(sub, scope, depth)

    def value(self, schema, depth=0):
        if schema.get("type") == "string" and "enum" not in schema and self.chance(0.15):
            return self.pick(TIMES + SPANS + QUANTITIES + VERSIONS + ADDRESSES + PREFIXES + URLS + ["ünï", "👑", "a\nb", "日本語", "é" * 30])
        if schema.get("type") == "integer" and self.chance(0.1):
            return self.pick([-9223372036854775808, 4294967296, 253402300800, 2147483648])
        return super().value(schema, depth)


class Spoiled(Wide):
    """One object, and many rules that are spoiled: what is said of each, and where."""

    def question(self):
        schema = {"type": "object", "properties": {"s": {"type": "string", "maxLength": 20}, "n": {"type": "integer"}, "b": {"type": "boolean"}, "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
                                                   "m": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}}, "b-c": {"type": "string", "maxLength": 5}, "if": {"type": "integer"}}}
        scope = [("self", self.resource(schema))]
        rules = []
        while len(rules) < 8:
            rule = self.expression("bool", scope, self.random.randint(1, 3))
            if len(rule) < 300:
                rule = self.layout(rule) if self.chance(0.3) else rule
                rules.append({"rule": self.spoil(rule)})
        schema["x-kubernetes-validations"] = rules
        return {"schema": schema, "object": {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}, "s": "abc", "n": 3, "b": True, "l": ["a", "b"], "m": {"k": 1}, "b-c": "x", "if": 2}}
