//! The syntax tree after macros are expanded. Every node has a number; its place in the source is kept beside the tree.

/// A node's number. Macros may use one node in two places, so numbers need not be unique.
pub(crate) type Id = u32;

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// What stands where the source could not be read.
    Unspecified,
    Literal(Literal),
    Ident(Box<str>),
    Select(Box<Select>),
    Call(Box<Call>),
    List(Box<List>),
    Map(Vec<Entry>),
    Struct(Box<Struct>),
    Fold(Box<Fold>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
}

/// `operand.field`, or whether it is there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Select {
    pub(crate) operand: Expr,
    pub(crate) field: Box<str>,
    pub(crate) is_test: bool,
}

/// `function(args)` or `target.function(args)`; operators are functions too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) function: Box<str>,
    pub(crate) target: Option<Expr>,
    pub(crate) args: Vec<Expr>,
}

/// `[a, ?b]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List {
    pub(crate) elements: Vec<Expr>,
    /// Places of the elements that are optional.
    pub(crate) optional: Vec<usize>,
}

/// `key: value` of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) is_optional: bool,
}

/// `Name{field: value}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Struct {
    pub(crate) name: Box<str>,
    pub(crate) fields: Vec<StructField>,
}

/// `field: value` of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StructField {
    pub(crate) id: Id,
    pub(crate) name: Box<str>,
    pub(crate) value: Expr,
    pub(crate) is_optional: bool,
}

/// A comprehension: what the macros over lists and maps become.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fold {
    pub(crate) range: Expr,
    pub(crate) var: Box<str>,
    pub(crate) var2: Option<Box<str>>,
    pub(crate) accu: Box<str>,
    pub(crate) init: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

/// A tree with the places of its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Ast {
    pub(crate) root: Expr,
    /// Where each node starts, in bytes, by its number.
    pub(crate) offsets: Vec<u32>,
}

/// Functions that operators stand for.
pub(crate) mod operators {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const AND: &str = "_&&_";
    pub(crate) const OR: &str = "_||_";
    pub(crate) const NOT: &str = "!_";
    pub(crate) const NEGATE: &str = "-_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub(crate) const ADD: &str = "_+_";
    pub(crate) const IN: &str = "@in";
    pub(crate) const INDEX: &str = "_[_]";
    pub(crate) const OPT_INDEX: &str = "_[?_]";
    pub(crate) const OPT_SELECT: &str = "_?._";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    pub(crate) const MAP_INSERT: &str = "cel.@mapInsert";
    /// The name of the accumulator of the macros.
    pub(crate) const RESULT: &str = "@result";
}
