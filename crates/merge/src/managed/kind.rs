//! What field management has to know of the kind of an object: its type, the fields that its strategy resets, and its
//! other versions.

use super::Manager;
use crate::fieldset::Filter;
use crate::typed::{self, Node, Problems};
use crate::updater::{ConvertError, Converter, Filters, Typed};
use pilothouse_schema::Schema;
use pilothouse_value::{Value, object};
use std::borrow::Cow;

/// A kind in the version of a request.
#[derive(Clone, Copy)]
pub struct Kind<'a> {
    schema: &'a Schema,
    reset: Option<Reset<'a>>,
    versions: &'a dyn Versions,
    pub(super) max_updaters: usize,
}

/// How many update entries an object keeps, if nothing else is said.
const MAX_UPDATERS: usize = 10;

/// The fields that a write cannot set, and that are therefore nobody's.
#[derive(Clone, Copy, Debug)]
pub struct Reset<'a> {
    /// What takes them out.
    pub filter: &'a Filter,
    /// The version in which this is so; in all versions if it is not said.
    pub only_in: Option<&'a str>,
}

/// The other versions of a kind.
pub trait Versions {
    /// The object in another version; `None` if there is no such version of the kind any more.
    ///
    /// # Errors
    /// Why the object is not converted.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String>;

    /// The schema of another version.
    fn schema(&self, api_version: &str) -> Option<&Schema>;
}

/// That there is no other version.
#[derive(Clone, Copy, Debug)]
pub struct NoVersions;

impl Versions for NoVersions {
    fn convert(&self, _: &Value, _: &str) -> Result<Option<Value>, String> {
        Ok(None)
    }

    fn schema(&self, _: &str) -> Option<&Schema> {
        None
    }
}

impl Filters for Kind<'_> {
    fn of(&self, version: &str) -> Option<&Filter> {
        let reset = self.reset.as_ref()?;
        reset.only_in.is_none_or(|only| only == version).then_some(reset.filter)
    }
}

impl<'a> Kind<'a> {
    /// A kind with one version, of which nothing is reset.
    pub fn of(schema: &'a Schema) -> Self {
        Self { schema, reset: None, versions: &NoVersions, max_updaters: MAX_UPDATERS }
    }

    /// The same kind, of which some fields are reset.
    #[must_use]
    pub fn resetting(self, reset: Option<Reset<'a>>) -> Self {
        Self { reset, ..self }
    }

    /// The same kind with its other versions.
    #[must_use]
    pub fn with_versions(self, versions: &'a dyn Versions) -> Self {
        Self { versions, ..self }
    }

    /// The same kind, whose objects keep at most this many entries of updates; older ones become one. Default 10.
    #[must_use]
    pub fn keeping(self, max_updaters: usize) -> Self {
        Self { max_updaters, ..self }
    }

    pub(super) fn node(&self) -> Node<'a> {
        Node::root(self.schema)
    }

    pub(super) fn types<'b>(&self, manager: &Manager<'b>) -> Types<'a, 'b> {
        Types { node: self.node(), version: manager.api_version, versions: self.versions }
    }
}

/// The versions of a kind, for the updater.
pub(super) struct Types<'a, 'b> {
    node: Node<'a>,
    version: &'b str,
    versions: &'a dyn Versions,
}

impl<'a> Types<'a, '_> {
    /// Whether the items of all lists can be told apart, as far as they must; equal ones are allowed.
    pub(super) fn check(&self, document: &Typed<'_, Node<'a>>) -> Result<(), Problems> {
        typed::validate(document.ty, &document.value, true)
    }
}

impl<'a> Converter<'a> for Types<'a, '_> {
    type Type = Node<'a>;

    fn convert<'v>(
        &self,
        document: &'v Typed<'_, Node<'a>>,
        version: &str,
    ) -> Result<Typed<'v, Node<'a>>, ConvertError> {
        let from = object::api_version(&document.value);
        if from == version || (from.is_empty() && version == self.version) {
            return Ok(document.borrowed());
        }
        let converted = if version == self.version && from.is_empty() {
            None
        } else {
            self.versions.convert(&document.value, version).map_err(ConvertError::Failed)?
        };
        let Some(value) = converted else { return Err(ConvertError::NoSuchVersion) };
        let ty = if version == self.version {
            self.node
        } else {
            self.versions.schema(version).map(Node::root).ok_or(ConvertError::NoSuchVersion)?
        };
        let converted = Typed { value: Cow::Owned(value), ty };
        typed::validate(ty, &converted.value, false).map_err(|why| ConvertError::Failed(why.to_string()))?;
        Ok(converted)
    }
}
