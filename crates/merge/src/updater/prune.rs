//! Removing what a manager applied before and does not apply any more.

use super::{ConvertError, Converter, Managers, Owned, Typed, Updater};
use crate::fieldset::FieldSet;
use crate::typed;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What is merged, and what is left of it.
type Both<T> = (Typed<'static, T>, Typed<'static, T>);

impl<'s, C: Converter<'s>> Updater<'_, C> {
    /// Removes from `merged` what the manager applied before, does not apply now, and nobody else owns.
    pub(super) fn prune<K: Ord>(
        &self,
        merged: Typed<'static, C::Type>,
        managers: &Managers<K>,
        version: &str,
        before: Option<&Owned>,
    ) -> Result<Typed<'static, C::Type>, String> {
        let Some(before) = before.filter(|before| !before.fields.is_empty()) else { return Ok(merged) };
        let converted = match self.converter.convert(&merged, &before.version) {
            Ok(converted) => converted,
            Err(ConvertError::NoSuchVersion) => return Ok(merged),
            Err(why) => {
                return Err(format!("failed to convert merged object to last applied version: {why}"));
            }
        };
        let named = before.fields.with_named_parents(Some(converted.ty));
        let pruned = without(&converted, &named);
        let pruned = self
            .keep_owned(&converted, pruned, &before.version, managers)
            .map_err(|why| format!("failed add back owned items: {why}"))?;
        let pruned = self
            .keep_dangling(&converted, &pruned, before, &named)
            .map_err(|why| format!("failed add back dangling items: {why}"))?;
        let pruned = self.converter.convert(&pruned, version).map_err(|why| why.to_string())?;
        Ok(Typed { value: Cow::Owned(pruned.value.into_owned()), ty: pruned.ty })
    }

    /// Keeps what anybody owns now. The version that was pruned comes first: others may not be convertible to without
    /// what is owned in it.
    fn keep_owned<K: Ord>(
        &self,
        merged: &Typed<'_, C::Type>,
        pruned: Typed<'static, C::Type>,
        pruned_version: &str,
        managers: &Managers<K>,
    ) -> Result<Typed<'static, C::Type>, String> {
        let mut by_version: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for owned in managers.values() {
            by_version.entry(&owned.version).or_default().extend(owned.fields.clone());
        }
        let first = by_version.remove_entry(pruned_version);
        let (mut merged, mut pruned) = (owned(merged.borrowed()), pruned);
        for (version, fields) in first.into_iter().chain(by_version) {
            (merged, pruned) = self.keep_in(merged, pruned, version, &fields)?;
        }
        Ok(pruned)
    }

    fn keep_in(
        &self,
        merged: Typed<'static, C::Type>,
        pruned: Typed<'static, C::Type>,
        version: &str,
        fields: &FieldSet,
    ) -> Result<Both<C::Type>, String> {
        let convert = |document, which| match self.converter.convert(document, version) {
            Ok(converted) => Ok(Some(owned(converted))),
            Err(ConvertError::NoSuchVersion) => Ok(None),
            Err(why) => Err(format!("failed to convert {which} object at version {version}: {why}")),
        };
        // Where one of the two cannot be had, the other is in that version from here on, as upstream has it.
        let Some(merged_in) = convert(&merged, "merged")? else { return Ok((merged, pruned)) };
        let Some(pruned_in) = convert(&pruned, "pruned")? else { return Ok((merged_in, pruned)) };
        let set = |document: &Typed<'_, C::Type>, which| {
            typed::field_set(document.ty, &document.value)
                .map(|set| set.with_named_parents(Some(merged_in.ty)))
                .map_err(|why| {
                    format!("failed to create field set from {which} object at version {version}: {why}")
                })
        };
        let present = set(&merged_in, "merged")?;
        let mut kept = set(&pruned_in, "pruned")?;
        kept.extend(fields.with_named_parents(Some(merged_in.ty)));
        let pruned = without(&merged_in, &present.difference(&kept));
        Ok((merged_in, pruned))
    }

    /// Keeps what nobody owns, unless the manager applied it before.
    fn keep_dangling(
        &self,
        merged: &Typed<'_, C::Type>,
        pruned: &Typed<'_, C::Type>,
        before: &Owned,
        named: &FieldSet,
    ) -> Result<Typed<'static, C::Type>, String> {
        let converted = match self.converter.convert(pruned, &before.version) {
            Ok(converted) => converted,
            Err(ConvertError::NoSuchVersion) => return Ok(owned(merged.borrowed())),
            Err(why) => {
                return Err(format!("failed to convert pruned object to last applied version: {why}"));
            }
        };
        let set = |document: &Typed<'_, C::Type>, which| {
            typed::field_set(document.ty, &document.value)
                .map(|set| set.with_named_parents(Some(merged.ty)))
                .map_err(|why| {
                    format!("failed to create field set from {which} object in last applied version: {why}")
                })
        };
        let (kept, present) = (set(&converted, "pruned")?, set(merged, "merged")?);
        Ok(without(merged, &present.difference(&kept).intersection(named)))
    }
}

fn without<'s, T: typed::Type<'s>>(document: &Typed<'_, T>, fields: &FieldSet) -> Typed<'static, T> {
    Typed { value: Cow::Owned(typed::remove(document.ty, &document.value, fields)), ty: document.ty }
}

fn owned<T>(document: Typed<'_, T>) -> Typed<'static, T> {
    Typed { value: Cow::Owned(document.value.into_owned()), ty: document.ty }
}
