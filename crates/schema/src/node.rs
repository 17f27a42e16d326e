//! The schema node: one type for the structural schemas of CustomResourceDefinitions and for the built-in types.
//!
//! A node knows its children inline (a CRD is a tree) or by name (built-in types refer to each other, and
//! `JSONSchemaProps` to itself). A named child is resolved when it is first asked for, so a table costs nothing
//! until a type is used.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use pilothouse_cel::Pattern;

/// Text that is static in built-in tables and owned in schemas that were parsed.
pub type Text = Cow<'static, str>;

/// The `type` of a schema, in the words of OpenAPI v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// `array`
    Array,
    /// `boolean`
    Boolean,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `object`
    Object,
    /// `string`
    String,
}

impl Type {
    /// The word of OpenAPI v3.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }

    /// The type that a word of OpenAPI v3 names, if it names one.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "array" => Self::Array,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "object" => Self::Object,
            "string" => Self::String,
            _ => return None,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the elements of a list belong together (`x-kubernetes-list-type`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ListType {
    /// The list is one value: the default.
    #[default]
    Atomic,
    /// The elements are unique scalars.
    Set,
    /// The elements are objects, told apart by [`Schema::list_map_keys`].
    Map,
}

/// How the fields of an object belong together (`x-kubernetes-map-type`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Each field is a value of its own: the default.
    #[default]
    Granular,
    /// The object is one value.
    Atomic,
}

/// What may stand under keys that are not declared (`additionalProperties`).
#[derive(Debug, Clone)]
pub enum Additional {
    /// `true` or `false`.
    Bool(bool),
    /// Every value follows this schema.
    Schema(Child),
}

impl Additional {
    /// The schema of the values, when there is one.
    pub fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Bool(_) => None,
            Self::Schema(child) => Some(child.get()),
        }
    }

    /// Whether undeclared keys are allowed at all.
    pub fn allows(&self) -> bool {
        match self {
            Self::Bool(allowed) => *allowed,
            Self::Schema(_) => true,
        }
    }
}

/// A child of a schema: inline, or a name that its table resolves.
#[derive(Clone)]
pub enum Child {
    /// A node of the same tree.
    Inline(Arc<Schema>),
    /// A type of a built-in table. `resolve` answers the same node for the same name every time; for a name that
    /// it does not know it answers a node that accepts anything.
    Named {
        /// The name of the type in its table.
        name: &'static str,
        /// Finds the type.
        resolve: fn(&'static str) -> &'static Schema,
    },
}

impl Child {
    /// The node.
    pub fn get(&self) -> &Schema {
        match self {
            Self::Inline(schema) => schema,
            Self::Named { name, resolve } => resolve(name),
        }
    }

    /// The name of the type, for a child that is a built-in type.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::Inline(_) => None,
            Self::Named { name, .. } => Some(name),
        }
    }
}

impl From<Schema> for Child {
    fn from(schema: Schema) -> Self {
        Self::Inline(Arc::new(schema))
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(schema) => schema.fmt(f),
            // Resolving would not end for a type that contains itself.
            Self::Named { name, .. } => write!(f, "Named({name})"),
        }
    }
}

/// The declared fields of an object, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct Properties(Box<[(Text, Child)]>);

impl Properties {
    /// The schema of one field.
    pub fn get(&self, name: &str) -> Option<&Schema> {
        self.child(name).map(Child::get)
    }

    /// The child of one field, unresolved.
    pub fn child(&self, name: &str) -> Option<&Child> {
        let at = self.0.binary_search_by(|(key, _)| key.as_ref().cmp(name)).ok()?;
        self.0.get(at).map(|(_, child)| child)
    }

    /// All fields with their children, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Child)> {
        self.0.iter().map(|(name, child)| (name.as_ref(), child))
    }

    /// How many fields are declared.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no field is declared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Text, Child)> for Properties {
    fn from_iter<I: IntoIterator<Item = (Text, Child)>>(fields: I) -> Self {
        let mut fields: Vec<_> = fields.into_iter().collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        fields.dedup_by(|(a, _), (b, _)| a == b);
        Self(fields.into_boxed_slice())
    }
}

