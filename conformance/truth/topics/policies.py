"""What is compiled of a MutatingAdmissionPolicy before it is stored, and in which order its mistakes are told."""
from made import obj

GROUP = "admissionregistration.k8s.io/v1"
MUTATING = f"/apis/{GROUP}/mutatingadmissionpolicies"
VALIDATING = f"/apis/{GROUP}/validatingadmissionpolicies"
RULES = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}
PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
REMOVE = "[JSONPatch{op: 'remove', path: '/a'}]"

# Objects, and what may be done with them.
OBJECTS = [
    "Object{}", " Object{} ", "Object{spec: Object.spec{replicas: 3}}", "Object{spec: Object.other{}}", "Object{spec: Object{}}", "Object{metadata: Object.metadata{annotations: {'a': 'b'}}}", "Object.spec{}", "Object.spec.template{a: 1}", "Objects{}", "Object.{}", "Object..a{}", "object{}", ".Object{}", ".Object.spec{a: 1}",
    "Object{a: 1, a: 2}", "Object{?a: 1}", "Object{?a: optional.of(1)}", "Object{?a: object.?b}", "Object{'a': 1}", "Object{`a-b`: 1}", "Object{a-b: 1}", "Object{spec: Object.spec{list: [Object.spec.list{a: 1}, Object.spec.list{b: 2}]}}", "Object{a: [1, 'a']}", "Object{a: {'b': 1, 'c': 'd'}}", "Object{a: [Object.a{}, Object.b{}]}", "Object{a: null}", "Object{a: type(1)}", "Object{in: 1}", "Object{__in__: 1}", "Object{namespace: 1}",
    "Object{}.a", "Object{a: 1}.a", "Object{}.a == 1", "has(Object{}.a)", "Object{} == Object{}", "Object{} == Object.spec{}", "Object.a{} == Object.a{}", "Object{a: 1}.?a", "Object{}[?'a']", "Object{}['a']", "Object{}.a.b.c", "type(Object{}) == Object", "type(Object{})", "Object", "Object.spec", "Object.spec.a == Object.spec.a", "Object == Object.spec", "[Object]", "type(Object{}) == type(Object{})", "dyn(Object{})", "dyn(Object)", "size(Object{})", "Object{}.size()", "Object{} + Object{}", "string(Object{})",
    "[Object{}]", "[Object{}][0]", "[Object{}, 1]", "[Object{}, Object.spec{}]", "{'a': Object{}}", "{'a': Object{}}.a", "object.a ? Object{} : Object{a: 1}", "has(object.a) ? Object{} : Object.spec{}", "has(object.a) ? Object{} : object", "has(object.a) ? Object{} : dyn(1)", "optional.of(Object{})", "optional.of(Object{}).value()", "optional.of(Object{}).orValue(Object{a: 1})", "optional.none().orValue(Object{})", "optional.ofNonZeroValue(Object{}).orValue(Object{})", "cel.bind(a, Object{}, a)", "[1].map(a, Object{b: a})[0]", "['a'].map(Object, Object)[0]", "[1].exists(Object, Object.spec == 1)", "cel.bind(Object, 1, Object{})", "cel.bind(Object, {'a': 1}, Object.a)",
    "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers.item{name: c.name})}}", "Object{spec: Object.spec{a: params.data.a}}", "Object{a: variables.x}", "Object{a: nothing}", "Object{a: nothing, b: other}", "Object{a: 1 + 'a'}", "Object{a: Object.a{b: Other{}}}", "Object.spec{a: b}", "Object{a: request.nothing}", "Object{a: namespaceObject.nothing}", "Object{a: authorizer.path('/').check('get').allowed()}", "Object{a: 'a'.matches('(')}", "Object{a: duration('x')}", "Object{a: timestamp('x')}", "Object{a: quantity('x')}",
    "object", "oldObject", "dyn(object)", "object.a", "1", "'a'", "true", "null", "[]", "{}", "request", "request.userInfo", "google.protobuf.Struct{}", "google.protobuf.Any{}", "Other{}", "JSONPatch{}", "[JSONPatch{}]", REMOVE, "params", "variables", "variables.a", "x", "Object{", "Object{a}", "Object{a:}", "Object{a: 1,}", "Object{,}", "Object {}", "Object\n{\n  a: b\n}", "\n\n  Object{a: b}\n", "", " ", "\n", "// nothing", "Object{} // done", "Object{} Object{}", "jsonpatch.escapeKey('a')", "Object{a: jsonpatch.escapeKey('a/b~c')}", "Object{a: jsonpatch.escapeKey(1)}", "Object{a: kubernetes.AdmissionRequest{}}", "kubernetes.AdmissionRequest{}", "kubernetes.AdmissionRequest{name: Object{}}", "kubernetes.AdmissionRequest{options: Object{}}", "Object{a: ['a'].includes('a')}",
]

