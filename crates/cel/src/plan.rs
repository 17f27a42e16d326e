//! From the checked tree to something that runs fast: names become places, constants are computed, chains of fields and
//! indices become one node, and functions are looked up. Source: cel-go `interpreter/planner.go`,
//! `interpreter/decorators.go`; what is constant here is what is constant there, since constants cost nothing.

use std::collections::HashSet;

use crate::ast::{Call, Entry, Expr, Fold, Kind, List, Literal, Select, Struct, operators};
use crate::check::{Checked, Reference, known_type};
use crate::cost::CallCost;
use crate::error::EvalError;
use crate::eval::{check_qualifier, named};
use crate::library::calls::{self, Func};
use crate::library::guard::Guard;
use crate::library::hosts;
use crate::pattern::Pattern;
use crate::types::Type;
use crate::val::{Key, MapBuilder, Text, TypeVal, Val};

/// A node that can be evaluated.
#[derive(Debug)]
pub(crate) enum Node {
    Const(Val<'static>),
    /// A variable, a field of something, an item of something.
    Chain(Box<Chain>),
    /// `condition ? truthy : falsy`.
    Choice(Box<[Node; 3]>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Call(Box<CallNode>),
    Equal(Box<CompareNode>),
    /// `value in [constants]`.
    Member(Box<MemberNode>),
    /// `optional.or(other)`; `orValue` if the flag is set.
    Otherwise(Box<[Node; 2]>, bool),
    List(Box<ListNode>),
    Map(Box<[EntryNode]>),
    Message(Box<MessageNode>),
    Fold(Box<FoldNode>),
    /// A value with a name, made when it is first used.
    Bind(Box<[Node; 2]>),
    /// `accumulator + [element]`; whether the list of the element is a constant.
    Append(Box<Node>, usize, bool),
}

/// Where a chain starts, and the steps from there.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) start: Start,
    pub(crate) steps: Vec<Step>,
    /// Whether only the presence of the last step is asked for.
    pub(crate) is_test: bool,
}

/// Where a chain starts.
#[derive(Debug)]
pub(crate) enum Start {
    Variable(Box<str>),
    /// A variable of a macro, by its place.
    Local(usize),
    Node(Node),
}

/// A step from a value to a part of it.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) key: Node,
    pub(crate) is_optional: bool,
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) name: Box<str>,
    pub(crate) func: Func,
    pub(crate) args: Vec<Node>,
    pub(crate) cost: CallCost,
    /// A regular expression that is known already.
    pub(crate) pattern: Option<Pattern>,
    /// What the first elements of lists have to be.
    pub(crate) guard: Option<Guard>,
}

/// `a == b` or `a != b`.
#[derive(Debug)]
pub(crate) struct CompareNode {
    pub(crate) sides: [Node; 2],
    pub(crate) negated: bool,
    pub(crate) cost: CallCost,
}

/// A set of constants.
#[derive(Debug)]
pub(crate) struct MemberNode {
    pub(crate) value: Node,
    pub(crate) set: HashSet<Key>,
}

/// A list that is made.
#[derive(Debug)]
pub(crate) struct ListNode {
    /// Each with whether it is optional.
    pub(crate) elements: Vec<(Node, bool)>,
}

/// An entry of a map that is made.
#[derive(Debug)]
pub(crate) struct EntryNode {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) is_optional: bool,
}

/// A message of protobuf that is made.
#[derive(Debug)]
pub(crate) struct MessageNode {
    pub(crate) name: Box<str>,
    pub(crate) fields: Vec<FieldNode>,
}

/// A field of a message that is made.
#[derive(Debug)]
pub(crate) struct FieldNode {
    pub(crate) name: Box<str>,
    pub(crate) value: Node,
    pub(crate) is_optional: bool,
}