/// A CEL rule (`x-kubernetes-validations`). It is kept and counted; evaluating it is not this file's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub rule: Box<str>,
    /// The text of a failure.
    pub message: Option<Box<str>>,
    /// An expression for the text of a failure.
    pub message_expression: Option<Box<str>>,
    /// The reason of a failure, `FieldValueInvalid` if absent.
    pub reason: Option<Box<str>>,
    /// The field that a failure names, relative to the node.
    pub field_path: Option<Box<str>>,
    /// Whether `oldSelf` is optional, and the rule therefore runs on creation too.
    pub optional_old_self: Option<bool>,
}

/// What a value must satisfy beyond its type (upstream's *value validation*).
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// Greatest number allowed.
    pub maximum: Option<f64>,
    /// Whether `maximum` itself is refused.
    pub exclusive_maximum: bool,
    /// Smallest number allowed.
    pub minimum: Option<f64>,
    /// Whether `minimum` itself is refused.
    pub exclusive_minimum: bool,
    /// The number must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// Greatest length of a string, in characters.
    pub max_length: Option<i64>,
    /// Smallest length of a string, in characters.
    pub min_length: Option<i64>,
    /// A regular expression that a string must contain.
    pub pattern: Option<Pattern>,
    /// Greatest number of elements.
    pub max_items: Option<i64>,
    /// Smallest number of elements.
    pub min_items: Option<i64>,
    /// Whether elements must differ. Structural schemas must not say so; built-in ones may.
    pub unique_items: bool,
    /// Greatest number of fields.
    pub max_properties: Option<i64>,
    /// Smallest number of fields.
    pub min_properties: Option<i64>,
    /// The only values allowed, if any are listed.
    pub enumeration: crate::Enumeration,
    /// All of these must hold.
    pub all_of: Vec<Schema>,
    /// At least one of these must hold.
    pub any_of: Vec<Schema>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Schema>,
    /// This must not hold.
    pub not: Option<Box<Schema>>,
    /// CEL rules.
    pub rules: Vec<Rule>,
}

/// What merging has to know of built-in types beyond their lists and maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patch {
    /// The field that tells the elements of a list apart (`x-kubernetes-patch-merge-key`).
    pub merge_key: Option<&'static str>,
    /// `merge`, `replace`, `retainKeys`, in the order of `x-kubernetes-patch-strategy`.
    pub strategies: &'static [&'static str],
    /// Whether the zero of the type is published as the default, as it is of what Go always writes.
    pub zero: bool,
    /// Whether a scalar of any type is published, as of an amount.
    pub scalar: bool,
}

/// A node of a schema. See the [module](self).
///
/// Fields are public so that tables can be written down as literals (`Schema { kind: …, ..Default::default() }`);
/// readers use the accessors, which resolve named children and absent parts.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `type`; absent for int-or-string and for anything.
    pub kind: Option<Type>,
    /// Whether `null` is a value.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `x-kubernetes-list-type`, absent if not said.
    pub list_type: Option<ListType>,
    /// `x-kubernetes-map-type`, absent if not said.
    pub map_type: Option<MapType>,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Box<[Text]>,
    /// `format`
    pub format: Option<Text>,
    /// `title`
    pub title: Option<Text>,
    /// `description`
    pub description: Option<Text>,
    /// `default`
    pub default: Option<Box<Value>>,
    /// `properties`
    pub properties: Properties,
    /// `required`
    pub required: Box<[Text]>,
    /// `items`
    pub items: Option<Child>,
    /// `additionalProperties`
    pub additional: Option<Additional>,
    /// Everything that few nodes have.
    pub constraints: Option<Box<Constraints>>,
    /// Strategic merge, for built-in types.
    pub patch: Patch,
}

static ANY: LazyLock<Schema> =
    LazyLock::new(|| Schema { nullable: true, preserve_unknown: true, ..Default::default() });

static UNCONSTRAINED: LazyLock<Constraints> = LazyLock::new(Constraints::default);