# Lists of patches.
PATCHES = [
    REMOVE, f" {REMOVE} ", "[]", "[JSONPatch{}]", "JSONPatch{}", "[[JSONPatch{}]]", "[JSONPatch{}, JSONPatch{op: 'add'}]", "[JSONPatch{op: 'add', path: '/a', value: 1}]", "[JSONPatch{op: 'add', path: '/a', value: Object{}}]", "[JSONPatch{op: 'add', path: '/a', value: Object.spec{a: 1}}]", "[JSONPatch{op: 'copy', from: '/a', path: '/b'}]", "[JSONPatch{op: 'test', path: '/a', value: null}]", "[JSONPatch{op: 'anything'}]", "[JSONPatch{op: 1}]", "[JSONPatch{path: 1}]", "[JSONPatch{from: 1}]", "[JSONPatch{op: null}]", "[JSONPatch{op: dyn(1)}]", "[JSONPatch{op: object.a}]", "[JSONPatch{path: ['a']}]", "[JSONPatch{op: 1, path: 2, from: 3}]", "[JSONPatch{value: JSONPatch{}}]", "[JSONPatch{value: [1, 'a']}]", "[JSONPatch{value: {'a': 1}}]", "[JSONPatch{value: nothing}]", "[JSONPatch{op: nothing, path: other}]", "[JSONPatch{op: 'a', op: 'b'}]",
    "[JSONPatch{?op: optional.of('a')}]", "[JSONPatch{?op: 'a'}]", "[JSONPatch{?value: object.?a}]", "[JSONPatch{?value: optional.none()}]", "[?optional.of(JSONPatch{})]", "[?JSONPatch{}]", "[JSONPatch{}, 1]", "[1]", "[1, JSONPatch{}]", "[JSONPatch{}, object]", "[object]", "object.a", "dyn([JSONPatch{}])", "object.a ? [JSONPatch{}] : []", "has(object.a) ? [] : [JSONPatch{}]", "has(object.a) ? [JSONPatch{}] : object.b", "has(object.a) ? [] : []", "[JSONPatch{}] + []", "[] + [JSONPatch{}]", "[JSONPatch{}] + [JSONPatch{}]", "[JSONPatch{}] + [1]", "[JSONPatch{}] + [Object{}]", "[JSONPatch{}] + object.a", "[1, 2].map(i, JSONPatch{op: 'add', path: string(i)})", "[1, 2].map(i, i > 1, JSONPatch{op: 'add', path: string(i)})", "[1, 2].map(i, JSONPatch{op: i})", "object.a.map(k, JSONPatch{op: k})", "object.a.map(k, [JSONPatch{op: k}])", "object.a.map(k, [JSONPatch{op: k}]).flatten()", "[[JSONPatch{}]].flatten()", "object.a.transformList(k, v, JSONPatch{op: 'add', path: k, value: v})", "[JSONPatch{}].filter(p, p.op == 'a')", "[JSONPatch{}].filter(p, p.nothing == 'a')", "cel.bind(p, JSONPatch{}, [p])", "{'a': [JSONPatch{}]}.a", "{'a': [JSONPatch{}]}['a']", "optional.of([JSONPatch{}])", "optional.of([JSONPatch{}]).value()", "optional.of([JSONPatch{}]).orValue([])", "[JSONPatch{}].slice(0, 1)", "[JSONPatch{}].distinct()", "[JSONPatch{}].sort()", "lists.range(3)", "lists.range(3).map(i, JSONPatch{path: '/' + string(i)})", "[JSONPatch]", "JSONPatch", "[type(JSONPatch{})]", "type(JSONPatch{}) == JSONPatch", "JSONPatch.op", "[JSONPatch{}].first()", "[JSONPatch{}][0]", "size([JSONPatch{}])",
    "[JSONPatch{}.op]", "JSONPatch{}.op == 'a' ? [JSONPatch{}] : []", "JSONPatch{}.value == 1 ? [JSONPatch{}] : []", "JSONPatch{}.op == 1 ? [JSONPatch{}] : []", "has(JSONPatch{}.op) ? [JSONPatch{}] : []", "JSONPatch{} == JSONPatch{} ? [JSONPatch{}] : []", "JSONPatch{} == Object{} ? [JSONPatch{}] : []", "JSONPatch{}.?op", "JSONPatch{}['op']", ".JSONPatch{}", "[.JSONPatch{op: 'a'}]", "[JSONPatch.a{}]", "[jsonpatch{}]", "[JSONPatch{'op': 1}]", "[JSONPatch{op}]", "[JSONPatch{op:}]", "[JSONPatch{op: 'a',}]", "[JSONPatch{op: 'a'},]", "[JSONPatch{]",
    "[JSONPatch{path: '/metadata/labels/' + jsonpatch.escapeKey('a/b')}]", "[JSONPatch{path: jsonpatch.escapeKey()}]", "[JSONPatch{path: jsonpatch.escapeKey('a', 'b')}]", "[JSONPatch{path: jsonpatch.escapeKey(object.a)}]", "[JSONPatch{path: jsonpatch.escapeKey(b'a')}]", "[JSONPatch{path: jsonPatch.escapeKey('a')}]", "[JSONPatch{path: jsonpatch.escape('a')}]", "[JSONPatch{path: jsonpatch.escapeKey}]", "[JSONPatch{path: 'a'.escapeKey()}]", "[JSONPatch{path: .jsonpatch.escapeKey('a')}]", "jsonpatch", "jsonpatch.escapeKey('a')", "[jsonpatch.escapeKey('a')]",
    "[JSONPatch{value: params.a}]", "[JSONPatch{value: variables.a}]", "[JSONPatch{value: oldObject.a}]", "[JSONPatch{value: request.name}]", "[JSONPatch{value: request.nothing}]", "[JSONPatch{value: authorizer.requestResource.check('get').allowed()}]", "[JSONPatch{value: 'a'.matches('(')}]", "[JSONPatch{value: duration('x')}]", "Object{}", "[Object{}]", "null", "1", "'a'", "object", "params", "x", "x y", "", "  ", "[google.protobuf.Struct{}]", "[{'op': 'add', 'path': '/a'}]", "[JSONPatch{value: ['a'].includes('a')}]", "[JSONPatch{value: request}]",
]

