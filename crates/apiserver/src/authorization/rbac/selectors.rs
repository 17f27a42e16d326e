//! The selectors of a review: which objects of a list or watch are meant. The rules of roles do not look at them, so all
//! there is to do is to say what is wrong with them.

use pilothouse_value::field::{Error, Path};
use pilothouse_value::selector::{FieldSelector, LabelSelector};
use pilothouse_value::{Value, names};

/// Checks the selectors of `spec.resourceAttributes`.
pub(super) fn check(review: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    for kind in ["fieldSelector", "labelSelector"] {
        let Some(selector) = given(review, kind) else { continue };
        let at = Path::new("spec").child("resourceAttributes").child(kind);
        let raw = selector.str_at(&["rawSelector"]).unwrap_or_default();
        let requirements = selector.items_at(&["requirements"]);
        match (raw, requirements) {
            ("", []) => {
                let detail = format!("when {at} is specified, requirements or rawSelector is required");
                errors.push(Error::required(&at.child("requirements"), detail));
            }
            ("", _) | (_, []) => {}
            (raw, _) => {
                let detail = "may not specified at the same time as requirements";
                errors.push(Error::invalid(&at.child("rawSelector"), raw, detail));
            }
        }
        for (index, requirement) in requirements.iter().enumerate() {
            let at = at.child("requirements").index(index);
            check_requirement(requirement, kind == "labelSelector", &at, &mut errors);
        }
    }
    errors
}

fn check_requirement(requirement: &Value, of_labels: bool, at: &Path, errors: &mut Vec<Error>) {
    let key = requirement.str_at(&["key"]).unwrap_or_default();
    if !of_labels && key.is_empty() {
        errors.push(Error::required(&at.child("key"), "must be specified"));
    }
    let values = requirement.items_at(&["values"]);
    match requirement.str_at(&["operator"]).unwrap_or_default() {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(Error::required(&at.child("values"), detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(Error::forbidden(&at.child("values"), detail));
        }
        // Newer clients may know more operators.
        _ => {}
    }
    if !of_labels {
        return;
    }
    for why in names::qualified_name(key) {
        errors.push(Error::invalid(&at.child("key"), key, why));
    }
    for (index, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        for why in names::label_value(value) {
            errors.push(Error::invalid(&at.child("values").index(index), value, why));
        }
    }
}

/// What of the selectors could not be read, in the words of a review's answer; empty if all could.
pub(super) fn evaluation_error(review: &Value) -> String {
    let texts = ["fieldSelector", "labelSelector"].into_iter().filter_map(|kind| {
        let selector = given(review, kind)?;
        let partially = match read(selector, kind) {
            Read::Whole => return None,
            Read::Partly => "partially ",
            Read::Not => "",
        };
        Some(format!("spec.resourceAttributes.{kind} {partially}ignored due to parse error"))
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// A selector as a query has it; what cannot be read is left out.
pub(super) fn text(review: &Value, kind: &str) -> Option<String> {
    let selector = given(review, kind)?;
    let raw = selector.str_at(&["rawSelector"]).unwrap_or_default();
    if !raw.is_empty() {
        return Some(raw.to_owned());
    }
    let of_labels = kind == "labelSelector";
    let terms = selector.items_at(&["requirements"]).iter().filter_map(|requirement| {
        let key = requirement.str_at(&["key"])?;
        let values: Vec<&str> = requirement.items_at(&["values"]).iter().filter_map(Value::as_str).collect();
        Some(match (requirement.str_at(&["operator"])?, values.as_slice()) {
            ("In", [one]) => format!("{key}={one}"),
            ("NotIn", [one]) => format!("{key}!={one}"),
            ("In", many) if of_labels => format!("{key} in ({})", many.join(",")),
            ("NotIn", many) if of_labels => format!("{key} notin ({})", many.join(",")),
            ("Exists", _) if of_labels => key.to_owned(),
            ("DoesNotExist", _) if of_labels => format!("!{key}"),
            _ => return None,
        })
    });
    Some(terms.collect::<Vec<_>>().join(","))
}

/// How much of a selector is understood.
enum Read {
    Whole,
    Partly,
    Not,
}

fn read(selector: &Value, kind: &str) -> Read {
    let raw = selector.str_at(&["rawSelector"]).unwrap_or_default();
    if !raw.is_empty() {
        let good = match kind {
            "fieldSelector" => FieldSelector::parse(raw).is_ok(),
            _ => LabelSelector::parse(raw).is_ok(),
        };
        return if good { Read::Whole } else { Read::Not };
    }
    let requirements = selector.items_at(&["requirements"]);
    let good = requirements.iter().filter(|requirement| {
        let operator = requirement.str_at(&["operator"]).unwrap_or_default();
        match kind {
            // A field is compared with one value, and with nothing else.
            "fieldSelector" => {
                matches!(operator, "In" | "NotIn") && requirement.items_at(&["values"]).len() == 1
            }
            _ => matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist"),
        }
    });
    match good.count() {
        all if all == requirements.len() => Read::Whole,
        0 => Read::Not,
        _ => Read::Partly,
    }
}

fn given<'a>(review: &'a Value, kind: &str) -> Option<&'a Value> {
    review.at(&["spec", "resourceAttributes", kind]).filter(|selector| !selector.is_null())
}
