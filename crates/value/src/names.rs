//! What names, labels and the like may look like: apimachinery's `util/validation`. Each function returns the
//! complaints, none for a good one.

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_LABEL_MAX: usize = 63;
const DNS1123_SUBDOMAIN_MAX: usize = 253;

/// Names of objects count characters, keys and values of labels count bytes: upstream has two texts.
fn max_len(length: usize) -> String {
    format!("must be no more than {length} characters")
}

fn max_bytes(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

fn regex_error(message: &str, pattern: &str, examples: &[&str]) -> String {
    let mut text = message.to_owned();
    if examples.is_empty() {
        return format!("{text} (regex used for validation is '{pattern}')");
    }
    text.push_str(" (e.g. ");
    for (at, example) in examples.iter().enumerate() {
        if at > 0 {
            text.push_str(" or ");
        }
        text.push_str(&format!("'{example}', "));
    }
    format!("{text}regex used for validation is '{pattern}')")
}

fn is_lower_alnum(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// `first` and `last` must satisfy `edge`, everything between `edge` or `inner`.
fn shaped(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [one] => edge(*one),
        [first, middle @ .., last] => {
            edge(*first) && edge(*last) && middle.iter().all(|b| edge(*b) || inner(*b))
        }
    }
}

fn is_dns1123_label(text: &str) -> bool {
    shaped(text, is_lower_alnum, |b| b == b'-')
}

/// A DNS label: names of namespaces, of containers.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DNS1123_LABEL_MAX {
        errors.push(max_len(DNS1123_LABEL_MAX));
    }
    if !is_dns1123_label(text) {
        errors.push(if shaped(text, is_lower_alnum, |b| b == b'-' || b == b'.') {
            "must not contain dots".to_owned()
        } else {
            regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    errors
}

/// A DNS subdomain: names of most objects.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DNS1123_SUBDOMAIN_MAX {
        errors.push(max_len(DNS1123_SUBDOMAIN_MAX));
    }
    if !text.split('.').all(is_dns1123_label) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errors
}

/// A DNS subdomain in which labels may have underscores: the paths in which a resolver searches.
pub fn dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DNS1123_SUBDOMAIN_MAX {
        errors.push(max_len(DNS1123_SUBDOMAIN_MAX));
    }
    let is_label = |label: &str| {
        shaped(label.strip_prefix('_').unwrap_or(label), is_lower_alnum, |b| matches!(b, b'-' | b'_'))
    };
    if !text.split('.').all(is_label) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must \
             start and end with an alphanumeric character",
            "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errors
}

/// A DNS label as RFC 1035 has it (it starts with a letter): names of Services before 1.37, of CRD plurals.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DNS1123_LABEL_MAX {
        errors.push(max_len(DNS1123_LABEL_MAX));
    }
    if !is_dns1123_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        errors.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// A path segment: names of RBAC objects and some others.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|bad| text.contains(**bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// A key of labels, annotations, taints and the like: an optional DNS subdomain and `/`, then a name.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let message = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                   alphanumeric character";
    let pattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
    let examples = ["MyName", "my.name", "123-abc"];
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                let complaints = dns1123_subdomain(prefix).into_iter();
                let characters = max_len(DNS1123_SUBDOMAIN_MAX);
                errors.extend(complaints.map(|complaint| {
                    let same = complaint != characters;
                    format!("prefix part {}", if same { complaint } else { max_bytes(DNS1123_SUBDOMAIN_MAX) })
                }));
            }
            name
        }
        _ => {
            let full = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                        end with an alphanumeric character";
            return vec![format!(
                "{} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                regex_error(full, pattern, &examples)
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > DNS1123_LABEL_MAX {
        errors.push(format!("name part {}", max_bytes(DNS1123_LABEL_MAX)));
    }
    if !shaped(name, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.')) {
        errors.push(regex_error(message, pattern, &examples));
    }
    errors
}

/// The value of a label; empty is good.
pub fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DNS1123_LABEL_MAX {
        errors.push(max_bytes(DNS1123_LABEL_MAX));
    }
    if !text.is_empty() && !shaped(text, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.')) {
        errors.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// A key of a ConfigMap or Secret.
pub fn config_map_key(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DNS1123_SUBDOMAIN_MAX {
        errors.push(max_len(DNS1123_SUBDOMAIN_MAX));
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    {
        errors.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    } else if text == "." {
        errors.push("must not be '.'".to_owned());
    } else if text == ".." {
        errors.push("must not be '..'".to_owned());
    } else if text.starts_with("..") {
        errors.push("must not start with '..'".to_owned());
    }
    errors
}

/// The name of an environment variable.
pub fn env_var_name(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}