# What a patch has no field for has no type, and what is found is said in odd words.
UNKNOWN = [
    "[JSONPatch{foo: 1}]", "[JSONPatch{foo: object}]", "[JSONPatch{foo: nothing}]", "[JSONPatch{?foo: optional.of(1)}]", "[JSONPatch{foo: JSONPatch{}.bar}]", "[JSONPatch{foo: []}]", "[JSONPatch{foo: null}]", "[JSONPatch{foo: optional.none().value()}]", "[JSONPatch{foo: JSONPatch{foo: 1}}]", "JSONPatch{}.bar", "[JSONPatch{}.bar]", "has(JSONPatch{}.bar)", "JSONPatch{}.bar.baz", "JSONPatch{}.bar == JSONPatch{}.bar", "JSONPatch{}.bar == object", "JSONPatch{}.bar == 1", "JSONPatch{}.bar + 1", "JSONPatch{}.bar + object", "JSONPatch{}.bar ? 1 : 2", "JSONPatch{}.?bar", "JSONPatch{}.?bar.orValue(1)", "JSONPatch{}.bar.map(x, x)", "!JSONPatch{}.bar", "JSONPatch{}.bar && true", "size(JSONPatch{}.bar)", "dyn(JSONPatch{}.bar)", "type(JSONPatch{}.bar)",
    "[1, JSONPatch{}.bar]", "[JSONPatch{}.bar, 1]", "[JSONPatch{}.bar, JSONPatch{}.bar]", "[[JSONPatch{}.bar]]", "{'a': JSONPatch{}.bar}", "{JSONPatch{}.bar: 1}", "{'a': JSONPatch{}.bar, 'b': 2}", "{'a': 2, 'b': JSONPatch{}.bar}", "{JSONPatch{}.bar: 2, 1: 3}", "{JSONPatch{}.bar: 2, 1: 'a'}", "{JSONPatch{}.bar: JSONPatch{}.bar, 1: 'a'}", "true ? JSONPatch{}.bar : 1", "true ? JSONPatch{}.bar : object", "true ? JSONPatch{}.bar : JSONPatch{}.bar", "JSONPatch{}.bar[0]", "JSONPatch{}.bar in [1]", "1 in JSONPatch{}.bar", "JSONPatch{}.bar in [JSONPatch{}.bar]", "optional.of(JSONPatch{}.bar)", "optional.of(JSONPatch{}.bar).orValue(1)", "optional.none().orValue(JSONPatch{}.bar)", "JSONPatch{}.bar.size()", "'%s'.format([JSONPatch{}.bar])", "[JSONPatch{}].map(p, p.bar)", "{'a': JSONPatch{}.bar} == {'a': 1}", "[JSONPatch{}.bar] == [1]", "[JSONPatch{}.bar] + [1]", "[JSONPatch{}, JSONPatch{}.bar]", "[JSONPatch{}.bar, JSONPatch{}]", "[JSONPatch{}] + [JSONPatch{}.bar]", "optional.of(JSONPatch{}.bar).value()", "[optional.of(JSONPatch{}.bar).value()]", "{1: JSONPatch{}.bar}[1]", "{'a': JSONPatch{}.bar}.a", "{'a': JSONPatch{}.bar}[?'a']", "optional.of(JSONPatch{}.bar).or(optional.none())", "optional.of(JSONPatch{}.bar).optMap(x, x)", "JSONPatch{}.?bar.hasValue()", "cel.bind(x, JSONPatch{}.bar, x)",
    *[f"[JSONPatch{{value: {text}}}]" for text in ("JSONPatch{}.bar", "{'a': JSONPatch{}.bar}", "[JSONPatch{}.bar]", "[JSONPatch{}.bar, 1]", "optional.of(JSONPatch{}.bar)", "JSONPatch{}.?bar", "has(JSONPatch{}.bar)", "type(JSONPatch{}.bar)", "dyn(JSONPatch{}.bar)", "JSONPatch{}.bar == object", "true ? JSONPatch{}.bar : object", "[1].map(i, JSONPatch{}.bar)", "[JSONPatch{}.bar].map(x, JSONPatch{op: x})", "kubernetes.UserInfo{username: JSONPatch{}.bar}", "Object{a: JSONPatch{}.bar}")],
]

