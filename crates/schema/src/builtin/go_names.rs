//! What Go calls the types of fields that have a name of their own, which messages show: a text may be a `v1.PullPolicy`. Reads
//! `tables/names.txt`.

use super::decode::go_type;
use super::types::Form;

static TABLE: &str = include_str!("../tables/names.txt");

/// The name of the type that a value of a field should have had; `wanted` is what it is called by its form alone.
pub(super) fn refine(wanted: &str, def: &str, field: &str, form: &Form) -> Option<String> {
    let line = TABLE.lines().find(|line| line.split('\t').next() == Some(def))?;
    let mut fields = line.split('\t').skip(1).filter_map(|entry| entry.split_once(' '));
    let (_, whole) = fields.find(|(name, _)| *name == field)?;
    match form {
        Form::List(item) | Form::WrappedList(item) | Form::Map(item) if wanted != go_type(form) => {
            // Something within a list or a map; what is deeper within that has no name here.
            let is_item = wanted == go_type(item);
            whole.split_once(']').filter(|_| is_item).map(|(_, item)| item.to_owned())
        }
        _ => Some(whole.to_owned()),
    }
}
