//! Declared types: what the checker knows of a variable, how a document of that type is read, and how large it may
//! grow. Source: `k8s.io/apiserver/pkg/cel/types.go`.

use pilothouse_value::stack::deeper;
use std::sync::Arc;

use crate::MAX_REQUEST_SIZE_BYTES;
use crate::escape::{escape, unescape};
use crate::library::hosts;
use crate::types::{HostType, Type};

/// The type of a variable or of a part of it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DeclType {
    ty: Type,
    pub(crate) shape: Shape,
    nullable: bool,
    max_elements: i64,
    min_serialized_size: i64,
}

/// How a document of a declared type is read.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Whatever JSON it is.
    Dynamic,
    /// Not seen by expressions; can only be compared.
    Preserved,
    IntOrString,
    Bool,
    Int,
    Double,
    String,
    /// Base64.
    Bytes,
    Duration,
    Date,
    DateTime,
    List(Arc<ListDecl>),
    Map(Arc<DeclType>),
    Object(Arc<ObjectType>),
    /// Not of a document: provided by the host.
    Host,
}

/// A list of a document.
#[derive(Debug)]
pub(crate) struct ListDecl {
    pub(crate) items: DeclType,
    pub(crate) kind: ListKind,
}

/// `x-kubernetes-list-type`: what equality and `+` mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// A plain list.
    #[default]
    Atomic,
    /// The order does not count; `+` is the union.
    Set,
    /// Known by these properties; the order does not count; `+` merges.
    Map(Box<[Box<str>]>),
}

/// A type with fields. Object types are the same when their names are.
#[derive(Debug)]
pub struct ObjectType {
    name: Arc<str>,
    /// In the order of their names in documents.
    fields: Box<[Field]>,
}

/// A field of an [`ObjectType`].
#[derive(Clone, Debug)]
pub struct Field {
    name: Box<str>,
    ident: Option<Box<str>>,
    ty: DeclType,
    is_required: bool,
}

impl Field {
    /// The property in the document.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How expressions spell it; `None` if they cannot.
    pub fn ident(&self) -> Option<&str> {
        self.ident.as_deref()
    }

    /// What it holds.
    pub fn ty(&self) -> &DeclType {
        &self.ty
    }

    /// Whether it is always there.
    pub fn is_required(&self) -> bool {
        self.is_required
    }
}

impl ObjectType {
    /// Its full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All fields, also those that expressions do not see.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field that has this name in the document.
    pub fn property(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok().and_then(|at| self.fields.get(at))
    }

    /// The field that expressions spell like this, if they see it. Words that CEL reserves are found both escaped and
    /// plain.
    pub fn field(&self, ident: &str) -> Option<&Field> {
        let find = |name: &str| self.property(name).filter(|field| field.ty.is_exposed());
        if let Some(field) = find(ident).filter(|field| field.ident() == Some(ident)) {
            return Some(field);
        }
        let name = unescape(ident)?;
        let found = find(&name)?;
        let is_spelled = found.ident() == Some(ident) || crate::escape::RESERVED.contains(&ident);
        is_spelled.then_some(found)
    }
}

/// Collects the fields of an object type.
#[derive(Debug)]
pub struct ObjectBuilder {
    name: Arc<str>,
    fields: Vec<Field>,
    min_serialized_size: i64,
}

impl ObjectBuilder {
    /// Adds a field that has no default value. A second one of the same name replaces the first.
    #[must_use]
    pub fn field(self, name: &str, ty: DeclType, is_required: bool) -> Self {
        self.add(name, ty, is_required, is_required)
    }

    /// Adds a field that has a default value: required or not, it need not be sent.
    #[must_use]
    pub fn defaulted_field(self, name: &str, ty: DeclType, is_required: bool) -> Self {
        self.add(name, ty, is_required, false)
    }

    fn add(mut self, name: &str, ty: DeclType, is_required: bool, is_sent: bool) -> Self {
        if is_sent && ty.is_exposed() {
            let length = i64::try_from(name.len()).unwrap_or(i64::MAX);
            self.min_serialized_size =
                self.min_serialized_size.saturating_add(length).saturating_add(ty.min_serialized_size + 4);
        }
        let ident = escape(name).map(|ident| ident.into());
        self.fields.push(Field { name: name.into(), ident, ty, is_required });
        self
    }

