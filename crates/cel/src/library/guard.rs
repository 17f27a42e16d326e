//! What lists and maps have to hold where a function is called with them. The checker knows the types of all arguments;
//! what comes from a document may be null nevertheless, or not be of its type. Source: cel-go `common/decls`
//! (`guardedUnaryOp` and the others), `common/types` (`IsAssignableRuntimeType`).

use super::decls::{Overload, function};
use crate::types::Type;
use crate::val::Val;

/// Functions with a parameter that is a list of something, whose overloads have a body each. As upstream, those with one
/// body for all overloads look at their arguments themselves.
const GUARDED: [&str; 7] = ["isSorted", "sum", "max", "min", "join", "optional.unwrap", "unwrapOpt"];

/// The overloads that a call may mean.
#[derive(Debug)]
pub(crate) struct Guard(Vec<&'static Overload>);

impl Guard {
    /// The guard of a call; `None` where the arguments can be of any type. `overload` is the one that the checker found,
    /// empty if there are several.
    pub(crate) fn of(name: &str, overload: &str) -> Option<Self> {
        let function = GUARDED.contains(&name).then(|| function(name)).flatten()?;
        let overloads = function.overloads.iter();
        Some(Self(overloads.filter(|one| overload.is_empty() || one.id == overload).collect()))
    }

    /// Whether an overload takes these values.
    pub(crate) fn admits(&self, args: &[Val<'_>]) -> bool {
        let takes = |overload: &&Overload| {
            overload.args.len() == args.len()
                && overload.args.iter().zip(args).all(|(ty, value)| is_assignable(ty, value))
        };
        self.0.iter().any(takes)
    }
}

/// Whether a value is of a type, as far as upstream looks: at the first element of a list.
fn is_assignable(ty: &Type, value: &Val<'_>) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Any | Type::Param(_), _) => true,
        (Type::List(items), Val::List(list)) => match list.get(0) {
            None => true,
            Some(Ok(first)) => is_assignable(items, &first),
            Some(Err(_)) => matches!(**items, Type::Dyn | Type::Any | Type::Param(_)),
        },
        (ty, value) => ty.name() == value.type_name(),
    }
}
