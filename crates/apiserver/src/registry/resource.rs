//! A resource as it is served: its names, its verbs, its subresources, and the rules of its kind.

use std::sync::{Arc, OnceLock};

use pilothouse_schema::table::Printer;
use pilothouse_schema::{Schema, builtin};
use pilothouse_store::ResourceKey;
use pilothouse_value::{GroupVersion, Gvk, Gvr};

use crate::answer::document;
use crate::crd::Custom;
use crate::objects::metadata::NameRule;

/// One resource in one version of one group.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name, as in paths.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// The kind of an object.
    pub kind: String,
    /// The kind of a list.
    pub list_kind: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Short names that kubectl understands.
    pub short_names: Vec<String>,
    /// Groups of resources that it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// The verbs that it is served with.
    pub verbs: Vec<String>,
    /// What can be asked of one object beyond the object.
    pub subresources: Vec<Subresource>,
    pub(crate) key: ResourceKey,
    pub(crate) rules: Rules,
    pub(crate) custom: Option<Arc<Custom>>,
    prefix: String,
    printer: OnceLock<Printer>,
}

/// A part or an action of an object with a path of its own.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Its name, as in paths: `status`.
    pub name: String,
    /// The group of its kind.
    pub group: String,
    /// The version of its kind.
    pub version: String,
    /// The kind that is read and written there.
    pub kind: String,
    /// The verbs that it is served with.
    pub verbs: Vec<String>,
}

/// What a definition says of a custom resource; the fields are those of [`Resource`].
pub(crate) struct Names {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<Subresource>,
}

/// The strategy of a kind, where kinds differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Which names are allowed.
    pub(crate) names: NameRule,
    /// Whether status is written through its own subresource only.
    pub(crate) status: bool,
    /// Whether an update may leave out the version that it is based on.
    pub(crate) unconditional_update: bool,
    /// Whether a PUT on an object that is not there makes it.
    pub(crate) create_on_update: bool,
    /// Whether a successful delete answers with the object.
    pub(crate) returns_deleted: bool,
}

impl Resource {
    /// The resource that a table of built-in kinds describes.
    pub(crate) fn built_in(table: &'static builtin::Resource) -> Resource {
        let owned =
            |list: &[&'static str]| -> Vec<String> { list.iter().map(|text| (*text).to_owned()).collect() };
        let subresources = table
            .subresources
            .iter()
            .map(|sub| Subresource {
                name: sub.name.into(),
                group: sub.group.into(),
                version: sub.version.into(),
                kind: sub.kind.into(),
                verbs: owned(&sub.verbs),
            })
            .collect();
        Resource {
            group: table.group.into(),
            version: table.version.into(),
            plural: table.plural.into(),
            singular: table.singular.into(),
            kind: table.kind.into(),
            list_kind: table.list_kind.clone(),
            namespaced: table.namespaced,
            short_names: owned(&table.short_names),
            categories: owned(&table.categories),
            verbs: owned(&table.verbs),
            subresources,
            // Events are one set of objects with two faces.
            key: if table.plural == "events" { key("", "events") } else { key(table.group, table.plural) },
            rules: Rules::of(table.group, table.plural, table.has_status()),
            custom: None,
            printer: OnceLock::new(),
            prefix: document::prefix(&api_version(table.group, table.version), table.kind),
        }
    }

    /// A version of a custom resource.
    pub(crate) fn custom(custom: Arc<Custom>, names: Names, rules: Rules) -> Resource {
        Resource {
            key: key(&names.group, &names.plural),
            printer: OnceLock::new(),
            prefix: document::prefix(&api_version(&names.group, &names.version), &names.kind),
            rules,
            custom: Some(custom),
            group: names.group,
            version: names.version,
            plural: names.plural,
            singular: names.singular,
            kind: names.kind,
            list_kind: names.list_kind,
            namespaced: names.namespaced,
            short_names: names.short_names,
            categories: names.categories,
            verbs: names.verbs,
            subresources: names.subresources,
        }
    }

    /// Group, version and resource.
    pub fn gvr(&self) -> Gvr {
        Gvr::new(&*self.group, &*self.version, &*self.plural)
    }

    /// Group, version and kind.
    pub fn gvk(&self) -> Gvk {
        Gvk::new(&*self.group, &*self.version, &*self.kind)
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The kind that is read at a subresource; the resource's own without one.
    pub(crate) fn gvk_at(&self, subresource: Option<&str>) -> Gvk {
        match subresource.and_then(|name| self.subresource(name)) {
            Some(sub) if sub.version.is_empty() => Gvk::new(&*self.group, &*self.version, &*sub.kind),
            Some(sub) => Gvk::new(&*sub.group, &*sub.version, &*sub.kind),
            None => self.gvk(),
        }
    }

    /// A subresource by name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Whether it is served with this verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|own| own == verb)
    }

    /// Whether it is built in, and not defined by a CustomResourceDefinition.
    pub fn is_built_in(&self) -> bool {
        self.custom.is_none()
    }

    /// How the stored bytes of an object of this version begin.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// How its objects are shown as rows.
    pub(crate) fn printer(&self) -> &Printer {
        self.printer.get_or_init(|| match &self.custom {
            Some(custom) => Printer::custom(&custom.version()),
            None => Printer::builtin(&self.gvk()),
        })
    }

    /// The schema of its objects.
    pub(crate) fn schema(&self) -> &Schema {
        match &self.custom {
            Some(custom) => custom.schema(),
            None => builtin::schema(&self.gvk()).unwrap_or(Schema::any()),
        }
    }

    /// Where upstream keeps the objects in its storage, which messages tell: below `/registry`.
    pub(crate) fn stored_under(&self) -> String {
        match (self.group.as_str(), self.plural.as_str()) {
            _ if self.custom.is_some() => format!("{}/{}", self.group, self.plural),
            (group @ ("apiextensions.k8s.io" | "apiregistration.k8s.io"), plural) => {
                format!("{group}/{plural}")
            }
            ("", "services") => "services/specs".into(),
            ("", "endpoints") => "services/endpoints".into(),
            ("", "nodes") => "minions".into(),
            ("", "replicationcontrollers") => "controllers".into(),
            ("networking.k8s.io", "ingresses") => "ingress".into(),
            (_, plural) => plural.into(),
        }
    }

    /// Whether upstream keeps what it reads of it in a cache, which it does not of events.
    pub(crate) fn has_cache(&self) -> bool {
        !(self.is("", "events") || self.is("events.k8s.io", "events"))
    }

    /// Whether this is the built-in resource of this group and name.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.custom.is_none() && self.group == group && self.plural == plural
    }
}

