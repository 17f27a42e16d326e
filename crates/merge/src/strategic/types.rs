//! What Go's types say of patches, found in the schemas that were made of them.

use crate::PatchError;
use pilothouse_schema::{Additional, Child, Schema, Type};

/// A type, with the name that messages give it.
#[derive(Clone, Copy)]
pub(super) struct Typed<'s> {
    schema: &'s Schema,
    name: &'s str,
}

/// How a field is patched.
#[derive(Clone, Copy)]
pub(super) struct Field<'s> {
    /// The type of the field, or of the items of a list.
    pub(super) ty: Typed<'s>,
    pub(super) merge_key: Option<&'s str>,
    strategy: &'s str,
}

impl Field<'_> {
    /// Whether a list is merged item by item.
    pub(super) fn merges(&self) -> bool {
        self.strategy == "merge"
    }

    /// Whether an object takes the place of the one that is there.
    pub(super) fn replaces(&self) -> bool {
        self.strategy == "replace"
    }
}

impl<'s> Typed<'s> {
    pub(super) fn root(schema: &'s Schema, name: &'s str) -> Self {
        Self { schema, name }
    }

    fn of(child: &'s Child) -> Self {
        // `apps.v1.Deployment` is `Deployment` to Go.
        let name = child.name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
        Self { schema: child.get(), name }
    }

    /// What kind of type this is to Go.
    pub(super) fn kind(self) -> &'s str {
        match (self.schema.kind(), self.schema.additional()) {
            (Some(Type::Object), Some(Additional::Schema(_))) => "map",
            (Some(Type::Object) | None, _) => "struct",
            (Some(Type::Array), _) => "slice",
            (Some(Type::String), _) => "string",
            (Some(Type::Boolean), _) => "bool",
            (Some(Type::Integer), _) => self.schema.format().unwrap_or("int64"),
            (Some(Type::Number), _) => "float64",
        }
    }

    /// The field of an object.
    pub(super) fn field(self, name: &str) -> Result<Field<'s>, PatchError> {
        let kind = self.kind();
        if kind != "struct" {
            return Err(PatchError::Unsupported(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )));
        }
        let Some(child) = self.schema.properties().child(name) else {
            return Err(PatchError::Unsupported(format!(
                "unable to find api field in struct {} for the json field {}",
                self.name,
                pilothouse_value::field::quote(name)
            )));
        };
        let schema = child.get();
        let mut strategies = schema.patch_strategies().iter().copied();
        let strategy = strategies.find(|strategy| *strategy != "retainKeys").unwrap_or_default();
        Ok(Field { ty: Typed::of(child), merge_key: schema.patch_merge_key(), strategy })
    }

    /// The field of an object that is a list; its type is that of the items.
    pub(super) fn list_field(self, name: &str) -> Result<Field<'s>, PatchError> {
        let field = self.field(name)?;
        match &field.ty.schema.items {
            Some(items) => Ok(Field { ty: Typed::of(items), ..field }),
            // The kind of the struct that has the field, as upstream has it.
            None => Err(PatchError::Unsupported("expected slice or array type, but got: struct".into())),
        }
    }
}
