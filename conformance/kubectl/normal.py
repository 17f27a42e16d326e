"""What differs between any two runs of kubectl, made equal."""
import re

RULES = [
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b", "TIME"),
    (r"resourceVersion: \"\d+\"", 'resourceVersion: "N"'),
    (r"\"resourceVersion\": \"\d+\"", '"resourceVersion": "N"'),
    (r"\bweb-[0-9a-z]{8,10}-[0-9a-z]{5}\b", "web-HASH-RANDOM"),
    (r"\bweb-[0-9a-z]{8,10}\b", "web-HASH"),
    (r"pod-template-hash=[0-9a-z]+", "pod-template-hash=HASH"),
    (r"\bcount-[0-9a-z]{5}\b", "count-RANDOM"),
    (r"\bkube-api-access-[0-9a-z]{5}\b", "kube-api-access-RANDOM"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [-+]\d{4}", "TIME"),
    (r"\b(10|127|172|192)\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"(?m)\b\d+(s|ms|m\d+s|m)$", "AGE"),
    (r"\b\d+(s|m\d+s|m)\b(?=\s|$)", "AGE"),
    (r"generation: \d+|observedGeneration: \d+|\"generation\": \d+|\"observedGeneration\": \d+", "GENERATION"),
    (r" +", " "),
    (r"(?m)[ \t]+$", ""),
    # The node: in the column NODE, where a pod is described, in the scheduler's event, in a pod's document.
    (r"\b(localhost|pilothouse)(?= <none> <none>|/ADDRESS)", "NODE"),
    (r"(?m)( to |nodeName: )(localhost|pilothouse)$", r"\1NODE"),
    # `logs -f` says this when it comes before the container; whether it does is a matter of milliseconds.
    (r'container "main" in pod "count-RANDOM" is waiting to start: ContainerCreating\n', ""),
]


def normalise(text, *more):
    for pattern, replacement in [*more, *RULES]:
        text = re.sub(pattern, replacement, text)
    return text
