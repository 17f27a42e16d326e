//! What is refused although its types agree: literals that can never be evaluated, lists of mixed types.
//! Source: cel-go `cel/validator.go`.

use super::Checked;
use crate::ast::{Call, Entry, Expr, Id, Kind, List, Literal};
use crate::error::Issues;
use crate::pattern::Pattern;
use crate::time;
use crate::types::Type;

/// Reports all that is wrong.
pub(super) fn validate(checked: &Checked, offsets: &[u32], issues: &mut Issues) {
    let mut validator = Validator { checked, offsets, issues, formats: 0 };
    validator.visit(&checked.root);
}

struct Validator<'c> {
    checked: &'c Checked,
    offsets: &'c [u32],
    issues: &'c mut Issues,
    /// Calls of `format` that are open: within them, types may be mixed.
    formats: usize,
}

impl Validator<'_> {
    fn report(&mut self, id: Id, message: String) {
        self.issues.report(self.offsets.get(id as usize).copied(), message);
    }

    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(select) => self.visit(&select.operand),
            Kind::Call(call) => {
                self.call(call);
                if &*call.function == "format"
                    && let Some((id, message)) = super::formats::check(expr.id, call, self.checked)
                {
                    self.report(id, message);
                }
                let is_format = usize::from(&*call.function == "format");
                self.formats += is_format;
                call.target.iter().chain(&call.args).for_each(|expr| self.visit(expr));
                self.formats -= is_format;
            }
            Kind::List(list) => {
                if self.formats == 0 {
                    self.list(list);
                }
                list.elements.iter().for_each(|expr| self.visit(expr));
            }
            Kind::Map(entries) => {
                if self.formats == 0 {
                    self.map(entries);
                }
                for entry in entries {
                    self.visit(&entry.key);
                    self.visit(&entry.value);
                }
            }
            Kind::Struct(message) => message.fields.iter().for_each(|field| self.visit(&field.value)),
            Kind::Fold(fold) => {
                for expr in [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result] {
                    self.visit(expr);
                }
            }
        }
    }

    /// Calls whose first argument is a literal that cannot be read.
    fn call(&mut self, call: &Call) {
        let Some(Expr { id, kind: Kind::Literal(literal) }) = call.args.first() else { return };
        let is_wrong = match (&*call.function, literal) {
            ("duration", Literal::String(text)) => time::parse_duration(text).is_err(),
            ("timestamp", Literal::String(text)) => !matches!(time::parse_rfc3339(text), Ok(Some(_))),
            ("timestamp", Literal::Int(seconds)) => time::Timestamp::from_unix(*seconds, 0).is_none(),
            ("matches", Literal::String(pattern)) => Pattern::new(pattern).is_err(),
            _ => false,
        };
        if is_wrong {
            self.report(*id, format!("invalid {} argument", call.function));
        }
    }

    fn mismatch(&mut self, id: Id, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn list(&mut self, list: &List) {
        let checked = self.checked;
        let mut first: Option<&Type> = None;
        for (at, element) in list.elements.iter().enumerate() {
            let ty = inner(checked.ty(element.id), list.optional.contains(&at));
            match first {
                None => first = Some(ty).filter(|ty| super::is_specified(ty)),
                Some(first) if first != ty => return self.mismatch(element.id, first, ty),
                Some(_) => {}
            }
        }
    }

    fn map(&mut self, entries: &[Entry]) {
        let checked = self.checked;
        let mut first: Option<(&Type, &Type)> = None;
        for entry in entries {
            let key = checked.ty(entry.key.id);
            let value = inner(checked.ty(entry.value.id), entry.is_optional);
            let Some((first_key, first_value)) = first else {
                let is_specified = |ty| super::is_specified(ty);
                first = Some((key, value)).filter(|(key, value)| is_specified(key) || is_specified(value));
                continue;
            };
            if first_key != key {
                self.mismatch(entry.key.id, first_key, key);
            }
            if first_value != value {
                self.mismatch(entry.value.id, first_value, value);
            }
        }
    }
}

/// The type of the value that is stored.
fn inner(ty: &Type, is_optional: bool) -> &Type {
    match ty {
        Type::Optional(inner) if is_optional => inner,
        ty => ty,
    }
}
