"""YAML: what is read of odd documents, and what is said of broken ones."""
import base64

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "anys.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "anys", "kind": "Any"}, "versions": [{
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]},
}
ANYS = "/apis/example.com/v1/namespaces/default/anys"
CM = "/api/v1/namespaces/default/configmaps"
HEAD = "apiVersion: example.com/v1\nkind: Any\nmetadata: {name: x}\nspec:\n"

# Scalars, each the value of a key: what it is read as.
SCALARS = [
    "y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "NO", "on", "On", "ON", "off", "Off", "true", "True", "TRUE", "tRue", "false", "FALSE", "~", "null", "Null", "NULL", "nULL", "", "''", '""', "'yes'", '"1"',
    "0", "1", "-1", "+1", "05", "010", "08", "-010", "+010", "0o7", "0O17", "0x1F", "0X1f", "-0x1f", "0xg", "0b101", "-0b101", "+0b1", "0B11", "0b2", "1_000", "1__0", "_1", "1_", "0x_1", "0_7", "190:20:30", "1:30", "1:30.5",
    "1.0", "1.5", "-1.5", "+1.5", "1.", ".5", "-.5", "+.5", "1e3", "1E3", "1e+3", "1e-3", "1.5e300", "1e400", "1e", ".", "..", "1.2.3", "1_0.5", "0x1p-2", "0x1.8p1", "1e3_0", "685.230_15e+03", "Infinity", "NaN", "nan", "inf",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "0xffffffffffffffff", "1e20", "1e21", "1e22", "0.1e-6",
    "100000000000000000000.5", "-0", "-0.0", "0.0", "00", "0.00001", "0.000001", "0.0000001", "12345678.9", "1.7976931348623157e308", "5e-324", "1e-400",
    "2001-01-01", "2001-1-1", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10", "2001-12-14T21:59:43Z", "2001-13-01", "2001-01-01x", "12:34:56", "<<", "=", "!", "!!str", "!!str 1", "!!str", "!!int 1", "!!int '1'", "!!float 1", "!!float 1.5",
    "!!bool yes", "!!bool 'true'", "!!null ''", "!!null x", "!!null null", "!!binary aGVsbG8=", "!!binary /w==", "!!binary '!'", "!!timestamp 2001-01-01", "!!timestamp '2001-01-01'", "!!timestamp x", "!!int x", "!!bool 1", "!!float x", "!!int 1.5",
    "!foo bar", "!foo 1", "!<tag:yaml.org,2002:str> 1", "!<tag:yaml.org,2002:int> x", "!!foo x", "!e!x 1", "! 1", "!!map {}", "!!seq []", "!!set {a}", "!!omap [a: 1]", "!%21 x", "!a%zz x", "!a%c3%28 x", "!<x 1", "!a{ x", "!!python/object:x {}",
    "a b", "a  b # c", "a#b", "a: b", "a:b", "a:", ":a", ":", "-a", "- a", "?a", "? a", "@a", "`a", "%a", "&a b", "*a", "&a", "& b", "* b", "&a! b", "|", ">", "|+", "|-2", "|2-", "|0", "|x", "a\\b", "'a''b'", "'a", '"a', '"a\\q"', '"\\x41\\u00e9\\U0001F600"', '"\\ud800"', '"\\ud83d\\ude00"',
    '"\\x4"', '"\\xg0"', '"\\/"', '"\\\'"', '"\\e\\0\\a\\b\\v\\f\\N\\_\\L\\P"', '"\\ "', "'a' b", '"a" b', '"a": b', "'a'b", "[a, b", "[a b, c]", "[a,, b]", "[,a]", "[a,]", "[]", "[", "]", "{", "}", "{a}", "{a, b}", "{a: 1, }", "{,}", "{a: 1 b: 2}", "{a: 1", "{a:1}", '{"a":1}', "{a: [}",
    "{a: ]}", "[a: 1, b: 2]", "[? a : b]", "{? a : b}", "{: b}", "{a: }", "{[a]: b}", "{{a: 1}: b}", "{{ x }}", "{{ .Values.x }}", "[a, - b]", "{- a}", "[|]", "[a]b", "{a: b}c", "[a] b", "[http://x:80/y]", "{a: http://x}", "{a?: 1}", "[a?b]", "{1: a, 1.5: b, true: c, yes: d, 0x10: e}",
    "{1: a, '1': b}", "{null: a}", "{~: a}", "{1e10: a, .inf: b, 1.1: c, 123456789.5: d, 1e300: e, 1e-7: f}", "{18446744073709551615: a}", "{.nan: a}", "{? : a}", "{2001-01-01: a}", "{!!binary aGk=: a}", ".inf", "-.inf", "+.Inf", ".NaN", "[.inf]", "a\tb", "\ta", "a\t", "'a\tb'", "a\t# b", "a \t#b",
    "#", "# a", "'#'", "--- a", "... a", "---", "a --- b", ",a", "a,b", "a]b", "a}b", "é", "\u00a0", "\u2028a", "a\u2028b", "a\u0085b", "\ufeffa", "\U0001F600", "a\u200bb", "\ufffe", "\u007f", "\u0001", "\u009f",
]

