//! What expressions cost: before they run ([`estimate`]) and while they run ([`CallCost`]). Sources: cel-go
//! `checker/cost.go`, `interpreter/runtimecost.go` and `ext`, apiserver `pkg/cel/library/cost.go`.
//!
//! While an expression runs, this is charged:
//!
//! | what | cost |
//! |---|---|
//! | a literal; a list or map of constants; a conversion of a constant (`int('1')`) | 0 |
//! | a chain: a variable, or any other start with its own cost, then `.field`, `[index]`, `.?field`, `[?index]` | 1 for each step that is taken, also one that fails, and 1 for the chain; an optional step that finds nothing is not taken |
//! | a chain as the argument of `has`, as an index or as a branch of `?:`, or one that starts with `?:` | the same without the 1 for the chain |
//! | `c ? a : b` | `c` and the branch that is chosen |
//! | `a && b`, <code>a &#124;&#124; b</code>, `a.or(b)`, `a.orValue(b)` | what is evaluated of them |
//! | `x in [constants]` of booleans, numbers and strings | `x`; nothing for an empty list |
//! | a list that is made | 10, and its items |
//! | a map that is made | 30, and its keys and values |
//! | a message that is made | 40, and its fields |
//! | a comprehension | its range, the condition and the step for each item, its result; the start of the accumulator when that is first read |
//! | every other call, also of `@not_strictly_false` and of functions that macros use | its arguments and [`CallCost::charge`] |

mod calls;
mod estimate;
mod functions;

pub(crate) use calls::{CallCost, LIST_COST, MAP_COST, STRUCT_COST};
pub(crate) use estimate::estimate;
