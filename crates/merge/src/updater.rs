//! Who owns which field after an update or an apply, and what an apply makes of a document. Behaviour is that of
//! structured-merge-diff's `merge.Updater`.

mod prune;

use crate::fieldset::{FieldSet, Filter};
use crate::typed::{self, Comparison, Type};
use pilothouse_value::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A document with its type.
#[derive(Clone)]
pub struct Typed<'v, T> {
    /// The document; null where there is none.
    pub value: Cow<'v, Value>,
    /// Its type.
    pub ty: T,
}

impl<T: Copy> Typed<'_, T> {
    /// The same document without taking it.
    pub fn borrowed(&self) -> Typed<'_, T> {
        Typed { value: Cow::Borrowed(&self.value), ty: self.ty }
    }
}

/// Makes documents of one version documents of another.
pub trait Converter<'s> {
    /// The types of the documents.
    type Type: Type<'s>;

    /// The document in a version, which it may be in already.
    ///
    /// # Errors
    /// See [`ConvertError`].
    fn convert<'a>(
        &self,
        document: &'a Typed<'_, Self::Type>,
        version: &str,
    ) -> Result<Typed<'a, Self::Type>, ConvertError>;
}

/// Why a document is not in another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// There is no such version any more: whoever owned fields in it owns none.
    #[error("no such version")]
    NoSuchVersion,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// What one manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The fields.
    pub fields: FieldSet,
    /// The version in which the fields have these names.
    pub version: String,
    /// Whether they were applied.
    pub applied: bool,
}

/// What all managers own, by whatever identifies a manager.
pub type Managers<K> = BTreeMap<K, Owned>;

/// Why an apply did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal<K> {
    /// Others own fields with other values, and the apply was not forced: which fields, by owner.
    Conflicts(Vec<(K, FieldSet)>),
    /// Anything else.
    Failed(String),
}

impl<K> From<String> for Refusal<K> {
    fn from(why: String) -> Self {
        Refusal::Failed(why)
    }
}

/// What managers can own, by version.
pub trait Filters {
    /// What takes from a set what nobody can own; nothing does if it is not said.
    fn of(&self, version: &str) -> Option<&Filter>;
}

/// Keeps the managers of a document.
pub struct Updater<'u, C> {
    /// Converts the document for managers that use other versions.
    pub converter: &'u C,
    /// What the managers can own.
    pub filters: &'u dyn Filters,
    /// Whether an apply that changes nothing gives the document all the same.
    pub returns_unchanged: bool,
}

/// What the managers come to, and what has changed in the version of the request.
type Settled<K> = (Managers<K>, Comparison);

