//! What admission looks at: one operation on one object, as upstream's `admission.Attributes`.

use std::sync::Arc;

use pilothouse_value::{Gvk, Status, Value, object};

use crate::authentication::user::User;
use crate::registry::resource::Resource;
use crate::request::options::{DeleteOptions, WriteOptions};
use crate::state::{Context, State, Target};

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// It is made.
    Create,
    /// It is changed, by whatever verb.
    Update,
    /// It is deleted.
    Delete,
    /// A connection to it is opened.
    Connect,
}

impl Operation {
    /// Its name in rules and reviews.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// The options of the operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Options<'a> {
    /// Of a create, an update or a patch.
    Write(&'a WriteOptions),
    /// Of a deletion.
    Delete(&'a DeleteOptions),
    /// Connections have none.
    None,
}

/// One operation on one object.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    /// The request: its user, and where warnings go.
    pub(crate) context: &'a Context,
    /// The resource, the namespace and the subresource.
    pub(crate) target: &'a Target,
    /// What is done.
    pub(crate) operation: Operation,
    /// The name; empty while it is still to be generated, and when a whole collection is deleted.
    pub(crate) name: String,
    /// The object as it will be; none when it is deleted.
    pub(crate) object: Option<Value>,
    /// The object as it is; none when it is made.
    pub(crate) old: Option<Arc<Value>>,
    /// The options of the operation.
    pub(crate) options: Options<'a>,
}

impl<'a> Attributes<'a> {
    /// An object is made.
    pub(crate) fn create(
        context: &'a Context,
        target: &'a Target,
        object: Value,
        options: &'a WriteOptions,
    ) -> Attributes<'a> {
        let name = if target.name.is_empty() { object::name(&object) } else { &target.name };
        Attributes {
            context,
            target,
            operation: Operation::Create,
            name: name.to_owned(),
            object: Some(object),
            old: None,
            options: Options::Write(options),
        }
    }

    /// An object is changed.
    pub(crate) fn update(
        context: &'a Context,
        target: &'a Target,
        object: Value,
        old: Arc<Value>,
        options: &'a WriteOptions,
    ) -> Attributes<'a> {
        Attributes {
            context,
            target,
            operation: Operation::Update,
            name: target.name.clone(),
            object: Some(object),
            old: Some(old),
            options: Options::Write(options),
        }
    }

    /// An object is deleted.
    pub(crate) fn delete(
        context: &'a Context,
        target: &'a Target,
        old: Arc<Value>,
        options: &'a DeleteOptions,
    ) -> Attributes<'a> {
        Attributes {
            context,
            target,
            operation: Operation::Delete,
            name: target.name.clone(),
            object: None,
            old: Some(old),
            options: Options::Delete(options),
        }
    }

    /// A connection to an object is opened; `options` is the object of the connection's own kind.
    pub(crate) fn connect(context: &'a Context, target: &'a Target, options: Value) -> Attributes<'a> {
        Attributes {
            context,
            target,
            operation: Operation::Connect,
            name: target.name.clone(),
            object: Some(options),
            old: None,
            options: Options::None,
        }
    }

    /// What the whole server shares.
    pub(crate) fn state(&self) -> &'a Arc<State> {
        &self.context.state
    }

    /// Who asks.
    pub(crate) fn user(&self) -> &'a User {
        &self.context.user
    }

    /// The resource.
    pub(crate) fn resource(&self) -> &'a Resource {
        &self.target.resource
    }

    /// The subresource; empty for the object itself.
    pub(crate) fn subresource(&self) -> &'a str {
        self.target.subresource.as_deref().unwrap_or_default()
    }

    /// Whether this is about the built-in resource itself, and not about a subresource of it.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.target.subresource.is_none() && self.resource().is(group, plural)
    }

    /// The namespace; that of a namespace is the namespace itself.
    pub(crate) fn namespace(&self) -> &str {
        if self.resource().is("", "namespaces") { &self.name } else { &self.target.namespace }
    }

    /// The kind of the object, which a subresource may have of its own.
    pub(crate) fn kind(&self) -> Gvk {
        let resource = self.resource();
        match resource.subresource(self.subresource()) {
            Some(sub) => Gvk::new(&*sub.group, &*sub.version, &*sub.kind),
            None => resource.gvk(),
        }
    }

    /// Whether nothing will be stored.
    pub(crate) fn dry_run(&self) -> bool {
        match self.options {
            Options::Write(options) => options.dry_run,
            Options::Delete(options) => options.dry_run,
            Options::None => false,
        }
    }

    /// The options as a document, with the kind that the operation has, whatever the verb was.
    pub(crate) fn options_document(&self) -> Option<Value> {
        match self.options {
            Options::Write(options) => {
                let created = self.operation == Operation::Create;
                Some(options.document(if created { "CreateOptions" } else { "UpdateOptions" }))
            }
            Options::Delete(options) => Some(options.document()),
            Options::None => None,
        }
    }

    /// The object, for plugins that change it; an empty one where there is none.
    pub(crate) fn take_object(&mut self) -> Value {
        self.object.take().unwrap_or_default()
    }

    /// Whether somebody reads what is noted with [`annotate`](Self::annotate).
    pub(crate) fn is_audited(&self) -> bool {
        self.context.notes.is_some()
    }

    /// Notes something for the audit log, if there is one.
    pub(crate) fn annotate(&self, key: &str, value: &str) {
        if let Some(notes) = &self.context.notes {
            notes.annotate(key, value);
        }
    }

    /// 403 as upstream's plugins word it: the name of the object, or what it will be generated from.
    pub(crate) fn forbidden(&self, why: &str) -> Status {
        let generated =
            || self.object.as_ref().and_then(|object| object.str_at(&["metadata", "generateName"]));
        let name = match self.name.as_str() {
            "" => generated().filter(|name| !name.is_empty()).unwrap_or("Unknown"),
            name => name,
        };
        Status::forbidden(&self.resource().group, &self.resource().plural, name, why)
    }
}
