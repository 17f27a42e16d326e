//! Group, version, kind and resource.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The text is no group/version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected GroupVersion string: {0}")]
pub struct ParseGroupVersionError(pub String);

/// An API group and a version, written `apps/v1`; the core group is empty and written `v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// The group; empty for core.
    pub group: String,
    /// The version.
    pub version: String,
}

impl GroupVersion {
    /// A group and a version.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// The kind of this group and version.
    pub fn kind(&self, kind: impl Into<String>) -> Gvk {
        Gvk { group: self.group.clone(), version: self.version.clone(), kind: kind.into() }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

impl FromStr for GroupVersion {
    type Err = ParseGroupVersionError;

    /// Reads an `apiVersion` field.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(version), None, _) => Ok(Self::new("", version)),
            (Some(group), Some(version), None) => Ok(Self::new(group, version)),
            _ => Err(ParseGroupVersionError(text.to_owned())),
        }
    }
}

/// A kind in a version of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// The group; empty for core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
}

impl Gvk {
    /// A kind in a version of a group.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// What a document says it is; `None` if it has no kind or its apiVersion cannot be read.
    pub fn of(object: &crate::Value) -> Option<Self> {
        let kind = object.get("kind")?.as_str()?;
        let version: GroupVersion = object.get("apiVersion")?.as_str()?.parse().ok()?;
        Some(version.kind(kind))
    }

    /// The `apiVersion` field.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    /// The group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.group_version(), self.kind)
    }
}

/// A resource in a version of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvr {
    /// The group; empty for core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name in lower case, such as `pods`.
    pub resource: String,
}

impl Gvr {
    /// A resource in a version of a group.
    pub fn new(group: impl Into<String>, version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    /// The group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Resource={}", self.group_version(), self.resource)
    }
}

/// Orders versions as Kubernetes does: `v1` before `v1beta1` before `v1alpha1` before anything else.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Stability (3 is stable, 2 beta, 1 alpha), major, minor.
fn parse_version(text: &str) -> Option<(u8, u64, u64)> {
    let rest = text.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = major.parse().ok()?;
    let (stability, minor) = match rest {
        "" => return Some((3, major, 0)),
        _ => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return None,
        },
    };
    Some((stability, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions = vec!["v1alpha1", "v2", "v1beta2", "v1", "v10", "foo", "v1beta1"];
        versions.sort_by(|a, b| compare_versions(b, a));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }
}
