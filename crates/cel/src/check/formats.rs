//! Calls of `format` whose template is written down: each clause is checked against the type of its argument.
//! Source: cel-go `ext/formatting.go`.

use crate::ast::{Call, Expr, Id, Kind, Literal};
use crate::check::Checked;
use crate::library::printf::{Clause, Template, string_error, type_error};
use crate::types::Type;

/// What is wrong with a call of `format`, and at which node.
pub(super) fn check(id: Id, call: &Call, checked: &Checked) -> Option<(Id, String)> {
    let Some(Expr { kind: Kind::Literal(Literal::String(template)), .. }) = &call.target else { return None };
    let [Expr { kind: Kind::List(list), .. }] = call.args.as_slice() else { return None };
    let mut used = 0;
    let mut template = Template::new(template);
    loop {
        let has_more = |at: usize| at < list.elements.len();
        match template.next_clause(used, has_more) {
            Err(why) => return Some((id, why)),
            Ok(None) => break,
            Ok(Some(Clause { kind, .. })) => {
                let arg = list.elements.get(used)?;
                used += 1;
                if let Some((at, why)) = mismatch(kind, arg, checked) {
                    return Some((at, format!("error during formatting: {why}")));
                }
            }
        }
    }
    let given = list.elements.len();
    (given > used)
        .then(|| (id, format!("too many arguments supplied to string.format (expected {used}, got {given})")))
}

fn mismatch(kind: char, arg: &Expr, checked: &Checked) -> Option<(Id, String)> {
    let ty = checked.ty(arg.id).unwrapped();
    if matches!(ty, Type::Dyn) {
        return None;
    }
    let fits = match kind {
        's' => return text_mismatch(arg, checked),
        'd' | 'o' => matches!(ty, Type::Int | Type::Uint),
        // Numbers that have no literal are given as strings.
        'f' | 'e' => matches!(ty, Type::Double | Type::String),
        'b' => matches!(ty, Type::Int | Type::Uint | Type::Bool),
        _ => matches!(ty, Type::Int | Type::Uint | Type::String | Type::Bytes),
    };
    (!fits).then(|| (arg.id, type_error(kind, ty.name())))
}

/// The first part of a value that cannot be written as text.
fn text_mismatch(arg: &Expr, checked: &Checked) -> Option<(Id, String)> {
    let ty = checked.ty(arg.id);
    let fits = !matches!(
        ty,
        Type::Host(_) | Type::Object(_) | Type::Patch(_) | Type::Unspecified | Type::Optional(_) | Type::Any
    );
    if !fits {
        return Some((arg.id, string_error(ty.name())));
    }
    match &arg.kind {
        Kind::List(list) => list.elements.iter().find_map(|element| text_mismatch(element, checked)),
        Kind::Map(entries) => entries.iter().find_map(|entry| {
            text_mismatch(&entry.key, checked).or_else(|| text_mismatch(&entry.value, checked))
        }),
        _ => None,
    }
}
