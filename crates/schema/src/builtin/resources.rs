//! Reads `tables/resources.txt`, the resources of a server that was started without flags, in the order in which it
//! lists them.
//!
//! `= GROUP/VERSION` opens a group version; a resource is `PLURAL SINGULAR KIND SCOPE SHORTNAMES CATEGORIES VERBS
//! STORAGE-VERSION-HASH`; `/ NAME GROUP VERSION KIND VERBS` is a subresource of the resource above it. `-` is empty.

use std::sync::LazyLock;

use pilothouse_value::{GroupVersion, Gvk, Gvr};

static RESOURCES: &str = include_str!("../tables/resources.txt");

/// What may be done with a resource, in the words of discovery (`create`, `deletecollection`, …), sorted.
pub type Verbs = Box<[&'static str]>;

/// A built-in resource.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for core.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The plural name, as in paths: `pods`.
    pub plural: &'static str,
    /// The singular name: `pod`.
    pub singular: &'static str,
    /// The kind of its objects: `Pod`.
    pub kind: &'static str,
    /// The kind of its lists: `PodList`.
    pub list_kind: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What kubectl accepts instead of the plural: `po`.
    pub short_names: Box<[&'static str]>,
    /// The groups of resources it belongs to: `all`, `api-extensions`.
    pub categories: Box<[&'static str]>,
    /// What may be done with it. A resource without `list` is not stored (reviews).
    pub verbs: Verbs,
    /// The hash that discovery documents carry, if the resource is stored.
    pub storage_version_hash: Option<&'static str>,
    /// Its subresources, in the order of their names.
    pub subresources: Box<[Subresource]>,
}

/// A subresource of a built-in resource.
#[derive(Debug)]
pub struct Subresource {
    /// The name without the resource: `scale`.
    pub name: &'static str,
    /// The group of its kind.
    pub group: &'static str,
    /// The version of its kind.
    pub version: &'static str,
    /// The kind of its bodies: `Scale`.
    pub kind: &'static str,
    /// Whether its kind stands in another group version than the resource (discovery says so then).
    pub foreign: bool,
    /// What may be done with it.
    pub verbs: Verbs,
}

impl Resource {
    /// Group, version and kind of its objects.
    pub fn gvk(&self) -> Gvk {
        Gvk::new(self.group, self.version, self.kind)
    }

    /// Group, version and plural name.
    pub fn gvr(&self) -> Gvr {
        Gvr::new(self.group, self.version, self.plural)
    }

    /// Group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.group, self.version)
    }

    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Whether there is a status that is written apart from the rest.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether a verb is served.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Whether objects are kept. Reviews and bindings are answered and forgotten.
    pub fn is_stored(&self) -> bool {
        self.allows("get")
    }
}

/// All built-in resources, by group version in the order in which discovery lists them.
pub fn resources() -> &'static [Resource] {
    static ALL: LazyLock<Vec<Resource>> = LazyLock::new(parse);
    &ALL
}

/// One built-in resource.
pub fn resource(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    resources().iter().find(|r| r.plural == plural && r.group == group && r.version == version)
}

fn parse() -> Vec<Resource> {
    let list = |text: &'static str| text.split(',').filter(|word| *word != "-").collect::<Box<[_]>>();
    let (mut group, mut version) = ("", "");
    let mut rows: Vec<(Resource, Vec<Subresource>)> = Vec::new();
    for line in RESOURCES.lines() {
        let words: Vec<&'static str> = line.split(' ').collect();
        match words[..] {
            ["=", gv] => (group, version) = gv.split_once('/').unwrap_or(("", gv)),
            ["/", name, of_group, of_version, kind, verbs] => {
                // The group of a foreign kind may itself be the core group, which is written as `-`.
                let foreign = of_version != "-";
                let (of_group, of_version) = match (foreign, of_group) {
                    (false, _) => (group, version),
                    (true, "-") => ("", of_version),
                    (true, _) => (of_group, of_version),
                };
                let verbs = list(verbs);
                if let Some((_, subresources)) = rows.last_mut() {
                    subresources.push(Subresource {
                        name,
                        group: of_group,
                        version: of_version,
                        kind,
                        foreign,
                        verbs,
                    });
                }
            }
            [plural, singular, kind, scope, short_names, categories, verbs, hash] => rows.push((
                Resource {
                    group,
                    version,
                    plural,
                    singular,
                    kind,
                    list_kind: format!("{kind}List"),
                    namespaced: scope == "Namespaced",
                    short_names: list(short_names),
                    categories: list(categories),
                    verbs: list(verbs),
                    storage_version_hash: (hash != "-").then_some(hash),
                    subresources: Box::default(),
                },
                Vec::new(),
            )),
            _ => {}
        }
    }
    rows.into_iter()
        .map(|(resource, subresources)| Resource {
            subresources: subresources.into_boxed_slice(),
            ..resource
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_names_kinds_and_subresources() {
        let pods = resource("", "v1", "pods").unwrap();
        assert_eq!((pods.singular, pods.kind, pods.list_kind.as_str()), ("pod", "Pod", "PodList"));
        assert!(pods.namespaced && pods.has_status() && pods.is_stored());
        assert_eq!((&*pods.short_names, &*pods.categories), (&["po"][..], &["all"][..]));
        let eviction = pods.subresource("eviction").unwrap();
        assert_eq!((eviction.group, eviction.version, eviction.foreign), ("policy", "v1", true));
        assert!(!resource("authorization.k8s.io", "v1", "subjectaccessreviews").unwrap().is_stored());
        assert_eq!(resources().iter().filter(|r| r.group.is_empty()).count(), 17);
    }

    #[test]
    fn every_resource_and_subresource_has_a_schema() {
        for resource in resources() {
            assert!(crate::builtin::schema(&resource.gvk()).is_some(), "{}", resource.gvk());
            for sub in &resource.subresources {
                let gvk = Gvk::new(sub.group, sub.version, sub.kind);
                assert!(crate::builtin::schema(&gvk).is_some(), "{gvk} of {}/{}", resource.plural, sub.name);
            }
        }
    }
}
