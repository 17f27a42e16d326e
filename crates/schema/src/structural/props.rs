//! A look at a `JSONSchemaProps` document with Go's eyes: a field that has its zero value is absent.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// One `JSONSchemaProps`.
#[derive(Clone, Copy)]
pub(crate) struct Props<'a>(pub(crate) &'a Value);

/// `additionalProperties`
pub(crate) enum AdditionalProps<'a> {
    Bool(bool),
    Schema(Props<'a>),
}

impl<'a> Props<'a> {
    pub(crate) fn value(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn has(self, key: &str) -> bool {
        self.value(key).is_some()
    }

    pub(crate) fn text(self, key: &str) -> &'a str {
        self.value(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A string that is not empty.
    pub(crate) fn some_text(self, key: &str) -> Option<&'a str> {
        Some(self.text(key)).filter(|text| !text.is_empty())
    }

    pub(crate) fn flag(self, key: &str) -> bool {
        self.value(key).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn number(self, key: &str) -> Option<f64> {
        self.value(key)?.as_f64()
    }

    pub(crate) fn integer(self, key: &str) -> Option<i64> {
        self.value(key)?.as_i64()
    }

    pub(crate) fn texts(self, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.values(key).iter().map(|value| value.as_str().unwrap_or_default())
    }

    pub(crate) fn values(self, key: &str) -> &'a [Value] {
        self.value(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn list(self, key: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.values(key).iter().map(Props)
    }

    pub(crate) fn child(self, key: &str) -> Option<Self> {
        self.value(key).filter(|value| value.as_object().is_some()).map(Props)
    }

    pub(crate) fn map(self, key: &str) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        self.value(key)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::iter)
            .map(|(name, value)| (name, Props(value)))
    }

    pub(crate) fn property(self, name: &str) -> Option<Self> {
        self.child("properties")?.0.get(name).map(Props)
    }

    pub(crate) fn properties(self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        self.map("properties")
    }

    pub(crate) fn has_properties(self) -> bool {
        self.properties().next().is_some()
    }

    /// `items`, when it is one schema.
    pub(crate) fn items(self) -> Option<Self> {
        self.child("items")
    }

    pub(crate) fn additional(self) -> Option<AdditionalProps<'a>> {
        match self.value("additionalProperties")? {
            Value::Bool(allowed) => Some(AdditionalProps::Bool(*allowed)),
            schema => Some(AdditionalProps::Schema(Props(schema))),
        }
    }

    pub(crate) fn additional_schema(self) -> Option<Self> {
        match self.additional()? {
            AdditionalProps::Bool(_) => None,
            AdditionalProps::Schema(schema) => Some(schema),
        }
    }

    pub(crate) fn preserves_unknown(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    pub(crate) fn is_embedded(self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    pub(crate) fn is_int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string")
    }

    /// Whether this is one of the two ways to write down int-or-string with `anyOf`.
    pub(crate) fn spells_int_or_string(self) -> bool {
        let is_only = |schema: &Value, kind: &str| {
            schema.as_object().is_some_and(|fields| fields.len() == 1)
                && schema.get("type").and_then(Value::as_str) == Some(kind)
        };
        matches!(self.values("anyOf"), [one, two] if is_only(one, "integer") && is_only(two, "string"))
    }

    /// Whether `test` holds for this node or any below it.
    pub(crate) fn any(self, test: &mut impl FnMut(Self) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|child| deeper(|| child.any(test)))
    }

    /// Whether nodes stand in nodes for more than so many levels.
    pub(crate) fn is_deeper_than(self, levels: usize) -> bool {
        let Some(below) = levels.checked_sub(1) else { return true };
        self.children().into_iter().any(|child| deeper(|| child.is_deeper_than(below)))
    }

    /// The nodes right below this one.
    fn children(self) -> Vec<Self> {
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| self.list(key));
        let ones = [self.items(), self.child("not"), self.additional_schema()].into_iter().flatten();
        lists.chain(ones).chain(self.properties().map(|(_, child)| child)).collect()
    }
}