# Types as values, which are found and have none; and what null agrees with.
TYPES = [
    "[JSONPatch{value: Object.a}]", "[JSONPatch{value: Object.a == Object.b}]", "[JSONPatch{value: '%s'.format([Object.a])}]", "[JSONPatch{value: '%s'.format([Object.a{}.b])}]", "[JSONPatch{value: '%s'.format([JSONPatch{}])}]", "[JSONPatch{value: '%d'.format([Object{}])}]", "[JSONPatch{value: type(Object{}) == JSONPatch}]", "[JSONPatch{value: type(Object{}) == type(JSONPatch{})}]", "[JSONPatch{value: google.protobuf.NullValue.NULL_VALUE}]", "[JSONPatch{value: int}]", "[JSONPatch{value: google.protobuf.Value}]", "[JSONPatch{value: null == JSONPatch{}}]", "[JSONPatch{value: Object{} == null}]", "[JSONPatch{value: [null, Object{}]}]", "[JSONPatch{value: [Object{}, null]}]", "[JSONPatch{value: true ? null : Object{}}]", "true ? null : [JSONPatch{}]", "[JSONPatch{}, null]", "[JSONPatch{value: sets.contains([JSONPatch{}], [Object{}])}]",
    "Object.__a", "Object.a.b.c.d{}", "Object.`a-b`{}", "Object.`a-b`", "Object.?spec", "Object.spec.?a", "has(Object.spec)", "has(Object.spec.a)", "Object.spec.size()", "Object.spec['a']", "Object.spec.items().a", "Object.jsonpatch.escapeKey('a')", "Object.a == 1", "Object.a == type(1)", "Object.a + Object.b", "[Object.a, Object.b]", "[Object.a, int]", "true ? Object.a : Object.b", "Object.a in [Object.b]", "Object(1)", "Object.spec(1)", "JSONPatch(1)", "object.Object{}", "a.Object{}", "Object.a.b == Object.a.b",
]
MORE_OBJECTS = ["true ? null : Object{}", "true ? Object{} : null", "[Object{}, null][0]", "Object{}.a.orValue(Object{})", "optional.of(Object{}).optMap(o, Object{a: o}).orValue(Object{})", "optional.of(1).optFlatMap(o, optional.of(Object{a: o})).orValue(Object{})", "{'a': Object{}}[?'a'].orValue(Object{})", "[Object{}].first().orValue(Object{})", "[Object{}].last().value()", "[Object{a: 1}].sortBy(o, o.a)[0]", "[Object{a: 1}].max()", "Object{} in [Object{}] ? Object{} : Object{}", "Object{} in {'a': 1} ? Object{} : Object{}", "{Object{}: 1}.size() > 0 ? Object{} : Object{}"]

