"""JSON: what is read of odd documents, and what is said of broken ones."""
import base64

from topics.yaml import ANYS, CM, CRD

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
HEAD = '{"apiVersion":"example.com/v1","kind":"Any","metadata":{"name":"x"},"spec":{"a":'

# Values of a member of an untyped object.
VALUES = [
    "1", "-1", "-0", "0.0", "-0.0", "1.0", "1.5", "1e3", "1E3", "1e+3", "1e-3", "1.5e300", "1e400", "-1e400", "1e-400", "1e20", "1e21", "123456789012345678901234567890", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "0.1", "0.30000000000000004", "5e-324", "1.7976931348623157e308", "1.8e308", "100000000000000000000.5", "01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "0x1", "1_000", "NaN", "Infinity", "-Infinity", "true", "false", "null", "True", "tru", "nul", "nulll", "truefalse",
    '""', '"a"', "'a'", '"\\n\\t\\r\\b\\f\\/\\\\\\""', '"\\u0041"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00"', '"\\ud800x"', '"\\ud800\\u0041"', '"\\udc00\\ud800"', '"\\u12"', '"\\u12g4"', '"\\x41"', '"\\a"', '"a', '"a\\', '"\t"', '"\n"', '"\u0000"', '"\u007f"', '"\u2028"', '"\ufeff"', '"\\u0000"', '"<>&"',
    "[]", "[1,2]", "[1,]", "[,1]", "[1 2]", "[", "]", "[1", "[1}", "{}", '{"a":1}', '{"a":1,}', '{"a" 1}', '{"a"}', '{"a":}', "{a:1}", "{1:1}", "{,}", '{"a":1 "b":2}', '{"a":1', '{"":1}', '{"a":1,"a":2}', '{"a":{"b":1},"a":{"c":2}}', '{"a":[{"b":1,"b":2}]}', '{"A":1,"a":2}', "/* c */ 1", "1 // c", "1 # c", "", " ",
]
BODIES = [
    "", " ", "\n", "null", "true", "1", "1.5", '"a"', "[]", "[1]", "{}", "{", "}", "{}{}", "{} {}", "{}x", "{},", "nul", "\ufeff{}", "{}\u0000", "\u0000", "a", "-", '{"a"', '{"a":', '{"a":1', '{"kind":1}', '{"kind":null}', '{"kind":[]}', '{"apiVersion":1}', '{"apiVersion":{}}', '{"kind":"ConfigMap"', '{"KIND":"ConfigMap"}', '{"kind":"ConfigMap","kind":"Secret"}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}} ', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}} x', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}{', '{"apiVersion":"v1","kind":"ConfigMap","metadata":null}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":1}}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":null}}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":[]}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","finalizers":[null,1]}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","finalizers":"a"}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generation":1.5}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generation":1.0}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generation":1e2}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generation":"1"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generation":9223372036854775808}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generation":true}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":"x"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":1}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":null}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":""}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":{}}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\\ud800","b":"\\u0000"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":null}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":null}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[]}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":true}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":["b"]}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"aGk="}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"aGk"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"a\\nGk="}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"aGk=="}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"aGl="}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"a-_="}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"=aGk"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":" aGk="}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"aGk=x"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":1}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":[1]}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":""}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":null}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"immutable":"true"}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"immutable":0}', '{"apiVersion":"v1","kind":"ConfigMap","Metadata":{"name":"x"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"a":1,"a":2,"b":1}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","name":"y"},"data":{"a":"1"},"data":{"b":"2"}}',
]
BYTES = [
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\xff"}}', b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\xc3("}}', b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\xed\xa0\x80"}}', b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"\xff":"a"}}', b'\xff', b'{\xff}', b'{"a":\xff}', b'\xef\xbb\xbf{}', '{}'.encode("utf-16"),
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\xe2\x82"}}', b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\xf0\x9f\x98"}}', b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"\xc0\x80"}}',
]
TIMES = [
    "2021-11-30T08:00:00Z", "2021-11-30T08:00:00+01:00", "2021-11-30T08:00:00.123Z", "2021-11-30T08:00:00.123456789Z", "2021-11-30T08:00:00,5Z", "2021-11-30t08:00:00z", "2021-11-30 08:00:00Z", "2021-11-30T08:00:00", "2021-11-30", "2021-11-30T8:00:00Z", "2021-1-30T08:00:00Z", "2021-13-01T00:00:00Z", "2021-02-29T00:00:00Z", "2020-02-29T00:00:00Z",
    "2021-11-31T00:00:00Z", "2021-11-30T24:00:00Z", "2021-11-30T23:60:00Z", "2021-11-30T23:59:60Z", "2021-11-30T08:00:00+24:00", "2021-11-30T08:00:00+25:00", "2021-11-30T08:00:00+01:60", "2021-11-30T08:00:00+0100", "2021-11-30T08:00:00-00:00", "2021-11-30T08:00:00+1:00", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "-002003-01-01T00-012021.22020",
    "+002021-11-30T08:00:00Z", "-0001-01-01T00:00:00Z", "20211130T080000Z", "2021-W48-1T08:00:00Z", "2021-11-30T08:00Z", "2021-11-30T08:00:00.Z", "2021-11-30T08:00:00Z[UTC]", "2021-11-30T08:00:00[UTC]", " 2021-11-30T08:00:00Z", "2021-11-30T08:00:00Z ", "", "now", "0", "2021-11-30T08:00:00.1234567890123Z", "2021-11-30T08:00:00\u2212" + "01:00",
    "0000-00-00T00:00:00Z", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "2021-11-30T08:00:00Zx", "2021/11/30T08:00:00Z",
]
QUANTITIES = [
    "1", "+1", "-1", "0", "-0", "00", "007", "1.", ".5", "1.5", "1.50", "0.5", "1e3", "1E3", "1e+3", "1e-3", "1e", "1E", "1Ei", "1e3k", "1k", "1K", "1Ki", "1ki", "1m", "1u", "1n", "1M", "1Mi", "1G", "1T", "1P", "1Pi", "1E6", "1i", "1 ", " 1", "1 Ki", "", ".", "-", "+", "e3", "1.2.3", "--1", "1__0", "0x1", "1e10", "1e-9", "1e-10", "1e100", "1e-100", "1e999",
    "0.1m", "0.0000000001", "1.0000000001", "123456789012345678", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "12345678901234567890", "123456789012345678901234567890", "1234567890123456789012345678901234567890", "9223372036854775807E", "9223372036854775807Ki", "8Ei", "7Ei", "16Ei", "1024", "1024Ki", "1000Ki", "1.5Ki", "0.5Ki", "0.001Ki", "1.1Mi", "1000m", "1500m", "100m", "1000k", "1e6", "1.5e3", "12e2", "100e1", "0.1e1", "1\u0661", "\u0661", "1\u00b5", "0Ki", "0m", "0e5",
    "1.23456789012345678901234567890", "0.999999999999999999999", "1.5n", "0.5n", "-0.5n", "-1.5n", "000000000000000000000000000000000001", "1.000000000000000000000000000000000000000000000000000000000000001",
]
PORTS = ["80", '"80"', '"http"', '""', "80.5", "80.0", "1e2", "-1", "0", "65536", "2147483647", "2147483648", "true", "null", "[]", "{}", '"a b"', '"0x50"', '"1.5"', '"80%"', "9223372036854775808"]


