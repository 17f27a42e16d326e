//! What the patches do, through the crate's public door.

#[cfg(test)]
mod bookkeeping;
#[cfg(test)]
mod json_patch;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod managed;
#[cfg(test)]
mod merge_patch;
#[cfg(test)]
mod patches;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod smd;
#[cfg(test)]
mod strategic;

use pilothouse_value::Value;
use proptest::prelude::*;
use std::path::PathBuf;

/// The folder of recorded calls; `MERGING_RECORDED` names another one.
pub(crate) fn recorded_calls() -> PathBuf {
    let known = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded");
    std::env::var_os("MERGING_RECORDED").map_or_else(known, PathBuf::from)
}

/// Documents of any shape, small enough to hit each other's keys often.
pub(crate) fn any_document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3i64..4).prop_map(Value::Int),
        "[a-c~/]{0,3}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]{1,2}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