# What only mutations know, where it is not known; and what conditions and variables may be.
ELSEWHERE = ["Object{} == Object{}", "Object{}", "[JSONPatch{}]", "jsonpatch.escapeKey('a') == 'a'", "jsonpatch.escapeKey('a')", "variables.a", "variables == variables", "params.a == 1", "type(Object)", "Object"]


def policy(spec, name="p"):
    return obj(GROUP, "MutatingAdmissionPolicy", name, spec={"matchConstraints": RULES, "reinvocationPolicy": "Never", **spec})


def configuration(text):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patch(text):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def run(t):
    def dry(spec, raw=False):
        t.post(MUTATING + "?dryRun=All", policy(spec), **({"raw": True} if raw else {"keep": ["kind"]}))

    for how, texts in ((configuration, OBJECTS + MORE_OBJECTS), (patch, PATCHES + UNKNOWN + TYPES)):
        for text in texts:
            dry({"mutations": [how(text)]})
    for how, texts in ((configuration, ["Object{a: params.a}", "Object{a: params.a, b: nothing}", "params", "Object{a: variables.a, b: params.b}"]), (patch, ["[JSONPatch{value: params.a}]", "params.a", "[JSONPatch{op: params.a, path: nothing}]", "params"])):
        for text in texts:
            dry({"mutations": [how(text)], **PARAMS})
    good = {"mutations": [configuration("Object{}")]}
    for text in ELSEWHERE:
        dry({**good, "matchConditions": [{"name": "c", "expression": text}]})
        dry({**good, "variables": [{"name": "v", "expression": text}]})
        dry({**good, "variables": [{"name": "v", "expression": text}], **PARAMS})
        t.post(VALIDATING + "?dryRun=All", obj(GROUP, "ValidatingAdmissionPolicy", "p", spec={"matchConstraints": RULES, "validations": [{"expression": text}]}), keep=["kind"])
    variables(dry)
    several(dry)
    order(t, dry)
    forms(dry)
    changes(t)