/// The key of a resource in the store.
pub(crate) fn key(group: &str, plural: &str) -> ResourceKey {
    ResourceKey::new(group, plural)
}

/// `v1`, or `group/version`.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    GroupVersion::new(group, version).to_string()
}

impl Rules {
    /// The rules of a built-in resource.
    fn of(group: &str, plural: &str, status: bool) -> Rules {
        let names = match (group, plural) {
            ("", "namespaces") | ("apps", "statefulsets") => NameRule::Label,
            // The rules of the kinds say what they may be called.
            ("networking.k8s.io", "ipaddresses") => NameRule::Own,
            ("", "events")
            | ("policy", "poddisruptionbudgets")
            | ("apiregistration.k8s.io", "apiservices") => NameRule::PathSegment,
            ("", "services") => NameRule::Label,
            // Trust bundles have the name of their signer in theirs.
            ("rbac.authorization.k8s.io", _)
            | ("certificates.k8s.io", "clustertrustbundles" | "certificatesigningrequests") => {
                NameRule::PathSegment
            }
            _ => NameRule::Subdomain,
        };
        Rules {
            names,
            status,
            unconditional_update: !matches!(
                (group, plural),
                ("apiextensions.k8s.io" | "apiregistration.k8s.io" | "coordination.k8s.io" | "policy", _)
                    | ("admissionregistration.k8s.io" | "node.k8s.io" | "storagemigration.k8s.io", _)
                    | ("certificates.k8s.io", "clustertrustbundles" | "podcertificaterequests")
                    | (
                        "storage.k8s.io",
                        "csidrivers" | "csinodes" | "csistoragecapacities" | "volumeattachments"
                    )
                    | ("internal.apiserver.k8s.io", "storageversions")
            ),
            create_on_update: matches!(
                (group, plural),
                ("", "endpoints" | "events" | "limitranges" | "services")
                    | ("coordination.k8s.io" | "events.k8s.io" | "rbac.authorization.k8s.io", _)
                    | ("node.k8s.io", "runtimeclasses")
            ),
            returns_deleted: matches!(
                (group, plural),
                (
                    "",
                    "pods"
                        | "services"
                        | "serviceaccounts"
                        | "persistentvolumes"
                        | "persistentvolumeclaims"
                        | "podtemplates"
                        | "resourcequotas"
                ) | ("resource.k8s.io", _)
                    | (
                        "storage.k8s.io",
                        "csidrivers"
                            | "csinodes"
                            | "storageclasses"
                            | "volumeattachments"
                            | "volumeattributesclasses"
                    )
            ),
        }
    }

    /// The rules of a custom resource.
    pub(crate) fn custom(status: bool) -> Rules {
        Rules {
            names: NameRule::Subdomain,
            status,
            unconditional_update: false,
            create_on_update: false,
            returns_deleted: false,
        }
    }
}
