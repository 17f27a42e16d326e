//! The configuration of PodSecurity: what holds for namespaces whose labels say nothing, and for whom nothing holds.

use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::policy::{self, OPEN, Policy, Standard};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Standards {
    pub(super) defaults: Policy,
    pub(super) users: BTreeSet<String>,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) runtime_classes: BTreeSet<String>,
}

impl Standards {
    /// Reads a `PodSecurityConfiguration`; without one everything is allowed, and nobody exempt.
    ///
    /// # Errors
    /// With every field that makes no sense.
    pub(crate) fn read(told: Option<&Value>) -> Result<Standards, String> {
        let mut standards = Standards {
            defaults: OPEN,
            users: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            runtime_classes: BTreeSet::new(),
        };
        let Some(told) = told else { return Ok(standards) };
        let mut errors = Vec::new();
        for (name, standard) in [
            ("enforce", &mut standards.defaults.enforce),
            ("warn", &mut standards.defaults.warn),
            ("audit", &mut standards.defaults.audit),
        ] {
            read(told, name, standard, &mut errors);
        }
        let subdomain = |text: &str| names::dns1123_subdomain(text);
        let label = |text: &str| names::dns1123_label(text);
        let filled = |text: &str| match text {
            "" => vec!["username must not be empty".to_owned()],
            _ => Vec::new(),
        };
        exempt(told, "namespaces", &mut standards.namespaces, &label, &mut errors);
        exempt(told, "runtimeClasses", &mut standards.runtime_classes, &subdomain, &mut errors);
        exempt(told, "usernames", &mut standards.users, &filled, &mut errors);
        match errors.as_slice() {
            [] => Ok(standards),
            [one] => Err(one.to_string()),
            many => Err(format!("[{}]", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
        }
    }
}

fn read(told: &Value, name: &str, standard: &mut Standard, errors: &mut Vec<Error>) {
    let path = Path::new("defaults");
    let filled = |name: &str| told.str_at(&["defaults", name]).filter(|text| !text.is_empty());
    if let Some(text) = filled(name) {
        match policy::read_level(text) {
            Some(level) => standard.level = level,
            None => errors.push(Error::invalid(&path.child(name), text, policy::LEVELS)),
        }
    }
    let name = format!("{name}-version");
    if let Some(text) = filled(&name) {
        match policy::read_version(text) {
            Some(version) => standard.version = version,
            None => errors.push(Error::invalid(&path.child(&name), text, policy::VERSIONS)),
        }
    }
}

fn exempt(
    told: &Value,
    field: &str,
    to: &mut BTreeSet<String>,
    check: &dyn Fn(&str) -> Vec<String>,
    errors: &mut Vec<Error>,
) {
    let path = Path::new("exemptions").child(field);
    for (index, name) in told.items_at(&["exemptions", field]).iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let wrong = check(name);
        if !wrong.is_empty() {
            errors.push(Error::invalid(&path.index(index), name, wrong.join(", ")));
        } else if !to.insert(name.to_owned()) {
            errors.push(Error::duplicate(&path.index(index), name));
        }
    }
}