def variables(dry):
    """Variables have the types of their expressions in mutations too."""
    for text in ("1", "'a'", "[1]", "{'a': 1}", "object.x", "[]", "{}", "null", "request", "x", "optional.of(1)"):
        for use in ("Object{a: variables.v}", "Object{a: variables.v + 1}", "Object{a: variables.w}", "variables.v"):
            dry({"variables": [{"name": "v", "expression": text}], "mutations": [configuration(use)]})
        for use in ("[JSONPatch{op: variables.v}]", "[JSONPatch{value: variables.v}]", "variables.v", "variables.v.map(i, JSONPatch{path: string(i)})"):
            dry({"variables": [{"name": "v", "expression": text}], "mutations": [patch(use)]})
    chain = [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}, {"name": "c", "expression": "variables.d"}, {"name": "d", "expression": "variables.b"}, {"name": "a", "expression": "'text'"}]
    for use in ("Object{a: variables.a + 1}", "Object{a: variables.a + 'a'}", "Object{a: variables.d + 1}", "Object{a: variables.c + 1}"):
        dry({"variables": chain, "mutations": [configuration(use)]})
    for name in ("", "a b", "in", "a-b", "1a", "a.b", "__a__", "é"):
        dry({"variables": [{"name": name, "expression": "1"}], "mutations": [configuration("Object{a: variables.a}")]})


def several(dry):
    """Of several mutations each is told."""
    dry({"mutations": [configuration("Object{a: x}"), patch("[JSONPatch{op: 1}]"), configuration("1"), patch("1"), configuration("Object{}"), patch(""), configuration(" ")]}, raw=True)
    dry({"mutations": [configuration("x"), configuration("x"), patch("x"), patch("x")]})
    dry({"mutations": [configuration("Object{a: x}\n\n  + y"), patch("\n[JSONPatch{op: x,\n path: y}]")]})
    dry({"mutations": [{**configuration("x"), "jsonPatch": {"expression": "y"}}, {**patch("x"), "applyConfiguration": {"expression": "y"}}]})
    dry({"mutations": [{**configuration(""), "jsonPatch": {"expression": ""}}, {**patch(""), "applyConfiguration": {"expression": ""}}]})
    dry({"mutations": [{"patchType": "Other", "jsonPatch": {"expression": "x"}}, {"patchType": "", "jsonPatch": {"expression": "x"}}, {"jsonPatch": {"expression": "x"}}, {"patchType": "JSONPatch"}, {"patchType": "ApplyConfiguration"}]})
    dry({"mutations": [configuration("Object{" + ", ".join(f"a{i}: b{i}" for i in range(40)) + "}")]})
    dry({"mutations": [configuration("Object{a: " * 30 + "x" + "}" * 30), configuration("Object{a: '" + "é" * 20 + "', b: x}"), configuration("Object{a: [" + "1, " * 200 + "x]}")]})
    dry({"mutations": [configuration("Object{a: " * 300 + "1" + "}" * 300)]})
    dry({"mutations": [patch("[" + "JSONPatch{}, " * 300 + "JSONPatch{op: 1}]")]})


def order(t, dry):
    """Mistakes are told from the top of the policy to its end, whatever is wrong."""
    wrong = {
        "failurePolicy": "Never", "paramKind": {"apiVersion": "", "kind": ""}, "matchConstraints": {"matchPolicy": "x", "resourceRules": [{"apiGroups": [], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}]},
        "matchConditions": [{"name": "", "expression": "x"}, {"name": "a b", "expression": "1"}, {"name": "a", "expression": ""}, {"name": "a", "expression": "y"}],
        "variables": [{"name": "", "expression": "x"}, {"name": "a b", "expression": "1 +"}, {"name": "a", "expression": ""}, {"name": "a", "expression": "variables.b"}],
    }
    mutations = {"mutations": [configuration("x"), {"patchType": ""}, patch("1")], "reinvocationPolicy": ""}
    validations = {"validations": [{"expression": "x", "messageExpression": "1", "message": "a\nb", "reason": "Other"}, {"expression": "", "messageExpression": " ", "message": " "}, {"expression": "1", "messageExpression": "y"}], "auditAnnotations": [{"key": "a b", "valueExpression": "1"}, {"key": "a", "valueExpression": ""}, {"key": "a", "valueExpression": "x"}, {"key": "b", "valueExpression": "'" + "a" * 6000 + "'"}]}
    for keys in (wrong, ["matchConditions"], ["variables"], ["matchConditions", "variables"], ["failurePolicy", "variables"], ["paramKind", "matchConditions"], []):
        spec = {key: wrong[key] for key in keys}
        dry({**spec, **mutations}, raw=True)
        for part in (validations, {"validations": validations["validations"]}, {"auditAnnotations": validations["auditAnnotations"]}, {}):
            rules = {"matchConstraints": {**RULES, **spec.get("matchConstraints", {})}}
            t.post(VALIDATING + "?dryRun=All", obj(GROUP, "ValidatingAdmissionPolicy", "p", spec={**spec, **rules, **part}), raw=True)
    conditions = [{"name": f"c{i}", "expression": "true"} for i in range(64)]
    dry({"matchConditions": [*conditions, {"name": "x", "expression": "x"}], **mutations}, raw=True)
    t.post(VALIDATING + "?dryRun=All", obj(GROUP, "ValidatingAdmissionPolicy", "p", spec={"matchConstraints": RULES, "matchConditions": [*conditions, {"name": "x", "expression": "x"}], **validations}), raw=True)


