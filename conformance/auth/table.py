"""Makes the table of bootstrap roles that the API server starts with from the recorded policy."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "crates", "apiserver", "src", "authorization", "bootstrap_rbac", "policy.txt")
PART = "rbac.authorization.k8s.io/aggregate-to-"
HEAD = """# The roles and bindings of a new cluster, as kube-apiserver 1.37.2 makes them. Made by conformance/auth/record.py.
# role and clusterrole: [NAMESPACE/]NAME, +X part of the aggregated role X, * aggregated itself. A rule: verbs, then groups:
# resources (with =names), or paths.
"""


def rule(of):
    verbs = ",".join(of["verbs"])
    if "nonResourceURLs" in of:
        return f"  {verbs} {' '.join(of['nonResourceURLs'])}"
    groups = ",".join(group or "core" for group in of["apiGroups"])
    names = "".join(f" ={name}" for name in of.get("resourceNames", []))
    return f"  {verbs} {groups}: {' '.join(of['resources'])}{names}"


def role(kind, of):
    meta = of["metadata"]
    name = "/".join(filter(None, [meta.get("namespace"), meta["name"]]))
    parts = [f" +{key.removeprefix(PART)}" for key in meta["labels"] if key.startswith(PART)]
    yield f"{kind} {name}{''.join(parts)}{' *' if 'aggregationRule' in of else ''}"
    for one in of["rules"] or []:
        yield rule(one)


def subject(of):
    if of["kind"] == "ServiceAccount":
        return f"ServiceAccount:{of['namespace']}/{of['name']}"
    return f"{of['kind']}:{of['name']}"


def binding(kind, of):
    meta = of["metadata"]
    name = "/".join(filter(None, [meta.get("namespace"), meta["name"]]))
    subjects = "".join(f" {subject(one)}" for one in of.get("subjects") or [])
    yield f"{kind} {name} {of['roleRef']['kind']}:{of['roleRef']['name']}{subjects}"


def write(steps):
    lines = []
    for step in steps:
        plural = step["path"].rsplit("/", 1)[1]
        for item in step["answer"]["items"]:
            if plural.endswith("roles"):
                lines.extend(role(plural.removesuffix("s"), item))
            else:
                lines.extend(binding(plural.removesuffix("s"), item))
    os.makedirs(os.path.dirname(TABLE), exist_ok=True)
    with open(TABLE, "w") as out:
        out.write(HEAD + "\n".join(lines) + "\n")
