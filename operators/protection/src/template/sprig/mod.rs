//! The functions of sprig v2, as far as they are pure.

use super::calls::Function;

mod data;
mod lists;
mod text;

pub(super) const TABLES: &[&[Function]] = &[text::TABLE, lists::TABLE, data::TABLE];
