//! What Go calls the types of fields that have a name of their own, which messages show: a text may be a `v1.PullPolicy`. Reads
//! `tables/names.txt`.

use super::types::Form;

static TABLE: &str = include_str!("../tables/names.txt");

/// The name of the type that a value of a field should have had; `wanted` is what it is called by its form alone.
pub(super) fn refine(wanted: &str, def: &str, field: &str, form: &Form) -> Option<String> {
    let line = TABLE.lines().find(|line| line.split('\t').next() == Some(def))?;
    let mut fields = line.split('\t').skip(1).filter_map(|entry| entry.split_once(' '));
    let (_, whole) = fields.find(|(name, _)| *name == field)?;
    let holds = matches!(form, Form::List(_) | Form::WrappedList(_) | Form::Map(_));
    if !holds || wanted.starts_with(['[']) || wanted.starts_with("map[") {
        return Some(whole.to_owned());
    }
    // Something within a list or a map, which may have a name that says nothing of it.
    let (_, item) = whole.split_once(']')?;
    Some(item.to_owned())
}