# Whole values of `spec`, indented by two.
BLOCKS = [
    "  a: 1\n  a: 2\n", "  a: 1\n  b: {c: 1, c: 2, d: 3, d: 4}\n  a: 3\n", "  l:\n  - a: 1\n    a: 2\n  - b: 1\n    b: 1\n", "  1: a\n  1: b\n  '1': c\n  true: d\n  yes: e\n", "  a:\n    b: 1\n    c:\n    - d: 1\n      d: 2\n      d: 3\n",
    "  a: &x {b: 1}\n  c: *x\n", "  a: &x {b: 1}\n  c: {<<: *x, d: 2}\n", "  a: &x {b: 1}\n  c: {<<: *x, b: 2}\n", "  a: &x {b: 1}\n  c: {b: 2, <<: *x}\n", "  a: &x {b: 1}\n  y: &y {b: 2, c: 3}\n  z: {<<: [*x, *y]}\n", "  a: &x [1]\n  c: {<<: *x}\n", "  a: {<<: 1}\n", "  a: {<<: {b: 1}}\n", "  a: {'<<': {b: 1}}\n",
    "  a: {<<: [{b: 1}, 2]}\n", "  a: {!!merge <<: {b: 1}}\n", "  a: &x {b: *x}\n", "  a: &x\n    b: *x\n", "  a: *y\n  b: &y 1\n", "  a: &x 1\n  b: &x 2\n  c: *x\n", "  &k a: 1\n  b: *k\n", "  &k a: 1\n  *k : 2\n", "  *k: 2\n", "  a: &x\n  b: *x\n", "  a: &x !!str\n  b: *x\n", "  a: !!str &x 1\n  b: *x\n", "  a: &x &y 1\n",
    "  a: *x-y\n  b: &x-y 1\n", "  a: &x {c: 1, c: 2}\n  b: *x\n",
    "  a: b\n c: d\n", "  a: b\n   c: d\n", "  a: b\n    c\n", "  a:\n  b: 1\n", "  a: \n      b: 1\n    c: 1\n", "  a:\n  - 1\n  - 2\n", "  a:\n    - 1\n  - 2\n", "  a:\n   - 1\n    - 2\n", "  - a\n  b: 1\n", "  a: 1\n  - b\n", "  a\n  b: 1\n", "  a: 1\n  b\n", "  a: 1\n  b\n  c: 1\n", "  a b c\n", "  ? a\n  : b\n", "  ? [a]\n  : b\n", "  ? {a: 1}\n  : b\n", "  ? |\n    x\n  : b\n",
    "  ? a\n  b: 1\n", "  a: - b\n", "  a: b: c\n", "  a: 'b': c\n", "  -\n", "  - - a\n    - b\n", "  a:\n\tb: 1\n", "\ta: 1\n", "  a: 1\n\tb: 2\n", "  a:\t1\n", "  a: 1\t\n", "  -\ta\n", "  a: |\n    x\n\ty\n", "  a: |\n    x\n   y\n", "  a: |\n    x\n\n    y\n\n", "  a: |+\n    x\n\n", "  a: |-\n    x\n\n", "  a: >\n    x\n    y\n\n    z\n      w\n    v\n", "  a: |2\n     x\n", "  a: |1\n   x\n",
    "  a: |\n  b: 1\n", "  a: |\n\tx\n", "  a: | # c\n    x\n", "  a: |c\n    x\n", "  a: >-\n    x\n\n\n    y\n", "  a: |\n    x\r\n    y\r\n", "  a: x\r\n  b: y\r\n", "  a: x\r  b: y\r", "  a: 'x\n    y'\n", "  a: 'x\n\n    y'\n", "  a: \"x\n    y \\\n    z\"\n", "  a: \"x\n---\n    y\"\n", "  a: 'x\n  b: y\n", "  a: \"x\n  b: y\n", "  a: x\n    y\n    z\n", "  a: x\n    y: z\n", "  a: x\n\n    y\n", "  a: x # c\n    y\n",
    "  a: [1,\n  2]\n", "  a: [1,\n2]\n", "  a: {b: 1,\n  c: 2}\n", "  a: {b\n  : 1}\n", "  a: [b\n  : 1]\n", "  a: [\n  b: 1\n", "  a: [1, 2\n  b: 1\n", "  a: {b: 1\n  c: 2\n", "  a: {\n  b: 1}}\n", "  a: [1]]\n", "  \"a\n  b\": 1\n", "  ? a\n  ? b\n", "  a: 1\n---\n  b: 2\n", "  a: 1\n...\n", "  a: 1\n...\nb: 1\n", "  a: 1\n--- x\n", "  a: 1\n---\n{", "  a: 1\n...\n{", "  a: 1\n%YAML 1.1\n", "  a: 1\n# end", "  # only\n  a: 1\n", "  a: #x\n    b\n", "  a: !e!x 1\n", "  !!str a: 1\n", "  !foo a: 1\n", "  !!int a: 1\n",
    "  ${k*1000}: 1\n", "  ${k*1025}: 1\n", "  ? ${k*1025}\n  : 1\n", "  {${k*1025}: 1}\n", "  a: {${k*1025}: 1}\n", "  a: ${v*70000}\n", "  a: \"${v*70000}\"\n", "  a: 1", "  a: 'x'",
    "  a: &a [x,x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
    "  a: &a [x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n",
]

