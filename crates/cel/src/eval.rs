//! The evaluator. Source: cel-go `interpreter/interpretable.go`, `interpreter/attributes.go`.

use std::sync::Arc;

use crate::cost::{LIST_COST, MAP_COST, STRUCT_COST};
use crate::error::EvalError;
use crate::library::optional::held;
use crate::messages::{Message, make};
use crate::plan::{
    CallNode, Chain, CompareNode, EntryNode, FieldNode, FoldNode, ListNode, MemberNode, MessageNode, Node,
    Start,
};
use crate::program::Activation;
use crate::val::{Key, ListVal, MapBuilder, Val};

type Outcome<'a> = Result<Val<'a>, EvalError>;

/// One evaluation.
pub(crate) struct Machine<'p, 'v, 'a> {
    variables: &'v dyn Activation<'a>,
    /// Arguments of the calls that are being evaluated.
    stack: Vec<Val<'a>>,
    /// Variables of the macros that are open.
    locals: Vec<Slot<'p, 'a>>,
    pub(crate) cost: u64,
    limit: u64,
}

/// What a variable of a macro holds.
enum Slot<'p, 'a> {
    Value(Outcome<'a>),
    /// To be evaluated when it is first read.
    Pending(&'p Node),
}

impl<'p, 'v, 'a> Machine<'p, 'v, 'a> {
    pub(crate) fn new(variables: &'v dyn Activation<'a>, limit: Option<u64>) -> Self {
        Self { variables, stack: Vec::new(), locals: Vec::new(), cost: 0, limit: limit.unwrap_or(u64::MAX) }
    }

    fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::CostLimitExceeded) } else { Ok(()) }
    }

    pub(crate) fn eval(&mut self, node: &'p Node) -> Outcome<'a> {
        match node {
            Node::Const(value) => Ok(value.clone()),
            Node::Chain(chain) => self.chain(chain, true),
            Node::Choice(choice) => self.choice(choice),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Call(call) => self.call(call),
            Node::Equal(compare) => self.compare(compare),
            Node::Member(member) => self.member(member),
            Node::Otherwise(sides, is_value) => self.otherwise(sides, *is_value),
            Node::List(list) => self.list(list),
            Node::Map(entries) => self.map(entries),
            Node::Message(message) => self.message(message),
            Node::Fold(fold) => self.fold(fold),
            Node::Bind(bind) => {
                let [init, result] = &**bind;
                self.locals.push(Slot::Pending(init));
                let value = self.eval(result);
                self.locals.pop();
                value
            }
            Node::Append(element, place, is_const) => self.append(element, *place, *is_const),
        }
    }

    /// A node where a chain is not charged for itself: a branch of a choice, or an index.
    fn eval_part(&mut self, node: &'p Node) -> Outcome<'a> {
        match node {
            Node::Chain(chain) => self.chain(chain, false),
            node => self.eval(node),
        }
    }

    fn local(&mut self, place: usize) -> Outcome<'a> {
        match self.locals.get(place) {
            Some(Slot::Value(value)) => value.clone(),
            Some(Slot::Pending(node)) => {
                let node = *node;
                // Where the value was planned, only the variables before it were there.
                let mut later = self.locals.split_off(place);
                let value = self.eval(node);
                if let Some(slot) = later.first_mut() {
                    *slot = Slot::Value(value.clone());
                }
                self.locals.append(&mut later);
                value
            }
            None => Err(EvalError::new("no such attribute(s)")),
        }
    }

    fn chain(&mut self, chain: &'p Chain, is_charged: bool) -> Outcome<'a> {
        let start = match &chain.start {
            Start::Local(place) => self.local(*place),
            Start::Variable(name) => match self.variables.resolve(name) {
                Some(value) => value,
                None => Err(EvalError::new(format!("no such attribute(s): {name}"))),
            },
            Start::Node(node) => self.eval(node),
        };
        let value = start.and_then(|start| self.steps(chain, start));
        if value.as_ref().is_err_and(EvalError::is_final) {
            return value;
        }
        if is_charged && !chain.is_test && !matches!(chain.start, Start::Node(Node::Choice(_))) {
            self.charge(1)?;
        }
        value
    }

    fn steps(&mut self, chain: &'p Chain, start: Val<'a>) -> Outcome<'a> {
        let (start, mut is_optional) = match start {
            Val::Optional(None) => {
                return Ok(if chain.is_test { Val::Bool(false) } else { Val::none() });
            }
            Val::Optional(Some(inner)) => (held(&inner), true),
            value => (Ok(value), false),
        };
        // A part that is not of its declared type is a part: only what asks for more of it fails.
        let mut value = start;
        let last = chain.steps.len().wrapping_sub(1);
        for (at, step) in chain.steps.iter().enumerate() {
            let is_test = chain.is_test && at == last;
            is_optional |= step.is_optional;
            let key = match &step.key {
                Node::Const(key) => Ok(key.clone()),
                key => self.eval_part(key),
            };
            let found = key.and_then(|key| match &value {
                _ if check_qualifier(&key).is_err() => check_qualifier(&key).map(|()| None),
                Ok(value) => qualify(value, &key, is_optional || is_test),
                Err(why) => Err(EvalError::clone(why)),
            });
            match found {
                Ok(Some(part)) => {
                    self.charge(1)?;
                    if is_test {
                        return part.map(|_| Val::Bool(true));
                    }
                    value = part;
                }
                Ok(None) if is_test => {
                    // Within an optional chain an answer that is missing is not charged.
                    self.charge(u64::from(!is_optional))?;
                    return Ok(Val::Bool(false));
                }
                Ok(None) => return Ok(Val::none()),
                Err(why) => {
                    if !why.is_final() && !is_optional {
                        self.charge(1)?;
                    }
                    return Err(why);
                }
            }
        }
        if !is_optional {
            return value;
        }
        Ok(Val::some(value.unwrap_or_else(|why| Val::Wrong(Arc::new(why)))))
    }

    fn choice(&mut self, choice: &'p [Node; 3]) -> Outcome<'a> {
        let [condition, truthy, falsy] = choice;
        match self.eval(condition)? {
            Val::Bool(true) => self.eval_part(truthy),
            Val::Bool(false) => self.eval_part(falsy),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// `&&` or `||`: one side decides if it has the deciding value, whatever the other side is.
    fn logic(&mut self, terms: &'p [Node; 2], decides: bool) -> Outcome<'a> {
        let mut error = None;
        for term in terms {
            match self.eval(term) {
                Ok(Val::Bool(value)) if value == decides => return Ok(Val::Bool(decides)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => error = error.or(Some(EvalError::no_such_overload())),
                Err(why) if why.is_final() => return Err(why),
                Err(why) => error = error.or(Some(why)),
            }
        }
        error.map_or(Ok(Val::Bool(!decides)), Err)
    }

    /// Evaluates arguments onto the stack. All are evaluated if there are at most two, also after an error, since
    /// upstream charges for them. It charges for a call of which all arguments were looked at.
    fn arguments(&mut self, args: &'p [Node]) -> Result<Option<EvalError>, EvalError> {
        let mut error = None;
        for (at, arg) in args.iter().enumerate() {
            match self.eval(arg) {
                Ok(value) => self.stack.push(value),
                Err(why) if why.is_final() => return Err(why),
                Err(why) => {
                    error = error.or(Some(why));
                    if args.len() > 2 && at + 1 < args.len() {
                        break;
                    }
                    self.stack.push(Val::Null);
                }
            }
        }
        Ok(error)
    }

    fn call(&mut self, call: &'p CallNode) -> Outcome<'a> {
        let base = self.stack.len();
        let outcome = self.call_above(call, base);
        self.stack.truncate(base);
        outcome
    }

    fn call_above(&mut self, call: &'p CallNode, base: usize) -> Outcome<'a> {
        let error = self.arguments(&call.args)?;
        let args = self.stack.get(base..).unwrap_or_default();
        // An error takes the place of a null.
        if error.is_some()
            && let Some(Val::Null) = call.cost.list_to_sort().and_then(|at| args.get(at))
        {
            return Err(EvalError::NoListToSort);
        }
        // Nor does upstream charge for a regular expression that is known already.
        if error.is_some() && (args.len() < call.args.len() || call.pattern.is_some()) {
            return error.map_or_else(|| Err(EvalError::no_such_overload()), Err);
        }
        let admits = || call.guard.as_ref().is_none_or(|guard| guard.admits(args));
        let result = match error {
            // Only one function looks at errors.
            Some(_) if &*call.name == crate::ast::operators::NOT_STRICTLY_FALSE => Ok(Val::Bool(true)),
            Some(why) => Err(why),
            None if !admits() => Err(named(EvalError::NoSuchOverload, &call.name, args)),
            None => match &call.pattern {
                // With the expression at hand, upstream comes past where a call is named.
                Some(pattern) => {
                    crate::library::regex::with_pattern(&call.name, pattern, args).map_err(|why| {
                        if why == EvalError::NoSuchOverload { EvalError::unnamed_overload() } else { why }
                    })
                }
                None => (call.func)(args),
            }
            .map_err(|why| named(why, &call.name, args)),
        };
        if result.as_ref().is_err_and(EvalError::is_final) {
            return result;
        }
        let cost = call.cost.charge(args, result.as_ref().ok());
        self.charge(cost)?;
        result
    }

    fn compare(&mut self, compare: &'p CompareNode) -> Outcome<'a> {
        let base = self.stack.len();
        let outcome = self.compare_above(compare, base);
        self.stack.truncate(base);
        outcome
    }

    fn compare_above(&mut self, compare: &'p CompareNode, base: usize) -> Outcome<'a> {
        let error = self.arguments(&compare.sides)?;
        let args = self.stack.get(base..).unwrap_or_default();
        let result = match (error, args) {
            (Some(why), _) => Err(why),
            (None, [a, b]) => match a.equals(b) {
                Ok(equal) => Ok(Val::Bool(equal != compare.negated)),
                // What cannot be compared is not equal.
                Err(why) if compare.negated && !why.is_final() => Ok(Val::Bool(true)),
                Err(why) => Err(why),
            },
            _ => Err(EvalError::no_such_overload()),
        };
        if result.as_ref().is_err_and(EvalError::is_final) {
            return result;
        }
        let cost = compare.cost.charge(args, result.as_ref().ok());
        self.charge(cost)?;
        result
    }

    fn member(&mut self, member: &'p MemberNode) -> Outcome<'a> {
        let value = self.eval(&member.value)?;
        Ok(Val::Bool(Key::of(&value).is_some_and(|key| member.set.contains(&key))))
    }

    fn otherwise(&mut self, sides: &'p [Node; 2], is_value: bool) -> Outcome<'a> {
        let [first, second] = sides;
        match self.eval(first)? {
            Val::Optional(Some(value)) if is_value => held(&value),
            Val::Optional(Some(value)) => Ok(Val::Optional(Some(value))),
            Val::Optional(None) => self.eval(second),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    fn list(&mut self, list: &'p ListNode) -> Outcome<'a> {
        let mut items = Vec::with_capacity(list.elements.len());
        let mut error = None;
        for (element, is_optional) in &list.elements {
            match self.eval(element) {
                Ok(Val::Optional(value)) if *is_optional => items.extend(value.map(|value| (*value).clone())),
                Ok(value) if *is_optional => {
                    let value = value.to_string();
                    let message =
                        format!("cannot initialize optional list element from non-optional value {value}");
                    error = Some(EvalError::new(message));
                    break;
                }
                Ok(value) => items.push(value),
                Err(why) => {
                    error = Some(why);
                    break;
                }
            }
        }
        if let Some(why) = error.as_ref().filter(|why| why.is_final()) {
            return Err(why.clone());
        }
        self.charge(LIST_COST)?;
        error.map_or_else(|| Ok(Val::list(items)), Err)
    }

    fn map(&mut self, entries: &'p [EntryNode]) -> Outcome<'a> {
        let mut builder = MapBuilder::default();
        let mut outcome = Ok(());
        for entry in entries {
            outcome = self.entry(entry, &mut builder);
            match &outcome {
                Ok(()) => {}
                Err(why) if why.is_final() => return Err(why.clone()),
                Err(_) => break,
            }
        }
        self.charge(MAP_COST)?;
        outcome.map(|()| Val::Map(builder.build()))
    }

    fn entry(&mut self, entry: &'p EntryNode, builder: &mut MapBuilder<'a>) -> Result<(), EvalError> {
        let key = self.eval(&entry.key)?;
        let value = self.eval(&entry.value)?;
        match value {
            Val::Optional(Some(value)) if entry.is_optional => builder.put(key, (*value).clone()),
            Val::Optional(None) if entry.is_optional => {
                builder.remove(&key);
                Ok(())
            }
            value if entry.is_optional => Err(EvalError::new(format!(
                "cannot initialize optional entry '{key}' from non-optional value {value}"
            ))),
            value => builder.put(key, value),
        }
    }

    fn message(&mut self, message: &'p MessageNode) -> Outcome<'a> {
        let fields = self.fields(&message.fields);
        if let Err(why) = &fields
            && why.is_final()
        {
            return Err(why.clone());
        }
        self.charge(STRUCT_COST)?;
        make(&message.name, &fields?)
    }

    fn fields(&mut self, fields: &'p [FieldNode]) -> Result<Vec<(&'p str, Val<'a>)>, EvalError> {
        let mut found: Vec<(&'p str, Val<'a>)> = Vec::with_capacity(fields.len());
        for field in fields {
            match self.eval(&field.value)? {
                Val::Optional(Some(value)) if field.is_optional => {
                    found.push((&field.name, (*value).clone()));
                }
                Val::Optional(None) if field.is_optional => found.retain(|(name, _)| **name != *field.name),
                value if field.is_optional => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional entry '{}' from non-optional value {value}",
                        field.name
                    )));
                }
                value => found.push((&field.name, value)),
            }
        }
        Ok(found)
    }

    fn append(&mut self, element: &'p Node, place: usize, is_const: bool) -> Outcome<'a> {
        self.charge(1)?;
        let element = self.eval(element);
        if element.as_ref().is_err_and(EvalError::is_final) {
            return element;
        }
        // Of the list that is made for the element, and of the addition.
        self.charge(if is_const { 1 } else { LIST_COST + 1 })?;
        let list = self.local(place);
        // Nobody else holds the accumulator while the step is evaluated, so that it need not be copied.
        if let Some(slot) = self.locals.get_mut(place) {
            *slot = Slot::Value(Ok(Val::Null));
        }
        match (list?, element?) {
            (Val::List(list), element) => Ok(Val::List(list.push(element))),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    fn fold(&mut self, fold: &'p FoldNode) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        let base = self.locals.len();
        self.locals.push(match &fold.init {
            Node::Const(value) => Slot::Value(Ok(value.clone())),
            init => Slot::Pending(init),
        });
        let outcome = self.fold_over(fold, range, base);
        self.locals.truncate(base);
        outcome
    }

    fn fold_over(&mut self, fold: &'p FoldNode, range: Val<'a>, base: usize) -> Outcome<'a> {
        match range {
            Val::List(list) => {
                for at in 0..list.len() {
                    let item = list.get(at).unwrap_or(Ok(Val::Null));
                    let goes_on = if fold.has_two {
                        let index = Val::Int(i64::try_from(at).unwrap_or(i64::MAX));
                        self.iterate(fold, base, Ok(index), Some(item))?
                    } else {
                        self.iterate(fold, base, item, None)?
                    };
                    if !goes_on {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for key in map.keys() {
                    let value = if fold.has_two { map.find(&key) } else { None };
                    if !self.iterate(fold, base, Ok(key), value)? {
                        break;
                    }
                }
            }
            other if fold.has_two => {
                let name = go_type(&other);
                return Err(EvalError::new(format!("unsupported comprehension range type: {name}")));
            }
            other => {
                let name = go_type(&other);
                return Err(EvalError::new(format!("got '{name}', expected iterable type")));
            }
        }
        self.locals.truncate(base + 1);
        self.eval(&fold.result)
    }

    /// One turn of the loop; false if it ends here.
    fn iterate(
        &mut self,
        fold: &'p FoldNode,
        base: usize,
        first: Outcome<'a>,
        second: Option<Outcome<'a>>,
    ) -> Result<bool, EvalError> {
        self.locals.truncate(base + 1);
        self.locals.push(Slot::Value(first));
        if let Some(second) = second {
            self.locals.push(Slot::Value(second));
        }
        if let Some(condition) = &fold.condition {
            match self.eval(condition) {
                Ok(Val::Bool(false)) => return Ok(false),
                Err(why) if why.is_final() => return Err(why),
                // Anything else goes on.
                _ => {}
            }
        }
        let step = self.eval(&fold.step);
        if let Some(why) = step.as_ref().err().filter(|why| why.is_final()) {
            return Err(why.clone());
        }
        if let Some(slot) = self.locals.get_mut(base) {
            *slot = Slot::Value(step);
        }
        Ok(true)
    }
}

/// Says which function has no overload for these arguments.
pub(crate) fn named(why: EvalError, name: &str, args: &[Val<'_>]) -> EvalError {
    if why != EvalError::NoSuchOverload {
        return why;
    }
    if name.starts_with(['_', '!', '-', '@']) {
        // Operators are named where the first operand has nothing of the kind at all.
        let lacks_operator = match (name, args) {
            ("_<_" | "_<=_" | "_>_" | "_>=_" | "_+_" | "_-_" | "_*_" | "_/_" | "_%_" | "-_", [first, ..]) => {
                matches!(first, Val::Null | Val::Map(_) | Val::Type(_) | Val::Optional(_) | Val::Opaque(_))
                    || (matches!(first, Val::List(_)) && name != "_+_")
            }
            _ => false,
        };
        return if lacks_operator { EvalError::new(format!("no such overload: {name}")) } else { why };
    }
    // What `containsIP` says of a text that is no address.
    if matches!((name, args), ("containsIP", [_, Val::String(_)])) {
        return why;
    }
    match name {
        "contains" | "startsWith" | "endsWith" | "matches" => return why,
        // Functions with one body for all overloads do not tell the types.
        "size" | "sort" => return EvalError::new(format!("no such overload: {name}")),
        _ => {}
    }
    let types: Vec<&str> = args.iter().map(Val::type_name).collect();
    EvalError::new(format!("no such overload: {name}({})", types.join(", ")))
}

/// Whether a value can be looked up in lists and maps.
pub(crate) fn check_qualifier(key: &Val<'_>) -> Result<(), EvalError> {
    match key {
        Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_) => Ok(()),
        other => Err(EvalError::new(format!("invalid qualifier type: {}", go_type(other)))),
    }
}

/// What upstream calls the type of a value.
fn go_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Null => "types.Null",
        Val::Bool(_) => "types.Bool",
        Val::Int(_) => "types.Int",
        Val::Uint(_) => "types.Uint",
        Val::Double(_) => "types.Double",
        Val::String(_) => "types.String",
        Val::Bytes(_) => "types.Bytes",
        Val::Timestamp(_) => "types.Timestamp",
        Val::Duration(_) => "types.Duration",
        Val::Type(_) => "*types.Type",
        Val::Optional(_) => "*types.Optional",
        Val::List(list) if list.is_declared() => "*common.unstructuredList",
        Val::List(_) => "*types.baseList",
        Val::Map(map) if map.is_declared() => "*common.unstructuredMap",
        Val::Map(_) => "*types.baseMap",
        Val::Opaque(_) | Val::Preserved(_) | Val::Wrong(_) => "ref.Val",
    }
}

/// A part of a value, which may not be of its declared type. `None` if it is not there and that is no error.
fn qualify<'a>(value: &Val<'a>, key: &Val<'a>, may_miss: bool) -> Result<Option<Outcome<'a>>, EvalError> {
    match value {
        Val::Map(map) => match map.find(key) {
            // Unlike an item of a list, a wrong value of a map is an error at once.
            Some(found) => Ok(Some(Ok(found?))),
            None if may_miss => Ok(None),
            None => Err(EvalError::new(format!("no such key: {key}"))),
        },
        Val::List(list) => item(list, key, may_miss),
        Val::Opaque(_) if value.downcast::<Message>().is_some() => message_field(value, key, may_miss),
        _ if may_miss => Ok(None),
        _ => Err(EvalError::new(format!("no such key: {key}"))),
    }
}

fn message_field<'a>(
    value: &Val<'a>,
    key: &Val<'a>,
    may_miss: bool,
) -> Result<Option<Outcome<'a>>, EvalError> {
    let Some(name) = key.as_str() else { return Err(EvalError::unnamed_overload()) };
    let message = value.downcast::<Message>();
    match message.and_then(|message| message.has(name)) {
        None => Err(EvalError::new(format!("no such field '{name}'"))),
        Some(false) if may_miss => Ok(None),
        Some(_) => Ok(message.and_then(|message| message.field(name)).map(Ok)),
    }
}

fn item<'a>(list: &ListVal<'a>, key: &Val<'a>, may_miss: bool) -> Result<Option<Outcome<'a>>, EvalError> {
    let index = match (key, Key::of(key)) {
        (Val::Int(_) | Val::Uint(_) | Val::Double(_), Some(Key::Int(index))) => index,
        (Val::Uint(_) | Val::Double(_), _) => {
            return Err(EvalError::new(format!("unsupported index value {key} in list")));
        }
        _ => {
            let name = key.type_name();
            return Err(EvalError::new(format!("unsupported index type '{name}' in list")));
        }
    };
    match usize::try_from(index).ok().and_then(|index| list.get(index)) {
        Some(found) => Ok(Some(found)),
        None if may_miss => Ok(None),
        None => Err(EvalError::new(format!("index out of bounds: {key}"))),
    }
}