def forms(dry):
    """Shapes of the spec that have no expression, or an odd one."""
    for mutations in (None, [], [{}], [None], [configuration(None)], [{"patchType": "JSONPatch", "jsonPatch": {}}], [{"patchType": "JSONPatch", "jsonPatch": None}], [{"patchType": "ApplyConfiguration", "applyConfiguration": {}}], [configuration(1)], [configuration("Object{}"), "x"]):
        dry({"mutations": mutations})
    for policy_ in ("Always", "IfNeeded", "Never", "", None):
        dry({"mutations": [configuration("Object{}")], "reinvocationPolicy": policy_})
    for operations in (["CREATE", "UPDATE", "DELETE"], ["*"], ["CONNECT"], []):
        dry({"mutations": [configuration("x")], "matchConstraints": {"resourceRules": [{**RULES["resourceRules"][0], "operations": operations}]}})
    for constraints in (None, {}, {"resourceRules": []}):
        dry({"mutations": [configuration("x")], "matchConstraints": constraints})


def changes(t):
    """What an update may keep: expressions that are stored already may use what new ones may not."""
    t.post(MUTATING, policy({"variables": [{"name": "v", "expression": "1"}], "matchConditions": [{"name": "c", "expression": "true"}], "mutations": [configuration("Object{a: variables.v}"), patch(REMOVE)]}), keep=["kind", "spec"])
    specs = [{"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}, {"matchConditions": [{"name": "c", "expression": "x"}]}, {"matchConditions": [{"name": "d", "expression": "true"}, {"name": "d", "expression": "1"}]}, {"variables": None}, {"variables": [{"name": "v", "expression": "x"}]}, {"mutations": [configuration("x")]}, {"mutations": [patch("x")]}, {"mutations": [patch("[JSONPatch{value: params.a}]")]}, {**PARAMS, "mutations": [patch("[JSONPatch{value: params.a}]")]}, {"failurePolicy": "Ignore"}, {"failurePolicy": "Never"}, {"mutations": []}]
    for spec in specs:
        t.merge(MUTATING + "/p?dryRun=All", {"spec": spec}, keep=["kind"])
    t.json_patch(MUTATING + "/p?dryRun=All", [{"op": "replace", "path": "/spec/mutations/0/applyConfiguration/expression", "value": "Object{a: x}"}], keep=["kind"])
    t.apply(MUTATING + "/a?dryRun=All", policy({"mutations": [configuration("x")]}, "a"), keep=["kind"])
    t.apply(MUTATING + "/a", policy({"mutations": [configuration("Object{}")]}, "a"), keep=["kind", "spec"])
    t.apply(MUTATING + "/a", policy({"mutations": [configuration("Object{x}")]}, "a"), keep=["kind", "spec"])
    t.get(MUTATING + "/a", keep=["kind", "spec"])
    t.delete(MUTATING + "/a", keep=["kind"])
    t.delete(MUTATING + "/p", keep=["kind"])
