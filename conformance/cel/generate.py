"""Random schemas with rules, and objects for them. The same seed and number make the same question."""
import random

NAMES = ["a", "b", "count", "b-c", "d.e", "namespace", "if", "x__y", "f/g", "9z", "spec", "name", "kind", "type", "ünï"]
RESERVED = {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
            "loop", "package", "namespace", "return", "var", "void", "while"}
TEXTS = ["", "a", "b", "abc", "a-b", "Rook takes 👑", "10.0.0.1", "10.0.0.0/8", "https://example.com:80/p?q=1", "1Gi", "200m", "1.2.3",
         "v1.2.3-rc.1", "2020-01-01", "2020-01-01T00:00:00Z", "1h", "ABC", "x,y,z", "  t ", "line\nbreak", "é", "YWJj"]
REGEXES = ["^a", "[a-z]+", "^[^0-9]*$", ".*", "(a|b)+c?", "\\\\d+"]


def escape(name):
    if not name or name[0].isdigit():
        return None
    if name in RESERVED:
        return f"__{name}__"
    out = name.replace("__", "__underscores__").replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")
    return out if all(c.isascii() and (c.isalnum() or c == "_") for c in out) else None


class Generator:
    def __init__(self, seed, number):
        self.random = random.Random(f"{seed} {number}")
        self.rules_left = 4

    def pick(self, items):
        return self.random.choice(list(items))

    def chance(self, p):
        return self.random.random() < p

    # Schemas

    def schema(self, depth=0, is_root=False):
        kinds = ["integer", "number", "string", "boolean", "string"]
        if depth < 3:
            kinds += ["object", "array", "map", "object", "array"]
        if depth > 0:
            kinds += ["int-or-string", "preserve"]
        kind = "object" if is_root else self.pick(kinds)
        node = {}
        if kind == "int-or-string":
            node["x-kubernetes-int-or-string"] = True
            if self.chance(0.3):
                node["maxLength"] = self.pick([0, 5, 64])
        elif kind == "preserve":
            node["x-kubernetes-preserve-unknown-fields"] = True
            if self.chance(0.5):
                node["type"] = "object"
        elif kind == "map":
            node.update(type="object", additionalProperties=self.schema(depth + 1))
            if self.chance(0.85):
                node["maxProperties"] = self.pick([1, 3, 10, 100])
        elif kind == "array":
            node.update(type="array", items=self.schema(depth + 1))
            if self.chance(0.85):
                node["maxItems"] = self.pick([1, 4, 10, 100])
            self.list_type(node)
        elif kind == "object":
            names = self.random.sample(NAMES, self.random.randint(1, 4))
            node.update(type="object", properties={name: self.schema(depth + 1) for name in names})
            if self.chance(0.4):
                node["required"] = self.random.sample(names, self.random.randint(1, len(names)))
            if self.chance(0.1):
                node["x-kubernetes-map-type"] = self.pick(["atomic", "granular"])
            if depth and self.chance(0.1):
                node["x-kubernetes-embedded-resource"] = True
                node["properties"].pop("kind", None)
                node.pop("required", None)
                if not node["properties"]:
                    node["x-kubernetes-preserve-unknown-fields"] = True
            if is_root:
                node["properties"].pop("kind", None)
                node.pop("required", None)
                if self.chance(0.2):
                    node["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": self.pick([8, 63, 400])}}}
        else:
            node["type"] = kind
            if kind == "string":
                if self.chance(0.8):
                    node["maxLength"] = self.pick([0, 1, 10, 64, 253])
                if self.chance(0.35):
                    node["format"] = self.pick(["date", "date-time", "duration", "byte", "int64", "uuid", "duration", "date-time"])
                elif self.chance(0.2):
                    node["enum"] = self.random.sample(["a", "b", "abc", "ABC"], 2)
        if not is_root and self.chance(0.12):
            node["nullable"] = True
        if self.rules_left and (kind != "preserve" or self.chance(0.1)) and self.chance(0.35 if not is_root else 0.8):
            node["x-kubernetes-validations"] = [self.rule(node, is_root) for _ in range(self.random.randint(1, 2))]
            self.rules_left -= 1
        return node

    def list_type(self, node):
        items = node["items"]
        if not self.chance(0.5) or items.get("nullable"):
            return
        if items.get("type") in ("string", "integer", "boolean", "number"):
            node["x-kubernetes-list-type"] = self.pick(["set", "atomic", "set"])
        elif items.get("properties"):
            keys = [name for name, one in items["properties"].items() if one.get("type") in ("string", "integer", "boolean") and not one.get("nullable")]
            if keys:
                keys = self.random.sample(keys, self.random.randint(1, min(len(keys), 2)))
                node["x-kubernetes-list-type"] = "map"
                node["x-kubernetes-list-map-keys"] = keys
                items["required"] = sorted(set(items.get("required", [])) | set(keys))

    def rule(self, node, is_root):
        scope = [("self", self.resource(node) if is_root or node.get("x-kubernetes-embedded-resource") else node)]
        rule = {}
        if self.chance(0.25):
            if self.chance(0.3):
                rule["optionalOldSelf"] = True
                inner = self.expression("bool", [("oldSelf.value()", scope[0][1]), *scope], 2)
                rule["rule"] = f"!oldSelf.hasValue() || {inner}"
            else:
                rule["rule"] = self.expression("bool", [("oldSelf", scope[0][1]), *scope], 3)
                if "oldSelf" not in rule["rule"]:
                    rule["rule"] = f"({rule['rule']}) || self == oldSelf"
        else:
            rule["rule"] = self.expression("bool", scope, 3)
        if self.chance(0.04):
            rule["rule"] = self.spoil(rule["rule"])
        if self.chance(0.2):
            rule["message"] = self.pick(["must hold", " spaced ", "<b> & \"q\""])
        if self.chance(0.25):
            rule["messageExpression"] = self.expression("string", scope, 2)
        if self.chance(0.2):
            rule["reason"] = self.pick(["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"])
        if self.chance(0.2) and node.get("properties"):
            rule["fieldPath"] = f"['{self.pick(node['properties'])}']"
        return rule

    def spoil(self, text):
        if len(text) < 3:
            return text + ")"
        at = self.random.randrange(len(text))
        return self.pick([text[:at] + text[at + 1:], text[:at] + self.pick("()[].&|!'x1 ?:") + text[at:], text + " ||", text.replace("self", "sel", 1)])

    @staticmethod
    def resource(node):
        name = {"type": "string", "maxLength": 253}
        own = {key: value for key, value in node.get("properties", {}).items() if key not in ("kind", "apiVersion", "metadata")}
        return {**node, "properties": {**own, "kind": {"type": "string"}, "apiVersion": {"type": "string"},
                                       "metadata": {"type": "object", "properties": {"name": name, "generateName": name}}}}

    # Expressions

    @staticmethod
    def kind(schema):
        if schema.get("x-kubernetes-int-or-string"):
            return "dyn"
        kind = schema.get("type")
        if kind == "string":
            return {"date": "timestamp", "date-time": "timestamp", "duration": "duration", "byte": "bytes"}.get(schema.get("format"), "string")
        if kind == "object":
            return "map" if "additionalProperties" in schema else "object"
        return {"integer": "int", "number": "double", "boolean": "bool", "array": "list"}.get(kind)

    def paths(self, scope):
        """Everything that can be named: (expression, schema)."""
        found = []
        todo = [(text, schema, 0) for text, schema in scope]
        while todo:
            text, schema, depth = todo.pop()
            found.append((text, schema))
            if depth > 3:
                continue
            kind = self.kind(schema)
            if kind == "object":
                for name, one in schema.get("properties", {}).items():
                    ident = escape(name)
                    if ident:
                        if one.get("x-kubernetes-embedded-resource"):
                            one = self.resource(one)
                        todo.append((f"{text}.{ident}", one, depth + 1))
            elif kind == "list":
                todo.append((f"{text}[{self.pick([0, 0, 1])}]", schema["items"], depth + 1))
            elif kind == "map":
                todo.append((f"{text}{self.pick(['.k', chr(91) + chr(39) + 'k' + chr(39) + chr(93)])}", schema["additionalProperties"], depth + 1))
        return found

    def of_kind(self, kind, scope):
        return [(text, schema) for text, schema in self.paths(scope) if self.kind(schema) == kind]

    def literal(self, kind):
        quote = lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
        return {
            "bool": lambda: self.pick(["true", "false"]),
            "int": lambda: self.pick(["0", "1", "2", "-1", "5", "10", "100", "9223372036854775807"]),
            "double": lambda: self.pick(["0.0", "1.0", "1.5", "-2.5", "1e10"]),
            "string": lambda: quote(self.pick(TEXTS)),
            "bytes": lambda: self.pick(["b'abc'", "b''", "b'\\xff'"]),
            "timestamp": lambda: self.pick(["timestamp('2020-01-01T00:00:00Z')", "timestamp('1999-12-31T23:59:59.5Z')"]),
            "duration": lambda: self.pick(["duration('1h')", "duration('90s')", "duration('-1ms')"]),
        }[kind]()

    def items(self, kind, scope, depth):
        """A list with items of this kind."""
        named = [text for text, schema in self.of_kind("list", scope) if self.kind(schema["items"]) == kind]
        options = []
        if named:
            options += [lambda: self.pick(named)] * 4
            if depth > 0:
                options += [lambda: f"{self.pick(named)}.filter(x, {self.boolean_of(kind, 'x', scope, depth - 1)})",
                            lambda: f"({self.pick(named)} + {self.pick(named)})"]
        options += [lambda: "[" + ", ".join(self.literal(kind) if kind != "dyn" else "1" for _ in range(self.random.randint(0 if kind == "int" else 1, 3))) + "]"]
        if kind == "string" and depth > 0:
            options += [lambda: f"{self.expression('string', scope, depth - 1)}.split({self.literal('string')})",
                        lambda: f"{self.expression('string', scope, depth - 1)}.findAll('{self.pick(REGEXES)}')"]
            maps = [text for text, _ in self.of_kind("map", scope)]
            if maps:
                options += [lambda: f"{self.pick(maps)}.map(k, k)"]
        if depth > 0 and kind in ("int", "string", "double"):
            options += [lambda: f"{self.items(kind, scope, depth - 1)}.{self.pick(['sort()', 'distinct()', 'reverse()', 'slice(0, 1)'])}",
                        lambda: f"{self.items(kind, scope, depth - 1)}.map(y, {self.expression(kind, [('y', {'type': {'int': 'integer', 'double': 'number'}.get(kind, kind)}), *scope], 1)})"]
        return self.pick(options)()

    def boolean_of(self, kind, name, scope, depth):
        schema = {"type": {"int": "integer", "double": "number", "bool": "boolean"}.get(kind, kind)}
        if kind in ("timestamp", "duration", "bytes"):
            schema = {"type": "string", "format": {"timestamp": "date-time", "duration": "duration", "bytes": "byte"}[kind]}
        return self.expression("bool", [(name, schema), *scope], depth)

    def expression(self, kind, scope, depth):
        named = [text for text, _ in self.of_kind(kind, scope)]
        if depth <= 0 or (named and self.chance(0.25)):
            return self.pick(named) if named and self.chance(0.85) else self.literal(kind)
        sub = lambda kind: self.expression(kind, scope, depth - 1)
        if self.chance(0.05):
            return f"({sub('bool')} ? {sub(kind)} : {sub(kind)})"
        return self.pick(getattr(self, f"of_{kind}")(sub, scope, depth))()

    def of_bool(self, sub, scope, depth):
        p = self.pick
        compare = ["==", "!=", "<", "<=", ">", ">="]
        simple = p(["int", "string", "double", "timestamp", "duration", "bytes"])
        options = [
            lambda: f"{sub(simple)} {p(compare)} {sub(simple)}",
            lambda: f"{sub('int')} {p(compare)} {sub('int')}",
            lambda: f"{sub('string')} {p(['==', '!='])} {sub('string')}",
            lambda: f"({sub('bool')} && {sub('bool')})",
            lambda: f"({sub('bool')} || {sub('bool')})",
            lambda: f"!({sub('bool')})",
            lambda: f"{sub('string')}.{p(['startsWith', 'endsWith', 'contains'])}({sub('string')})",
            lambda: f"{sub('string')}.matches('{p(REGEXES)}')",
            lambda: f"{sub('string')} in {self.items('string', scope, depth - 1)}",
            lambda: f"{sub('int')} in {self.items('int', scope, depth - 1)}",
            lambda: f"{self.items(simple, scope, depth - 1)}.{p(['all', 'exists', 'exists_one'])}(x, {self.boolean_of(simple, 'x', scope, depth - 1)})",
            lambda: f"{self.items(p(['int', 'string']), scope, depth - 1)}.isSorted()",
            lambda: f"sets.{p(['contains', 'intersects', 'equivalent'])}({self.items('string', scope, 0)}, {self.items('string', scope, 0)})",
            lambda: f"{p(['isURL', 'isIP', 'isCIDR', 'isQuantity', 'isSemver'])}({sub('string')})",
            lambda: f"quantity({sub('string')}).{p(['isLessThan', 'isGreaterThan'])}(quantity('1Gi'))",
            lambda: f"cidr('10.0.0.0/8').containsIP({sub('string')})",
            lambda: f"!format.{p(['dns1123Label', 'dns1123Subdomain', 'qualifiedName', 'date'])}().validate({sub('string')}).hasValue()",
        ]
        named = self.paths(scope)
        fields = [text for text, _ in named if "." in text and not text.endswith(("]", ")"))]
        if fields:
            options += [lambda: f"has({p(fields)})"] * 3
            options += [lambda: f"(!has({(text := p(fields))}) || {self.expression('bool', scope, depth - 1)})"]
        for text, schema in named:
            if self.kind(schema) == "dyn":
                options += [lambda text=text: f"{text} == {p(['1', chr(39) + 'a' + chr(39), '5'])}",
                            lambda text=text: f"(type({text}) == int ? {text} < 5 : {text}.matches('^[0-9]+%$'))", lambda text=text: f"{text} < 10"]
            if self.kind(schema) in ("object", "list", "map"):
                options += [lambda text=text: f"{text} == {text.replace('self', 'oldSelf', 1) if any(name == 'oldSelf' for name, _ in scope) else text}"]
            if self.kind(schema) == "map":
                options += [lambda text=text: f"'k' in {text}", lambda text=text: f"{text}.all(k, k != {self.literal('string')})",
                            lambda text=text, schema=schema: f"{text}.exists(k, {self.expression('bool', [(f'{text}[k]', schema['additionalProperties']), *scope], 1)})"]
            if self.kind(schema) == "list":
                options += [lambda text=text, schema=schema: f"{text}.{p(['all', 'exists', 'exists_one'])}(e, {self.expression('bool', [('e', schema['items']), *scope], depth - 1)})",
                            lambda text=text: f"{text}.all(i, v, i < 5)"]
            if schema.get("type") and "." in text and not text.endswith(("]", ")")) and self.kind(schema) in ("int", "string", "bool"):
                head, _, tail = text.rpartition(".")
                options += [lambda head=head, tail=tail, schema=schema: f"{head}.?{tail}.orValue({self.literal(self.kind(schema))}) == {self.literal(self.kind(schema))}",
                            lambda head=head, tail=tail: f"{head}.?{tail}.hasValue()"]
        return options

    def of_int(self, sub, scope, depth):
        p = self.pick
        options = [
            lambda: f"({sub('int')} {p(['+', '-', '*', '/', '%'])} {sub('int')})",
            lambda: f"size({sub('string')})", lambda: f"{sub('string')}.size()",
            lambda: f"{self.items(p(['int', 'string']), scope, depth - 1)}.size()",
            lambda: f"{self.items('int', scope, depth - 1)}.{p(['sum', 'max', 'min'])}()",
            lambda: f"{sub('string')}.{p(['indexOf', 'lastIndexOf'])}({sub('string')})",
            lambda: f"int({sub(p(['double', 'string']))})",
            lambda: f"{sub('timestamp')}.{p(['getFullYear', 'getMonth', 'getHours', 'getDayOfWeek'])}()",
            lambda: f"{sub('duration')}.{p(['getHours', 'getSeconds', 'getMilliseconds'])}()",
            lambda: f"-({sub('int')})",
        ]
        for text, schema in self.paths(scope):
            if self.kind(schema) in ("list", "map"):
                options += [lambda text=text: f"{text}.size()"] * 2
        return options

    def of_double(self, sub, scope, depth):
        return [lambda: f"({sub('double')} {self.pick(['+', '-', '*', '/'])} {sub('double')})", lambda: f"double({sub('int')})",
                lambda: f"{self.items('double', scope, depth - 1)}.sum()"]

    def of_string(self, sub, scope, depth):
        p = self.pick
        return [
            lambda: f"({sub('string')} + {sub('string')})",
            lambda: f"{sub('string')}.{p(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f"{sub('string')}.substring({p(['0', '1', '2'])})", lambda: f"{sub('string')}.charAt({p(['0', '1'])})",
            lambda: f"{sub('string')}.replace({self.literal('string')}, {self.literal('string')})",
            lambda: f"string({sub(p(['int', 'double', 'bool', 'timestamp', 'duration']))})",
            lambda: f"{self.items('string', scope, depth - 1)}.join({self.literal('string')})",
            lambda: f"'%s is %d'.format([{sub('string')}, {sub('int')}])",
            lambda: f"{sub('string')}.find('{p(REGEXES)}')",
            lambda: f"url({sub('string')}).getHost()",
        ]

    def of_bytes(self, sub, scope, depth):
        return [lambda: f"bytes({sub('string')})", lambda: f"({sub('bytes')} + {sub('bytes')})"]

    def of_timestamp(self, sub, scope, depth):
        return [lambda: f"({sub('timestamp')} {self.pick(['+', '-'])} {sub('duration')})", lambda: f"timestamp({sub('string')})"]

    def of_duration(self, sub, scope, depth):
        return [lambda: f"({sub('duration')} + {sub('duration')})", lambda: f"({sub('timestamp')} - {sub('timestamp')})", lambda: f"duration({sub('string')})"]

    # Objects

    def value(self, schema, depth=0):
        if schema.get("nullable") and self.chance(0.2):
            return None
        if self.chance(0.01):
            return self.pick(["wrong", 7, None, [], {}])
        kind = schema.get("type")
        if schema.get("x-kubernetes-int-or-string"):
            return self.pick([1, 5, 80, "a", "50%", "1"])
        if "enum" in schema:
            return self.pick(schema["enum"])
        if kind == "string":
            texts = {"date": ["2020-01-01", "1999-12-31"], "date-time": ["2020-01-01T00:00:00Z", "2021-06-01T12:30:00.5+02:00"],
                     "duration": ["1h", "90s", "1h2m3s", "2 days"], "byte": ["YWJj", "", "QUI="],
                     "uuid": ["550e8400-e29b-41d4-a716-446655440000"]}.get(schema.get("format"), TEXTS)
            return self.pick(texts)
        if kind == "integer":
            return self.pick([0, 1, 2, 5, -1, 10, 9223372036854775807])
        if kind == "number":
            return self.pick([0.5, 1, 1.5, -2.5, 10, 1234.5])
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "array":
            items = [self.value(schema["items"], depth + 1) for _ in range(self.random.randint(0, 4))]
            if schema.get("x-kubernetes-list-type") in ("set", "map") and self.chance(0.9):
                keys = schema.get("x-kubernetes-list-map-keys")
                unique = {}
                for item in items:
                    key = repr([item.get(k) for k in keys]) if keys and isinstance(item, dict) else repr(item)
                    unique.setdefault(key, item)
                items = list(unique.values())
            return items
        if kind == "object" and "additionalProperties" in schema:
            return {key: self.value(schema["additionalProperties"], depth + 1) for key in self.random.sample(["k", "l", "a-b", "x.y"], self.random.randint(0, 3))}
        if kind == "object" and "properties" in schema:
            required = schema.get("required", [])
            found = {name: self.value(one, depth + 1) for name, one in schema["properties"].items() if name in required or self.chance(0.75)}
            if schema.get("x-kubernetes-embedded-resource"):
                found.update(apiVersion="v1", kind="Pod", metadata={"name": self.pick(["n", "other"])})
            return found
        return self.pick([{"any": 1}, {"any": [1, "x"]}, {}])

    def change(self, schema, value):
        """A value that shares much with this one."""
        if self.chance(0.25):
            return self.value(schema)
        if isinstance(value, dict):
            children = schema.get("properties") or {}
            found = {}
            for key, one in value.items():
                child = children.get(key) or schema.get("additionalProperties")
                if self.chance(0.1):
                    continue
                found[key] = self.change(child, one) if isinstance(child, dict) and self.chance(0.5) else one
            return found
        if isinstance(value, list) and isinstance(schema.get("items"), dict):
            found = [self.change(schema["items"], one) if self.chance(0.4) else one for one in value]
            if self.chance(0.3):
                self.random.shuffle(found)
            return found
        return value

    def question(self):
        schema = self.schema(is_root=True)
        around = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}}
        made = self.value(schema)
        fields = {key: value for key, value in made.items() if key != "metadata"} if isinstance(made, dict) else {}
        question = {"schema": schema, "object": {**around, **fields}}
        if self.chance(0.5):
            changed = self.change(schema, fields)
            question["old"] = {**around, **{key: value for key, value in (changed if isinstance(changed, dict) else {}).items() if key != "metadata"}}
        return question