impl Schema {
    /// The node that accepts anything and removes nothing.
    pub fn any() -> &'static Self {
        &ANY
    }

    /// The schema of a declared field.
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// All declared fields.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// The schema of the elements of a list.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_ref().map(Child::get)
    }

    /// What may stand under undeclared keys.
    pub fn additional(&self) -> Option<&Additional> {
        self.additional.as_ref()
    }

    /// The schema of the value under `key`: the declared field, or else the schema of all other keys.
    pub fn child(&self, key: &str) -> Option<&Self> {
        self.property(key).or_else(|| self.additional.as_ref().and_then(Additional::schema))
    }

    /// `type`
    pub fn kind(&self) -> Option<Type> {
        self.kind
    }

    /// `format`
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// The names of the fields that must be there.
    pub fn required(&self) -> &[Text] {
        &self.required
    }

    /// Whether undeclared fields are kept.
    pub fn preserves_unknown(&self) -> bool {
        self.preserve_unknown
    }

    /// Whether integers and strings are both values.
    pub fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    /// Whether the object carries its own `apiVersion`, `kind` and `metadata`.
    pub fn is_embedded_resource(&self) -> bool {
        self.embedded_resource
    }

    /// Whether `null` is a value.
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// The value that an absent field gets.
    pub fn default(&self) -> Option<&Value> {
        self.default.as_deref()
    }

    /// How the elements of this list belong together.
    pub fn list_type(&self) -> ListType {
        self.list_type.unwrap_or_default()
    }

    /// The fields that tell the elements of a [`ListType::Map`] apart.
    pub fn list_map_keys(&self) -> &[Text] {
        &self.list_map_keys
    }

    /// How the fields of this object belong together.
    pub fn map_type(&self) -> MapType {
        self.map_type.unwrap_or_default()
    }

    /// The field that strategic merge patches tell elements apart by.
    pub fn patch_merge_key(&self) -> Option<&'static str> {
        self.patch.merge_key
    }

    /// The strategies of strategic merge patches.
    pub fn patch_strategies(&self) -> &'static [&'static str] {
        self.patch.strategies
    }

    /// Whether the published default is the zero of the type.
    pub fn is_zero_by_default(&self) -> bool {
        self.patch.zero
    }

    /// Whether this is published as a scalar of any type.
    pub fn is_any_scalar(&self) -> bool {
        self.patch.scalar
    }

    /// `description`
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// What a value must satisfy beyond its type.
    pub fn constraints(&self) -> &Constraints {
        self.constraints.as_deref().unwrap_or_else(|| &UNCONSTRAINED)
    }

    /// Whether anything in this tree has a default. Built-in types that are named are not entered.
    pub fn has_defaults(&self) -> bool {
        let inline = |child: &Child| match child {
            Child::Inline(schema) => deeper(|| schema.has_defaults()),
            Child::Named { .. } => false,
        };
        let additional = match &self.additional {
            Some(Additional::Schema(child)) => inline(child),
            _ => false,
        };
        self.default.is_some()
            || additional
            || self.items.as_ref().is_some_and(inline)
            || self.properties.iter().any(|(_, child)| inline(child))
    }

    /// How many CEL rules stand in this tree. Built-in types that are named are not entered.
    pub fn count_rules(&self) -> usize {
        let constraints = self.constraints();
        let nested = constraints.all_of.iter().chain(&constraints.any_of).chain(&constraints.one_of);
        let additional = match &self.additional {
            Some(Additional::Schema(child)) => Some(child),
            _ => None,
        };
        let children = self.properties.iter().map(|(_, child)| child).chain(&self.items).chain(additional);
        constraints.rules.len()
            + nested.map(|one| deeper(|| one.count_rules())).sum::<usize>()
            + constraints.not.as_ref().map_or(0, |not| deeper(|| not.count_rules()))
            + children
                .map(|child| match child {
                    Child::Inline(schema) => deeper(|| schema.count_rules()),
                    Child::Named { .. } => 0,
                })
                .sum::<usize>()
    }
}