/// A comprehension. Its variables have the places after those that are in use where it starts.
#[derive(Debug)]
pub(crate) struct FoldNode {
    pub(crate) range: Node,
    pub(crate) has_two: bool,
    pub(crate) init: Node,
    /// `None` if the loop always goes on.
    pub(crate) condition: Option<Node>,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

/// Plans a checked tree.
///
/// # Errors
/// When a constant cannot be computed or a regular expression is wrong.
pub(crate) fn plan(checked: &Checked) -> Result<Node, EvalError> {
    Planner { checked, locals: Vec::new() }.node(&checked.root)
}

const TIMESTAMP: &str = "google.protobuf.Timestamp";
const DURATION: &str = "google.protobuf.Duration";

struct Planner<'c> {
    checked: &'c Checked,
    /// Names of the variables of macros, by their places.
    locals: Vec<&'c str>,
}

impl<'c> Planner<'c> {
    fn node(&mut self, expr: &'c Expr) -> Result<Node, EvalError> {
        match &expr.kind {
            Kind::Unspecified => Err(EvalError::new("unsupported expr")),
            Kind::Literal(literal) => Ok(Node::Const(constant(literal))),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select(select) => self.select(select),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(list) => self.list(list),
            Kind::Map(entries) => self.map(entries),
            Kind::Struct(message) => self.message(message),
            Kind::Fold(fold) => self.fold(fold),
        }
    }

    fn ident(&self, expr: &Expr, name: &str) -> Result<Node, EvalError> {
        if let Some(Some(Reference::Constant(number))) = self.checked.references.get(expr.id as usize) {
            return Ok(Node::Const(Val::Int(*number)));
        }
        if let Some(Some(Reference::Type(ty))) = self.checked.references.get(expr.id as usize) {
            // Messages that stand for another value are known by name and have no type of their own.
            let has_value = [TIMESTAMP, DURATION, hosts::EMPTY.name, hosts::FIELDS_ENTRY.name];
            let is_message = name.starts_with("google.protobuf.") && !has_value.contains(&&**ty);
            let of = self.checked.ty(expr.id);
            let is_patch = matches!(of, Type::Type(Some(ty)) if matches!(**ty, Type::Patch(_)));
            if is_message || is_patch || matches!(name, "timestamp" | "duration") {
                return Err(EvalError::new(format!("reference to undefined type: {name}")));
            }
            return Ok(Node::Const(Val::Type(TypeVal(ty.clone()))));
        }
        // Upstream looks even a variable whose value is a type up among the types.
        if matches!(self.checked.ty(expr.id), Type::Type(_)) {
            return match known_type(name) {
                Some(ty) => Ok(Node::Const(Val::Type(TypeVal::from(&ty)))),
                None => Err(EvalError::new(format!("reference to undefined type: {name}"))),
            };
        }
        let start = match name.strip_prefix('.') {
            Some(global) => Start::Variable(global.into()),
            None => match self.locals.iter().rposition(|local| *local == name) {
                Some(place) => Start::Local(place),
                None => Start::Variable(name.into()),
            },
        };
        Ok(Node::Chain(Box::new(Chain { start, steps: Vec::new(), is_test: false })))
    }

    /// The chain of a node, or a new one that starts with it.
    fn chain(node: Node) -> Box<Chain> {
        match node {
            // A test has its answer: what follows is another chain.
            Node::Chain(chain) if !chain.is_test => chain,
            node => Box::new(Chain { start: Start::Node(node), steps: Vec::new(), is_test: false }),
        }
    }

    fn select(&mut self, select: &'c Select) -> Result<Node, EvalError> {
        let mut chain = Self::chain(self.node(&select.operand)?);
        let key = Node::Const(Val::text(&*select.field));
        chain.steps.push(Step { key, is_optional: false });
        chain.is_test = select.is_test;
        Ok(Node::Chain(chain))
    }

    fn pair(&mut self, call: &'c Call) -> Result<Box<[Node; 2]>, EvalError> {
        let mut args = call.target.iter().chain(&call.args);
        let (Some(a), Some(b)) = (args.next(), args.next()) else {
            return Err(EvalError::no_such_overload());
        };
        Ok(Box::new([self.node(a)?, self.node(b)?]))
    }