    /// Adds a field that is always there and that expressions spell as it is named, whatever that means elsewhere.
    #[must_use]
    pub fn plain_field(mut self, name: &str, ty: DeclType) -> Self {
        self.fields.push(Field { name: name.into(), ident: Some(name.into()), ty, is_required: true });
        self
    }

    /// The finished type.
    pub fn build(mut self) -> DeclType {
        // Stable: of two with the same name the one that came last is kept.
        self.fields.reverse();
        self.fields.sort_by(|a, b| a.name.cmp(&b.name));
        self.fields.dedup_by(|b, a| a.name == b.name);
        let object = Arc::new(ObjectType { name: self.name, fields: self.fields.into() });
        DeclType {
            ty: Type::Object(Arc::clone(&object)),
            shape: Shape::Object(object),
            nullable: false,
            max_elements: 0,
            min_serialized_size: self.min_serialized_size,
        }
    }
}

impl DeclType {
    const fn new(ty: Type, shape: Shape, max_elements: i64, min_serialized_size: i64) -> Self {
        Self { ty, shape, nullable: false, max_elements, min_serialized_size }
    }

    /// `type: boolean`.
    pub const fn bool() -> Self {
        Self::new(Type::Bool, Shape::Bool, 0, 4)
    }

    /// `type: integer`.
    pub const fn int() -> Self {
        Self::new(Type::Int, Shape::Int, 0, 1)
    }

    /// `type: number`.
    pub const fn double() -> Self {
        Self::new(Type::Double, Shape::Double, 0, 1)
    }

    /// `type: string` of at most so many bytes; without a bound, as many as fit in a request. (`maxLength` counts code
    /// points: Kubernetes passes four times that number.)
    pub fn string(max_bytes: Option<i64>) -> Self {
        Self::new(Type::String, Shape::String, max_bytes.unwrap_or(MAX_REQUEST_SIZE_BYTES - 2).max(0), 2)
    }

    /// `type: string, format: byte` of at most so many bytes.
    pub fn bytes(max_bytes: Option<i64>) -> Self {
        Self::new(Type::Bytes, Shape::Bytes, max_bytes.unwrap_or(MAX_REQUEST_SIZE_BYTES - 2).max(0), 2)
    }

    /// `type: string, format: duration`.
    pub const fn duration() -> Self {
        Self::new(Type::Duration, Shape::Duration, 32, 3)
    }

    /// `type: string, format: date`.
    pub const fn date() -> Self {
        Self::new(Type::Timestamp, Shape::Date, 12, 12)
    }

    /// `type: string, format: date-time`.
    pub const fn date_time() -> Self {
        Self::new(Type::Timestamp, Shape::DateTime, 32, 21)
    }

    /// `x-kubernetes-int-or-string`, the string of at most so many bytes.
    pub fn int_or_string(max_bytes: Option<i64>) -> Self {
        Self::new(Type::Dyn, Shape::IntOrString, max_bytes.unwrap_or(MAX_REQUEST_SIZE_BYTES - 2).max(0), 1)
    }

    /// Anything, read as it comes.
    pub const fn dynamic() -> Self {
        Self::new(Type::Dyn, Shape::Dynamic, 0, 1)
    }

    /// What an expression comes to: of this type to the checker, and read as it comes.
    pub const fn of_type(ty: Type) -> Self {
        Self::new(ty, Shape::Dynamic, 0, 1)
    }

    /// Data of which no schema is known (`x-kubernetes-preserve-unknown-fields` without a type): expressions do not
    /// see it, but it counts when what holds it is compared.
    pub const fn preserved() -> Self {
        Self::new(Type::Dyn, Shape::Preserved, 0, 1)
    }

    /// `type: array` of at most so many items; without a bound, as many as fit in a request.
    pub fn list(items: DeclType, max_items: Option<i64>, kind: ListKind) -> Self {
        let max = max_items.unwrap_or_else(|| {
            (MAX_REQUEST_SIZE_BYTES - 2) / items.min_serialized_size.saturating_add(1).max(1)
        });
        let ty = Type::list(items.ty.clone());
        Self::new(ty, Shape::List(Arc::new(ListDecl { items, kind })), max.max(0), 2)
    }

