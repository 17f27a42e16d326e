//! Types as structured-merge-diff's own schemas describe them.

use pilothouse_merge::typed::{Atom, Keys, List, MapType, Relationship, Scalar, Type};
use pilothouse_value::{Map, Value};
use std::borrow::Cow;

/// A schema: types by name.
pub(crate) struct Schema {
    types: Vec<(String, Spec)>,
}

/// A type, or a reference to one.
#[derive(Default)]
pub(crate) struct Spec {
    name: Option<String>,
    relationship: Option<String>,
    scalar: Option<Scalar>,
    list: Option<Box<ListSpec>>,
    map: Option<Box<MapSpec>>,
}

struct ListSpec {
    relationship: String,
    keys: Vec<Cow<'static, str>>,
    items: Spec,
}

struct MapSpec {
    relationship: String,
    fields: Vec<(String, Spec, Option<Value>)>,
    element: Spec,
}

fn text(value: &Value, key: &str) -> String {
    value.str_at(&[key]).unwrap_or_default().to_owned()
}

impl Schema {
    pub(crate) fn parse(value: &Value) -> Self {
        let types = value.items_at(&["types"]);
        Self { types: types.iter().map(|ty| (text(ty, "name"), Spec::parse(Some(ty)))).collect() }
    }
}

impl Spec {
    pub(crate) fn parse(value: Option<&Value>) -> Self {
        let Some(value) = value else { return Self::default() };
        let scalar = value.str_at(&["scalar"]).map(|name| match name {
            "numeric" => Scalar::Numeric,
            "string" => Scalar::String,
            "boolean" => Scalar::Boolean,
            _ => Scalar::Untyped,
        });
        let list = value.get("list").map(|list| {
            Box::new(ListSpec {
                relationship: text(list, "elementRelationship"),
                keys: list
                    .items_at(&["keys"])
                    .iter()
                    .filter_map(|key| key.as_str().map(|key| key.to_owned().into()))
                    .collect(),
                items: Spec::parse(list.get("elementType")),
            })
        });
        let map = value.get("map").map(|map| {
            let field = |field: &Value| {
                let default = field.get("default").filter(|default| !default.is_null()).cloned();
                (text(field, "name"), Spec::parse(field.get("type")), default)
            };
            Box::new(MapSpec {
                relationship: text(map, "elementRelationship"),
                fields: map.items_at(&["fields"]).iter().map(field).collect(),
                element: Spec::parse(map.get("elementType")),
            })
        });
        Self {
            name: value.str_at(&["namedType"]).map(str::to_owned),
            relationship: value.str_at(&["elementRelationship"]).map(str::to_owned),
            scalar,
            list,
            map,
        }
    }

    fn is_empty(&self) -> bool {
        self.name.is_none() && self.scalar.is_none() && self.list.is_none() && self.map.is_none()
    }
}

/// A type in its schema.
#[derive(Clone, Copy)]
pub(crate) struct Ref<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) spec: &'s Spec,
}

impl<'s> Ref<'s> {
    fn to(self, spec: &'s Spec) -> Option<Self> {
        (!spec.is_empty()).then_some(Self { spec, ..self })
    }

    fn resolved(self) -> Result<&'s Spec, String> {
        match &self.spec.name {
            None => Ok(self.spec),
            Some(name) => {
                let found = self.schema.types.iter().find(|(known, _)| known == name);
                found
                    .map(|(_, spec)| spec)
                    .ok_or_else(|| format!("schema error: no type found matching: {name}"))
            }
        }
    }

    fn map(self) -> Option<&'s MapSpec> {
        self.resolved().ok()?.map.as_deref()
    }
}

impl<'s> Type<'s> for Ref<'s> {
    fn atom(self) -> Result<Atom<'s, Self>, String> {
        let spec = self.resolved()?;
        let said = self.spec.relationship.as_deref();
        if said.is_some() && spec.map.is_none() && spec.list.is_none() {
            let name = self.spec.name.as_deref().unwrap_or("inlined type");
            return Err(format!("schema error: no type found matching: {name}"));
        }
        let list = spec.list.as_deref().map(|list| List {
            // What a reference says is about the map, if there is one.
            relationship: match said.filter(|_| spec.map.is_none()).unwrap_or(&list.relationship) {
                "atomic" => Relationship::Atomic,
                "associative" => Relationship::Associative,
                _ => Relationship::Unknown,
            },
            keys: Keys::Many(&list.keys),
            items: self.to(&list.items),
        });
        let map = spec.map.as_deref().map(|map| MapType {
            atomic: said.unwrap_or(&map.relationship) == "atomic",
            element: self.to(&map.element),
            deduced: map.fields.is_empty()
                && (map.element.name.as_deref() == Some("__untyped_deduced_")
                    || map.element.name.is_none() && map.element.scalar == Some(Scalar::Untyped)),
        });
        Ok(Atom { scalar: spec.scalar, list, map })
    }

    fn field(self, name: &str) -> Option<Self> {
        let (_, spec, _) = self.map()?.fields.iter().find(|(known, ..)| known == name)?;
        Some(Self { spec, ..self })
    }

    fn default(self, name: &str) -> Option<&'s Value> {
        let (.., default) = self.map()?.fields.iter().find(|(known, ..)| known == name)?;
        default.as_ref()
    }

    fn has_fields(self) -> bool {
        self.map().is_some_and(|map| !map.fields.is_empty())
    }

    fn name(self) -> Option<&'s str> {
        self.spec.name.as_deref()
    }
}

/// Objects by name, for the places that want one.
pub(crate) fn fields(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