# Whole bodies.
BODIES = [
    "", "\n", "# only a comment\n", "---\n", "---\n---\n", "...\n", "null\n", "~", "1", "text", "[]", "[1]", "{}", "- a\n", "a", "'a'", "%YAML 1.1\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n", "%YAML 1.1\n%YAML 1.1\n---\na: 1\n", "%YAML\n---\n", "%YAML 1\n---\n", "%YAML x\n", "%YAML 111.1\n---\n", "%YAML 1.1 x\n---\n", "%FOO\n---\na: 1\n",
    "%TAG ! tag:x:\n---\n!a b\n", "%TAG !e! tag:yaml.org,2002:\n---\n!e!int 1\n", "%TAG !e tag:x\n---\n", "%TAG !e!\n---\n", "%TAG !e! x\n%TAG !e! y\n---\na\n", "%\n", "% a\n", "%YAML 1.1\na: 1\n", "--- a\n", "---\ta: 1\n", "--- a: 1\n", "--- {a: 1}\n--- {b: 2}\n", "a: 1\n--- {\n", "--- |\n a\n", "--- >\n a\n b\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\n", "---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n", "# c\n---\n# d\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"j\"}}", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"j\"}} x",
    "{\"apiVersion\":\"v1\",\n\t\"kind\":\"ConfigMap\",\n\t\"metadata\":{\"name\":\"j\"}}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: {{ .Values.a }}-b\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: {{- if .x }}\n  b: c\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 1}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 2001-01-01, b: ~}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {1: a, true: b}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {<<: {a: b}}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, name: y}\nkind: ConfigMap\nfoo: 1\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n labels: {}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n", "apiVersion: v1\nkind: 1\n", "apiVersion: 1\nkind: ConfigMap\nmetadata: {name: x}\n", "apiVersion: v1\nKind: ConfigMap\nmetadata: {name: x}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: yes\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nbinaryData: {a: !!binary aGk=}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: !!map {a: b}\n", "${[*200}", "${[*9999}", "${[*10001}", "a: ${[*10001}", "${{*10001}", "a: ${[*9000}${]*9000}",
    "\ufeffapiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "apiVersion: v1\n\ufeffkind: ConfigMap\nmetadata: {name: x}\n", "a: 1\n\u0000b: 2\n", "a: \u0007\n",
    "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: x}\r\ndata:\r\n  a: |\r\n    x\r\n    y\r\n",
]
BYTES = [
    b"\xff", b"a: \xff\n", b"a: \xc3\n", b"a: \xc3(\n", b"a: \xed\xa0\x80\n", b"a: \xc0\x80\n", b"a: \xf4\x90\x80\x80\n", b"a: \xe2\x82", b"a: \xf8\x88\x80\x80\x80\n", b"a: {\n" + b"x" * 600 + b"\xff\n", b"a: {]\n" + b"x" * 600 + b"\xff\n", b"a: b: c\n" + b"#" * 1200 + b"\xff\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n".encode("utf-16"), b"\xfe\xff" + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: \"\U0001F600\"}\n".encode("utf-16-be"), "apiVersion: v1\nkind: ConfigMap\n".encode("utf-16-be"), b"\xff\xfea", b"\xff\xfe\x00\xdc", b"\xff\xfe\x00\xd8", b"\xff\xfe\x00\xd8a\x00",
]


