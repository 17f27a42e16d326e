//! Reads the descriptions of types and fields, which only `kubectl explain` and OpenAPI documents need.
//!
//! One type a line, sorted by name, parts separated by tabs: the name, the description of the type, then those of
//! its fields in the order of the Go struct. `\n`, `\t` and `\\` stand for themselves.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::types;

const CORE: &str = include_str!("../tables/descriptions_core.txt");
const OTHER: &str = include_str!("../tables/descriptions.txt");

/// The description of a type of the tables, or of one of its fields; `None` when there is none. The types with a JSON
/// form of their own are named by their form behind an `@`, such as `@quantity`.
pub fn describe(type_name: &str, field: Option<&str>) -> Option<Cow<'static, str>> {
    static CORE_LINES: LazyLock<Vec<&str>> = LazyLock::new(|| CORE.lines().collect());
    static OTHER_LINES: LazyLock<Vec<&str>> = LazyLock::new(|| OTHER.lines().collect());
    let is_core = ["core.", "meta.", "@"].iter().any(|prefix| type_name.starts_with(prefix));
    let lines = if is_core { &CORE_LINES } else { &OTHER_LINES };
    let key = |line: &&'static str| line.split('\t').next().unwrap_or_default();
    let at = lines.binary_search_by(|line| key(line).cmp(type_name)).ok()?;
    let mut parts = lines.get(at)?.split('\t').skip(1);
    let text = match field {
        None => parts.next()?,
        Some(field) => parts.nth(1 + types::find(type_name)?.def().field(field)?.position)?,
    };
    (!text.is_empty()).then(|| unescape(text))
}

/// A text of the tables with its lines and tabs.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(other)) => out.push(other),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_fields_are_described() {
        assert_eq!(describe("core.v1.PodSpec", None).as_deref(), Some("PodSpec is a description of a pod."));
        let replicas = describe("apps.v1.DeploymentSpec", Some("replicas")).unwrap();
        assert!(replicas.starts_with("Number of desired pods."), "{replicas}");
        let profile = describe("core.v1.AppArmorProfile", Some("type")).unwrap();
        assert!(profile.contains("Valid options are:\n  Localhost"), "{profile}");
        assert_eq!(describe("core.v1.Nothing", None), None);
    }
}
