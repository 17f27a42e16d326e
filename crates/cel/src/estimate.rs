//! Sizes and costs before an expression is run: ranges that saturate. Source: cel-go `checker/cost.go`.

use crate::decl::{DeclType, Shape};
use crate::types::Type;

/// How large a value may be: code points of a string, bytes, items of a list, entries of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeEstimate {
    /// Least size.
    pub min: u64,
    /// Greatest size.
    pub max: u64,
}

/// What running an expression may cost, in units of about 50 ns on a real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostEstimate {
    /// Least cost.
    pub min: u64,
    /// Greatest cost; `u64::MAX` when there is no bound.
    pub max: u64,
}

/// Tells the size of what an expression reads from its variables.
pub trait SizeEstimator {
    /// The size of what is at `path`: a variable, then names of fields, `@items`, `@indices`, `@keys` or `@values`.
    /// `None` if nothing is known.
    fn estimate_size(&self, path: &[&str], ty: &Type) -> Option<SizeEstimate>;
}

/// The sizes within a declared type, whatever the variable is called.
impl SizeEstimator for DeclType {
    fn estimate_size(&self, path: &[&str], _ty: &Type) -> Option<SizeEstimate> {
        let (_variable, steps) = path.split_first()?;
        let mut here = self;
        for (at, step) in steps.iter().enumerate() {
            here = match *step {
                "@items" | "@values" => here.elements()?,
                "@keys" => match &here.shape {
                    // Keys are strings of which nothing is known, and such a type has no elements.
                    Shape::Map(_) if at + 1 == steps.len() => return Some(SizeEstimate { min: 0, max: 0 }),
                    _ => return None,
                },
                // As upstream, only the escaped name tells the size of what is called by a reserved word.
                name => here.as_object()?.field(name).filter(|field| field.ident() == Some(name))?.ty(),
            };
        }
        Some(SizeEstimate { min: 0, max: u64::try_from(here.max_elements()).unwrap_or(0) })
    }
}

impl SizeEstimate {
    pub(crate) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(crate) const fn fixed(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(crate) fn times_cost(self, cost: CostEstimate) -> CostEstimate {
        CostEstimate { min: self.min.saturating_mul(cost.min), max: self.max.saturating_mul(cost.max) }
    }

    pub(crate) fn by_factor(self, factor: f64) -> CostEstimate {
        CostEstimate { min: by_factor(self.min, factor), max: by_factor(self.max, factor) }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl CostEstimate {
    pub(crate) const fn fixed(cost: u64) -> Self {
        Self { min: cost, max: cost }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(crate) fn by_factor(self, factor: f64) -> Self {
        Self { min: by_factor(self.min, factor), max: by_factor(self.max, factor) }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// `count · factor`, rounded up. Casting saturates, as upstream's overflow checks do.
pub(crate) fn by_factor(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).ceil() as u64
}
