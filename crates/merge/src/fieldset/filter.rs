//! Which fields a set may hold: what the strategy of a kind resets is nobody's, and some subresources write only a few
//! fields.

use super::{FieldSet, PathElement};
use pilothouse_value::stack::deeper;

/// Takes fields out of sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Takes out these fields and all below them.
    Exclude(FieldSet),
    /// Takes out all but what fits one of the patterns.
    Include(Vec<Pattern>),
}

/// A path in which `None` stands for any element. It fits all paths that begin so.
pub type Pattern = Vec<Option<PathElement>>;

impl Filter {
    /// What is left of a set.
    pub fn apply(&self, mut set: FieldSet) -> FieldSet {
        match self {
            Filter::Exclude(fields) => {
                set.remove(fields, true);
                set
            }
            Filter::Include(patterns) => {
                let patterns: Vec<&[Option<PathElement>]> = patterns.iter().map(Vec::as_slice).collect();
                include(set, &patterns)
            }
        }
    }
}

fn include(set: FieldSet, patterns: &[&[Option<PathElement>]]) -> FieldSet {
    if patterns.is_empty() || patterns.iter().any(|pattern| pattern.is_empty()) {
        return set;
    }
    let mut kept = FieldSet::new();
    for (element, owned, below) in set.nodes() {
        let rest = |wanted: Option<&PathElement>| -> Vec<&[Option<PathElement>]> {
            let fits = patterns.iter().filter_map(|pattern| pattern.split_first());
            fits.filter(|(first, _)| first.as_ref() == wanted).map(|(_, rest)| rest).collect()
        };
        // Where any element will do, what else stands there does not matter.
        let mut rests = rest(None);
        if rests.is_empty() {
            rests = rest(Some(element));
        }
        if !rests.is_empty() {
            kept.insert(element.clone(), owned, deeper(|| include(below.clone(), &rests)));
        }
    }
    kept
}