    /// `type: object` with `additionalProperties`, at most so many; without a bound, as many as fit in a request.
    pub fn map(values: DeclType, max_properties: Option<i64>) -> Self {
        let max = max_properties.unwrap_or_else(|| {
            (MAX_REQUEST_SIZE_BYTES - 2) / values.min_serialized_size.saturating_add(6).max(1)
        });
        let ty = Type::map(Type::String, values.ty.clone());
        Self::new(ty, Shape::Map(Arc::new(values)), max.max(0), 2)
    }

    /// `type: object` with properties.
    pub fn object(name: &str) -> ObjectBuilder {
        ObjectBuilder { name: name.into(), fields: Vec::new(), min_serialized_size: 2 }
    }

    /// A variable that may have no value, such as `oldSelf` with `optionalOldSelf`.
    pub fn optional(inner: DeclType) -> Self {
        Self::new(Type::optional(inner.ty), Shape::Host, inner.max_elements, inner.min_serialized_size)
    }

    /// A variable that the host provides, for example `authorizer`.
    pub const fn host(host: HostType) -> Self {
        Self::new(Type::Host(host), Shape::Host, 0, 1)
    }

    /// The variable `authorizer`.
    pub const fn authorizer() -> Self {
        Self::host(hosts::AUTHORIZER)
    }

    /// The variable `authorizer.requestResource`.
    pub const fn request_resource() -> Self {
        Self::host(hosts::RESOURCE_CHECK)
    }

    /// The same type with `nullable` set or not.
    #[must_use]
    pub fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// The type of expressions that have this value.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Whether null is a value of this type.
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// Greatest size: items of a list, entries of a map, bytes of a string; 0 of what has no size.
    pub fn max_elements(&self) -> i64 {
        self.max_elements
    }

    /// Bytes that the smallest value takes in JSON.
    pub fn min_serialized_size(&self) -> i64 {
        self.min_serialized_size
    }

    /// Whether expressions see values of this type. A list or map of what they do not see is not seen either.
    pub fn is_exposed(&self) -> bool {
        match &self.shape {
            Shape::Preserved => false,
            Shape::List(list) => list.items.is_exposed(),
            Shape::Map(values) => values.is_exposed(),
            _ => true,
        }
    }

    /// The type of the items of a list or of the values of a map.
    pub fn elements(&self) -> Option<&DeclType> {
        match &self.shape {
            Shape::List(list) => Some(&list.items),
            Shape::Map(values) => Some(values),
            _ => None,
        }
    }

    /// The fields of an object.
    pub fn as_object(&self) -> Option<&Arc<ObjectType>> {
        if let Shape::Object(object) = &self.shape { Some(object) } else { None }
    }

    /// Gives object types that are called `object` a name by where they are: `root.field`, `root.@idx`, `root.@elem`.
    #[must_use]
    pub fn assign_names(&self, root: &str) -> Self {
        deeper(|| self.named(root))
    }

    fn named(&self, root: &str) -> Self {
        let mut named = self.clone();
        match &self.shape {
            Shape::Object(object) => {
                let name = if object.name() == "object" { root } else { object.name() };
                let rename = |field: &Field| Field {
                    ty: field.ty.assign_names(&format!("{name}.{}", field.ident().unwrap_or(&field.name))),
                    ..field.clone()
                };
                let fields = object.fields.iter().map(rename).collect();
                let object = Arc::new(ObjectType { name: name.into(), fields });
                named.ty = Type::Object(Arc::clone(&object));
                named.shape = Shape::Object(object);
            }
            Shape::List(list) => {
                let items = list.items.assign_names(&format!("{root}.@idx"));
                named.ty = Type::list(items.ty.clone());
                named.shape = Shape::List(Arc::new(ListDecl { items, kind: list.kind.clone() }));
            }
            Shape::Map(values) => {
                let values = values.assign_names(&format!("{root}.@elem"));
                named.ty = Type::map(Type::String, values.ty.clone());
                named.shape = Shape::Map(Arc::new(values));
            }
            _ => {}
        }
        named
    }
}