def run(t):
    t.crd(CRD)
    for scalar in SCALARS:
        t.post(ANYS + "?dryRun=All", HEAD + f"  a: {scalar}\n", type="application/yaml", keep=["spec"])
    for block in BLOCKS:
        t.post(ANYS + "?dryRun=All", HEAD + block, type="application/yaml", keep=["spec"])
    for block in BLOCKS[:10]:
        t.post(ANYS + "?dryRun=All&fieldValidation=Strict", HEAD + block, type="application/yaml", keep=["spec"])
    for body in BODIES:
        t.post(CM + "?dryRun=All", body, type="application/yaml", keep=["data", "binaryData"])
    for body in BYTES:
        t.post(CM + "?dryRun=All", {"base64": base64.b64encode(body).decode()}, type="application/yaml", keep=["data"])
    for body in BODIES[:12] + BODIES[40:56]:
        t.post(CM + "?dryRun=All&fieldValidation=Strict", body, type="application/yaml", keep=["data"])
    for block in BLOCKS:
        t.apply(ANYS + "/x?dryRun=All", HEAD + block, keep=["spec"])
    for block in BLOCKS[:10]:
        t.apply(ANYS + "/x?dryRun=All&fieldValidation=Strict", HEAD + block, keep=["spec"])
    for body in BODIES:
        t.apply(CM + "/x?dryRun=All", body, keep=["data", "binaryData"])
    for body in BYTES:
        t.apply(CM + "/x?dryRun=All", {"base64": base64.b64encode(body).decode()}, keep=["data"])
    for body in ("{", "a: [", "dryRun: [All]", "kind: DeleteOptions\napiVersion: v1\npropagationPolicy: x\n", "propagationPolicy: 1", "a: 1\na: 2\n"):
        t.delete(CM + "/none", body, type="application/yaml")