def pod(more, name="p"):
    return '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"i"%s}]}}' % (name, more)


def run(t):
    t.crd(CRD)
    t.post("/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, keep=["kind"])
    for value in VALUES:
        t.post(ANYS + "?dryRun=All", HEAD + value + "}}", keep=["spec"])
    for value in VALUES[-22:]:
        t.post(ANYS + "?dryRun=All&fieldValidation=Strict", HEAD + value + "}}", keep=["spec"])
    for value in VALUES:
        t.apply(ANYS + "/x?dryRun=All", HEAD + value + "}}", keep=["spec"])
    for body in BODIES:
        t.post(CM + "?dryRun=All", body, keep=["data", "binaryData"])
    for body in BODIES[-5:]:
        t.post(CM + "?dryRun=All&fieldValidation=Strict", body, keep=["data", "binaryData"])
    for body in BYTES:
        t.post(CM + "?dryRun=All", {"base64": base64.b64encode(body).decode()}, keep=["data"])
    for body in ("", " ", "null", "1", "{}", "{} {}", "{", "{}x", '{"a":1e400}', '{"metadata":{"labels":{"a":1}}}', '{"metadata":{"generation":1.5}}', '{"data":{"a":1}}', '{"data":[]}', '{"data":{"a":"\\ud800"}}', '[]', '[{"op":"add","path":"/data/a","value":"\\ud83d\\ude00"}]', '[{"op":"add","path":"/data/a","value":1}]'):
        for kind in ("merge-patch", "json-patch", "strategic-merge-patch"):
            t.call("PATCH", CM + "/kube-root-ca.crt?dryRun=All", body, type=f"application/{kind}+json", keep=["code"])
    for time in TIMES:
        t.post("/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}, "spec": {"renewTime": time}}, keep=["spec"])
    for time in TIMES:
        t.post(CM + "?dryRun=All", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]}}, keep=["kind"])
    for time in TIMES:
        t.post("/api/v1/namespaces/default/pods?dryRun=All", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "deletionTimestamp": time}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, keep=["kind"])
    for quantity in QUANTITIES:
        t.post("/api/v1/namespaces/default/resourcequotas?dryRun=All", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "x"}, "spec": {"hard": {"pods": quantity, "limits.memory": quantity}}}, keep=["spec"])
    for quantity in ("1", "1.5", "1e3", "-1", "1e400", "0.1", "100000000000000000000", "true", "null", "[]", "{}", '"1"'):
        t.post(PODS + "?dryRun=All", pod(',"resources":{"limits":{"memory":%s,"cpu":%s}}' % (quantity, quantity)), keep=["kind"])
    for port in PORTS:
        t.post(SERVICES + "?dryRun=All", '{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80,"targetPort":%s}]}}' % port, keep=["kind"])
    for port in PORTS:
        t.post(SERVICES + "?dryRun=All", '{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":%s}]}}' % port, keep=["kind"])
    for value in VALUES[:50]:
        t.post(DEPLOYMENTS + "?dryRun=All", '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":%s,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}' % value, keep=["kind"])
    for addresses in (["10.0.0.1"], ["010.0.0.1"], ["10.0.0"], ["10.0.0.1.1"], ["10.0.0.256"], ["10.0.0.0/8"], ["::1"], ["::ffff:10.0.0.1"], ["1::2::3"], ["fe80::1%eth0"], [""], [" 10.0.0.1"], ["0x0a.0.0.1"], ["1"], ["2001:db8::"], ["2001:DB8::1"], ["2001:0db8::0001"], ["::1.2.3.4"], ["[::1]"]):
        t.post(SERVICES + "?dryRun=All", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}], "externalIPs": addresses}}, keep=["kind"])
    for cidr in ("10.0.0.0/8", "10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/+8", "010.0.0.0/8", "::/0", "::/129", "::ffff:10.0.0.0/104", "2001:db8::/32", "2001:db8::1/32", "", "/8", "10.0.0.0/", "10.0.0.0/8/8", " 10.0.0.0/8", "fe80::%eth0/10", "10.0.0.0/ 8"):
        t.post("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies?dryRun=All", {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "x"}, "spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": cidr}}]}]}}, keep=["kind"])
    for query in ("a=b", "a==b", "a!=b", "a", "!a", "a in (b,c)", "a in (b", "a in b", "a notin (b)", "a in ()", "a in (,)", "a in (b,)", "a in(b)", "a  in  ( b , c )", "a,b", "a,,b", ",a", "a,", "=b", "a=", "a=b=c", "a>1", "a<1", "a>x", "a>-1", "a>", "a>=1", "a = b", "a=b c", "a b", "-a=b", "a=-b", "A_.-9=B", "a/b=c", "a/b/c=d", "x/=c", "/a=c", "in in (in)", "notin", "in", "in=a", "a in (in)", "!a=b", "!", "!!a", "a!b", "a=!b", "(a)", "a=(b)", "a in ((b))", "é=b", "a=é", "a" * 64, "a=" + "b" * 64,
                  "a\tin\n(b)", "a='b'", 'a="b"', "a=b;c=d", "a in (b) , c", "a gt 1", "a exists", "a>1,a<5", "a>9223372036854775808", "a>01", "a>+1", "a>1.5", "a>1e3", "a in (b,b)", "a=b,a=c", "a===b", "a=<b", "a!==b"):
        t.get(CM + "?labelSelector=" + quote(query), keep=["kind"])
    for query in ("metadata.name=a", "metadata.name==a", "metadata.name!=a", "metadata.name", "=a", "metadata.name=", "metadata.name=a,metadata.namespace=b", "metadata.name=a,", ",metadata.name=a", "metadata.name=a\\,b", "metadata.name=a\\=b", "metadata.name=a\\b", "metadata.name=a\\", "metadata.name=a=b", "metadata.name=a==b", "metadata.name!=a!=b", "a=b", "metadata.name = a", " metadata.name=a", "metadata.name=a b", "metadata.name>a", "!metadata.name", "metadata.name in (a)", "metadata.name=\\\\", "metadata.name=é",
                  "metadata.name=a,metadata.name=b", "status.phase=Running", "spec.nodeName=", "=", ",", "!=", "=="):
        t.get(CM + "?fieldSelector=" + quote(query), keep=["kind"])
    for query in ("limit=1", "limit=-1", "limit=x", "limit=1.5", "limit=", "limit=9223372036854775808", "limit=+1", "limit=0x1", "limit=1&limit=2", "continue=x", "continue=e30", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "continue=%25", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9", "continue=bnVsbA",
                  "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTUsInN0YXJ0IjoiYVx1MDAwMCJ9", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6InkiLCJzdGFydCI6ImEifQ", "continue=eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hXHUwMDAwIn0", "resourceVersion=x", "resourceVersion=-1", "resourceVersion=1.5", "resourceVersion=01", "resourceVersion=18446744073709551616", "resourceVersion=+0",
                  "timeoutSeconds=x", "timeoutSeconds=-1", "timeoutSeconds=1s", "watch=false", "watch=0", "allowWatchBookmarks=x", "pretty=x", "pretty", "limit", "a=%", "a=%zz", "a=%4", "limit=%31", "limit=1;a=b", "limit=1&;", "&&limit=1", "=x", "limit=%2B1", "labelSelector=a%3Db%2Cc", "labelSelector=a+in+(b)", "labelSelector=%ff", "labelSelector=a%00b", "fieldSelector=metadata.name%3D%ff", "resourceVersionMatch=x", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan&resourceVersion=0", "sendInitialEvents=x", "sendInitialEvents=true", "shardSelector=x"):
        t.get(CM + "?" + query, keep=["kind"])
    for query in ("dryRun=All", "dryRun=all", "dryRun=", "dryRun", "dryRun=All&dryRun=All", "dryRun=All,All", "fieldManager=a", "dryRun=All&fieldManager=" + "a" * 129, "dryRun=All&fieldManager=a%00b", "dryRun=All&fieldManager=%ff", "dryRun=All&fieldManager=a%0Ab", "dryRun=All&fieldValidation=x", "dryRun=All&fieldValidation=strict", "dryRun=All&pretty=true", "dryRun=All&a=b", "dryRun=All&force=true", "dryRun=All&force=x", "dryRun=%41ll", "dryRun=All%20"):
        t.post(CM + "?" + query, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "q-"}}, keep=["kind"])
    for query in ("gracePeriodSeconds=x", "gracePeriodSeconds=-1", "gracePeriodSeconds=1.5", "gracePeriodSeconds=", "gracePeriodSeconds=9223372036854775808", "orphanDependents=x", "orphanDependents=", "propagationPolicy=x", "propagationPolicy=", "propagationPolicy=Background&orphanDependents=true", "preconditions.uid=x"):
        t.delete(CM + "/none?" + query)
    for path in ("/api/v1/namespaces/default/configmaps/a%2Fb", "/api/v1/namespaces/default/configmaps/%61", "/api/v1/namespaces/default/configmaps/a%00", "/api/v1/namespaces/default/configmaps/%ff", "/api/v1/namespaces/default/configmaps/a%20b", "/api/v1/namespaces/default/configmaps/..%2Fa", "/api/v1/namespaces/default/configmaps/A", "/api/v1/namespaces/default/configmaps/" + "a" * 300, "/api/v1/namespaces/A_b/configmaps", "/api/v1/namespaces/%2e%2e/configmaps", "/api/v1/namespaces/default%2Fconfigmaps/x", "/api/v1/namespaces/default/configmaps/a+b", "/api/v1/namespaces/default/configmaps/a;b",
                 "/api/v1/namespaces/default/configmaps/a%3Fb", "/api/v1/namespaces/default/configmaps/a%23b", "/api/v1/namespaces/default/configmaps/a%25b", "/api/v1/namespaces/default/configmaps/%C3%A9", "/api/v1/namespaces//configmaps", "/api/v1//namespaces", "//api/v1", "/api//v1", "/api/v1/", "/api/v1/namespaces/", "/api/v1/namespaces/default/", "/api/v1/namespaces/default/configmaps/", "/api/v1/namespaces/default/configmaps//", "/api/v1/namespaces/default/configmaps/x/", "/apis//v1", "/apis/apps//deployments", "/apis/apps/v1/namespaces/default/deployments/x/scale/y", "/API/v1", "/api/V1/pods", "/api/v1/Pods", "/api/v1/pods%20", "/%61pi/v1", "/api/v1%2Fpods"):
        t.get(path)


def quote(text):
    from urllib.parse import quote as escaped
    return escaped(text)