    fn call(&mut self, expr: &'c Expr, call: &'c Call) -> Result<Node, EvalError> {
        let overload = match self.checked.overloads(expr.id) {
            [one] => *one,
            _ => "",
        };
        match &*call.function {
            operators::AND => return Ok(Node::And(self.pair(call)?)),
            operators::OR => return Ok(Node::Or(self.pair(call)?)),
            operators::CONDITIONAL => {
                let [condition, truthy, falsy] = call.args.as_slice() else {
                    return Err(EvalError::no_such_overload());
                };
                return Ok(Node::Choice(Box::new([
                    self.node(condition)?,
                    self.node(truthy)?,
                    self.node(falsy)?,
                ])));
            }
            operators::EQUALS | operators::NOT_EQUALS => {
                let negated = &*call.function == operators::NOT_EQUALS;
                let cost = CallCost::of(&call.function, if negated { "not_equals" } else { "equals" });
                let sides = *self.pair(call)?;
                return Ok(Node::Equal(Box::new(CompareNode { sides, negated, cost })));
            }
            operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => {
                let is_optional = &*call.function != operators::INDEX;
                let [operand, key] = *self.pair(call)?;
                if let Node::Const(key) = &key {
                    check_qualifier(key)?;
                }
                let mut chain = Self::chain(operand);
                chain.steps.push(Step { key, is_optional });
                return Ok(Node::Chain(chain));
            }
            "or" if matches!(overload, "" | "optional_or_optional") && call.args.len() == 1 => {
                return Ok(Node::Otherwise(self.pair(call)?, false));
            }
            "orValue" if matches!(overload, "" | "optional_orValue_value") && call.args.len() == 1 => {
                return Ok(Node::Otherwise(self.pair(call)?, true));
            }
            _ => {}
        }
        let args =
            call.target.iter().chain(&call.args).map(|arg| self.node(arg)).collect::<Result<Vec<_>, _>>()?;
        self.function(&call.function, overload, args)
    }

    fn function(&self, name: &str, overload: &str, args: Vec<Node>) -> Result<Node, EvalError> {
        let func = calls::lookup(name, overload)
            .ok_or_else(|| EvalError::new(format!("no such overload: {name}")))?;
        match (name, args.as_slice()) {
            // Conversions of constants are done once.
            (
                "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type"
                | "uint",
                [Node::Const(value)],
            ) => {
                let args = std::slice::from_ref(value);
                return func(args).map(Node::Const).map_err(|why| named(why, name, args));
            }
            (operators::IN, [_, Node::Const(Val::List(list))]) if overload == "in_list" => {
                if list.is_empty() {
                    return Ok(Node::Const(Val::Bool(false)));
                }
                let set: Option<HashSet<Key>> = list.iter().map(|item| set_key(&item.ok()?)).collect();
                if let Some(set) = set {
                    let value = args.into_iter().next().ok_or_else(EvalError::no_such_overload)?;
                    return Ok(Node::Member(Box::new(MemberNode { value, set })));
                }
            }
            _ => {}
        }
        let pattern = match (name, args.get(1)) {
            ("matches" | "find" | "findAll", Some(Node::Const(Val::String(pattern)))) => {
                Some(Pattern::new(pattern).map_err(|why| EvalError::new(why.to_string()))?)
            }
            _ => None,
        };
        let cost = CallCost::of(name, overload);
        let guard = Guard::of(name, overload);
        Ok(Node::Call(Box::new(CallNode { name: name.into(), func, args, cost, pattern, guard })))
    }

    fn list(&mut self, list: &'c List) -> Result<Node, EvalError> {
        let elements = list.elements.iter().enumerate();
        let elements = elements
            .map(|(at, element)| Ok((self.node(element)?, list.optional.contains(&at))))
            .collect::<Result<Vec<_>, EvalError>>()?;
        let constants: Option<Vec<Val<'static>>> = elements
            .iter()
            .map(|element| match element {
                (Node::Const(value), false) => Some(value.clone()),
                _ => None,
            })
            .collect();
        Ok(match constants {
            Some(items) => Node::Const(Val::list(items)),
            None => Node::List(Box::new(ListNode { elements })),
        })
    }