/// What an apply comes to: the document, unless it is as it was, and who owns what.
pub type Applied<T, K> = (Option<Typed<'static, T>>, Managers<K>);

impl<'u, 's, C: Converter<'s>> Updater<'u, C> {
    /// Gives what has changed from `live` to `new` to the manager who changed it.
    ///
    /// # Errors
    /// What makes documents impossible to compare or to convert.
    pub fn update<K: Ord + Clone>(
        &self,
        live: &Typed<'_, C::Type>,
        new: &Typed<'_, C::Type>,
        version: &str,
        managers: Managers<K>,
        manager: &K,
    ) -> Result<Managers<K>, String> {
        let managers = self.reconcile(live, managers)?;
        let (mut managers, changes) =
            self.settle(live, new, version, managers, manager, true).map_err(|refusal| match refusal {
                // A forced one has no conflicts.
                Refusal::Conflicts(_) => String::new(),
                Refusal::Failed(why) => why,
            })?;
        let mut fields = managers.remove(manager).map(|owned| owned.fields).unwrap_or_default();
        fields.remove(&changes.removed, false);
        fields.extend(changes.modified);
        fields.extend(changes.added);
        let fields = self.filtered(fields, version);
        if !fields.is_empty() {
            let owned = Owned { fields, version: version.to_owned(), applied: false };
            managers.insert(manager.clone(), owned);
        }
        Ok(managers)
    }

    /// Lays `config` over `live`, and removes what the manager applied before and does not apply now. The document is
    /// `None` when it is as it was.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn apply<'v, K: Ord + Clone>(
        &self,
        live: &Typed<'v, C::Type>,
        config: &Typed<'_, C::Type>,
        version: &str,
        managers: Managers<K>,
        manager: &K,
        force: bool,
    ) -> Result<Applied<C::Type, K>, Refusal<K>> {
        let mut managers = self.reconcile(live, managers)?;
        let merged = typed::merge(live.ty, &live.value, &config.value)
            .map_err(|why| format!("failed to merge config: {why}"))?;
        let merged = Typed { value: Cow::Owned(merged), ty: live.ty };
        let fields = typed::field_set(config.ty, &config.value)
            .map_err(|why| format!("failed to get field set: {why}"))?;
        let fields = self.filtered(fields, version);
        let before = managers.remove(manager);
        managers.insert(manager.clone(), Owned { fields, version: version.to_owned(), applied: true });
        let new = self
            .prune(merged, &managers, version, before.as_ref())
            .map_err(|why| format!("failed to prune fields: {why}"))?;
        let (managers, _) = self.settle(live, &new, version, managers, manager, force)?;
        let is_same = !self.returns_unchanged && crate::fieldset::same(&live.value, &new.value);
        Ok(((!is_same).then_some(new), managers))
    }

    fn filtered(&self, fields: FieldSet, version: &str) -> FieldSet {
        match self.filters.of(version) {
            Some(filter) => filter.apply(fields),
            None => fields,
        }
    }

    /// Takes from everybody but the manager what has changed.
    fn settle<K: Ord + Clone>(
        &self,
        live: &Typed<'_, C::Type>,
        new: &Typed<'_, C::Type>,
        version: &str,
        mut managers: Managers<K>,
        manager: &K,
        force: bool,
    ) -> Result<Settled<K>, Refusal<K>> {
        let changes = self.compare(live, new, version)?;
        let mut others: BTreeMap<String, Option<Comparison>> = BTreeMap::new();
        let mut conflicts = Vec::new();
        for (name, owned) in managers.iter().filter(|(name, _)| *name != manager) {
            let changes = if owned.version == version {
                Some(&changes)
            } else {
                if !others.contains_key(&owned.version) {
                    let changes = self.compare_in(live, new, &owned.version)?;
                    others.insert(owned.version.clone(), changes);
                }
                others.get(&owned.version).and_then(Option::as_ref)
            };
            let Some(changes) = changes else { continue };
            let mut lost = owned.fields.intersection(&changes.modified);
            lost.extend(owned.fields.intersection(&changes.added));
            if !lost.is_empty() {
                conflicts.push((name.clone(), lost));
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        for (name, lost) in &conflicts {
            if let Some(owned) = managers.get_mut(name) {
                owned.fields.remove(lost, false);
            }
        }
        managers.retain(|name, owned| {
            if name != manager {
                let changes = if owned.version == version {
                    Some(&changes)
                } else {
                    others.get(&owned.version).and_then(Option::as_ref)
                };
                // Nobody owns anything in a version that is no more.
                let Some(changes) = changes else { return false };
                owned.fields.remove(&changes.removed, false);
            }
            !owned.fields.is_empty()
        });
        Ok((managers, changes))
    }

    fn compare(
        &self,
        live: &Typed<'_, C::Type>,
        new: &Typed<'_, C::Type>,
        version: &str,
    ) -> Result<Comparison, String> {
        let changes = typed::compare(live.ty, &live.value, &new.value)
            .map_err(|why| format!("failed to compare objects: {why}"))?;
        Ok(changes.filtered(self.filters.of(version)))
    }

    /// What has changed in another version; `None` if there is no such version.
    fn compare_in(
        &self,
        live: &Typed<'_, C::Type>,
        new: &Typed<'_, C::Type>,
        version: &str,
    ) -> Result<Option<Comparison>, String> {
        let convert = |document, which| match self.converter.convert(document, version) {
            Ok(converted) => Ok(Some(converted)),
            Err(ConvertError::NoSuchVersion) => Ok(None),
            Err(ConvertError::Failed(why)) => Err(format!("failed to convert {which} object: {why}")),
        };
        let (Some(live), Some(new)) = (convert(live, "old")?, convert(new, "new")?) else { return Ok(None) };
        self.compare(&live, &new, version).map(Some)
    }

    /// Brings what the managers own into the form that the types have now.
    fn reconcile<K: Ord>(
        &self,
        live: &Typed<'_, C::Type>,
        managers: Managers<K>,
    ) -> Result<Managers<K>, String> {
        let mut result = Managers::new();
        for (name, mut owned) in managers {
            let live = match self.converter.convert(live, &owned.version) {
                Ok(live) => live,
                Err(ConvertError::NoSuchVersion) => continue,
                Err(ConvertError::Failed(why)) => return Err(why),
            };
            let reconciled = typed::reconcile(live.ty, &owned.fields)
                .map_err(|why| format!("errors reconciling field set with schema: {why}"))?;
            if let Some(fields) = reconciled {
                owned.fields = fields;
            }
            result.insert(name, owned);
        }
        Ok(result)
    }
}
