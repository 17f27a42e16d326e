//! What is empty, and what is not there: where upstream counts generations, a few kinds are compared as they are in memory,
//! where the two differ. Lists and maps come back from the storage as none, so that an empty one is a change each time it is
//! sent; bytes survive it. Neither is shown, but for empty bytes in protobuf.

use pilothouse_value::{Gvk, Map, Value};

use super::decode::is_omitted;
use super::types::{self, Form, TypeDef};

/// The empty parts of an object that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Empties {
    /// Whether there are lists or maps outside the metadata.
    pub lists: bool,
    /// The places in the list of webhooks of those whose bundle of certificates is there and has no bytes.
    pub bundles: Vec<usize>,
}

/// Whether a kind is compared so (`reflect.DeepEqual` in its strategy upstream).
pub fn tells_empty(gvk: &Gvk) -> bool {
    match gvk.group.as_str() {
        "networking.k8s.io" => gvk.kind == "NetworkPolicy",
        "admissionregistration.k8s.io" => configures_webhooks(&gvk.kind),
        _ => false,
    }
}

fn configures_webhooks(kind: &str) -> bool {
    matches!(kind, "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration")
}

/// Whether a value is a list, a map or bytes without anything in it, rather than a struct.
pub(super) fn is_empty(form: &Form, value: &Value) -> bool {
    match (form, value) {
        (Form::List(_) | Form::WrappedList(_), Value::Array(items)) => items.is_empty(),
        (Form::Map(_), Value::Object(map)) => map.is_empty(),
        (Form::Bytes, Value::String(text)) => text.is_empty(),
        _ => false,
    }
}

/// Takes what is empty out of an object of such a kind, as no JSON shows it.
pub fn take_empties(gvk: &Gvk, object: &mut Value) -> Empties {
    let mut found = Empties { lists: false, bundles: bundles(object) };
    if let (Some(def), Value::Object(map)) = (types::kind(gvk), object) {
        in_struct(def, map, &mut found.lists);
    }
    found
}

/// The places of webhooks with an empty bundle.
pub fn bundles(object: &Value) -> Vec<usize> {
    let hooks = object.items_at(&["webhooks"]).iter().enumerate();
    let empty = |(_, hook): &(usize, &Value)| hook.str_at(&["clientConfig", "caBundle"]) == Some("");
    hooks.filter(empty).map(|(at, _)| at).collect()
}

/// Puts empty bundles back, for the storage.
pub fn put_bundles(object: &mut Value, bundles: &[usize]) {
    let Some(hooks) = object.at_mut(&["webhooks"]).and_then(Value::as_array_mut) else { return };
    for at in bundles {
        if let Some(hook) = hooks.get_mut(*at) {
            hook.set(&["clientConfig", "caBundle"], "");
        }
    }
}

fn in_struct(def: &'static TypeDef, map: &mut Map, found: &mut bool) {
    map.retain(|name, value| {
        let Some(field) = def.field(name) else { return true };
        let mut inside = false;
        within(&field.form, value, &mut inside);
        let empty = is_empty(&field.form, value);
        *found |= name != "metadata" && (inside || (empty && field.form != Form::Bytes));
        !empty || !is_omitted(field, value)
    });
}

fn within(form: &Form, value: &mut Value, found: &mut bool) {
    match (form, value) {
        (Form::List(item) | Form::WrappedList(item), Value::Array(items)) => {
            items.iter_mut().for_each(|value| within(item, value, found));
        }
        (Form::Map(item), Value::Object(map)) => {
            map.values_mut().for_each(|value| within(item, value, found));
        }
        (Form::Ref(id), Value::Object(map)) => in_struct(id.def(), map, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn what_is_empty_is_told_and_taken() {
        let gvk = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
        let take = |mut object: Value| {
            super::super::decode(&gvk, &mut object).unwrap();
            let found = take_empties(&gvk, &mut object);
            (object, found.lists)
        };
        let plain = json!({"metadata": {"name": "a"}, "spec": {"podSelector": {}}});
        let of = |spec: Value| json!({"metadata": {"name": "a", "labels": {}}, "spec": spec});
        assert_eq!(take(of(json!({"podSelector": {}}))), (plain.clone(), false));
        assert_eq!(take(of(json!({"podSelector": {}, "ingress": []}))), (plain.clone(), true));
        assert_eq!(take(of(json!({"podSelector": {"matchLabels": {}}}))), (plain.clone(), true));
        assert_eq!(take(of(json!({"podSelector": {}, "egress": null}))), (plain, false));
    }

    #[test]
    fn an_empty_bundle_is_put_back_where_it_was() {
        let gvk = Gvk::new("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
        let hook = |bundle: Value| {
            json!({"name": "a", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://a", "caBundle": bundle}})
        };
        let mut object = json!({"webhooks": [hook(Value::Null), hook("".into()), hook("YQ==".into())]});
        super::super::decode(&gvk, &mut object).unwrap();
        let found = take_empties(&gvk, &mut object);
        assert_eq!(found, Empties { lists: false, bundles: vec![1] });
        assert!(bundles(&object).is_empty());
        put_bundles(&mut object, &found.bundles);
        assert_eq!(bundles(&object), [1]);
    }
}