    fn map(&mut self, entries: &'c [Entry]) -> Result<Node, EvalError> {
        let entries = entries
            .iter()
            .map(|entry| {
                let (key, value) = (self.node(&entry.key)?, self.node(&entry.value)?);
                Ok(EntryNode { key, value, is_optional: entry.is_optional })
            })
            .collect::<Result<Vec<_>, EvalError>>()?;
        let mut builder = MapBuilder::default();
        for entry in &entries {
            let (Node::Const(key), Node::Const(value), false) = (&entry.key, &entry.value, entry.is_optional)
            else {
                return Ok(Node::Map(entries.into()));
            };
            builder.put(key.clone(), value.clone())?;
        }
        Ok(Node::Const(Val::Map(builder.build())))
    }

    fn message(&mut self, message: &'c Struct) -> Result<Node, EvalError> {
        let fields = message.fields.iter().map(|field| {
            Ok(FieldNode {
                name: field.name.clone(),
                value: self.node(&field.value)?,
                is_optional: field.is_optional,
            })
        });
        let fields = fields.collect::<Result<Vec<_>, EvalError>>()?;
        Ok(Node::Message(Box::new(MessageNode { name: message.name.clone(), fields })))
    }

    fn fold(&mut self, fold: &'c Fold) -> Result<Node, EvalError> {
        let init = self.node(&fold.init)?;
        let range = self.node(&fold.range)?;
        let base = self.locals.len();
        self.locals.push(&fold.accu);
        let is_bind = matches!(&range, Node::Const(Val::List(list)) if list.is_empty())
            && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)));
        if is_bind {
            // It never runs, and may be wrong all the same.
            self.node(&fold.step)?;
            let result = self.node(&fold.result)?;
            self.locals.truncate(base);
            return Ok(Node::Bind(Box::new([init, result])));
        }
        self.locals.push(&fold.var);
        if let Some(name) = &fold.var2 {
            self.locals.push(name);
        }
        let condition = match self.node(&fold.condition)? {
            Node::Const(Val::Bool(true)) => None,
            condition => Some(condition),
        };
        let step = appending(self.node(&fold.step)?, base);
        self.locals.truncate(base + 1);
        let result = self.node(&fold.result)?;
        self.locals.truncate(base);
        let has_two = fold.var2.is_some();
        Ok(Node::Fold(Box::new(FoldNode { range, has_two, init, condition, step, result })))
    }
}

/// Makes `accumulator + [element]` a node that does not copy the accumulator.
fn appending(step: Node, accumulator: usize) -> Node {
    let is_accumulator = |node: &Node| {
        matches!(node, Node::Chain(chain)
            if chain.steps.is_empty() && matches!(chain.start, Start::Local(place) if place == accumulator))
    };
    match step {
        Node::Choice(choice) => {
            let [condition, truthy, falsy] = *choice;
            let truthy = appending(truthy, accumulator);
            Node::Choice(Box::new([condition, truthy, falsy]))
        }
        Node::Call(mut call)
            if &*call.name == operators::ADD && call.args.first().is_some_and(is_accumulator) =>
        {
            match call.args.pop() {
                Some(Node::List(mut list)) if list.elements.len() == 1 => match list.elements.pop() {
                    Some((element, false)) => return Node::Append(Box::new(element), accumulator, false),
                    Some(element) => {
                        list.elements.push(element);
                        call.args.push(Node::List(list));
                    }
                    None => call.args.push(Node::List(list)),
                },
                Some(Node::Const(Val::List(list))) if list.len() == 1 => {
                    if let Some(Ok(element)) = list.get(0) {
                        return Node::Append(Box::new(Node::Const(element)), accumulator, true);
                    }
                    call.args.push(Node::Const(Val::List(list)));
                }
                Some(other) => call.args.push(other),
                None => {}
            }
            Node::Call(call)
        }
        step => step,
    }
}

fn constant(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::String(text) => Val::String(Text::Shared((&**text).into())),
        Literal::Bytes(bytes) => Val::Bytes((&**bytes).into()),
    }
}

/// The key of a value that a set of constants can hold.
fn set_key(value: &Val<'_>) -> Option<Key> {
    match value {
        Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_) => Key::of(value),
        _ => None,
    }
}
