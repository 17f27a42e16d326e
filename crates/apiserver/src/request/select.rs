//! Which objects of a resource a list, a watch or a deletion of many is about.

use std::borrow::Cow;

use pilothouse_schema::builtin;
use pilothouse_value::selector::{FieldSelector, LabelSelector};
use pilothouse_value::{Status, Value, object};

use crate::registry::resource::Resource;

/// Parsed selectors.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    /// Where the fields of a custom resource are found; built-in kinds know it themselves.
    paths: Vec<(String, Vec<String>)>,
}

impl Selection {
    /// Reads selectors for a resource.
    ///
    /// # Errors
    /// 400 if they cannot be read, or name a field that this resource cannot be selected by.
    pub(crate) fn parse(
        resource: &Resource,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Selection, Status> {
        let labels = LabelSelector::parse(labels.unwrap_or_default())
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let fields = FieldSelector::parse(fields.unwrap_or_default())
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let mut paths = Vec::new();
        for requirement in &fields.requirements {
            let field = requirement.field.as_str();
            match &resource.custom {
                None => builtin::check_field_label(&resource.gvk(), field)
                    .map_err(|error| Status::bad_request(error.to_string()))?,
                Some(_) if field == "metadata.name" => {}
                Some(_) if field == "metadata.namespace" && resource.namespaced => {}
                Some(custom) => {
                    let found = custom.selectable.iter().find(|(name, _)| name == field);
                    let (_, path) = found
                        .ok_or_else(|| Status::bad_request(format!("field label not supported: {field}")))?;
                    paths.push((field.to_owned(), path.clone()));
                }
            }
        }
        Ok(Selection { labels, fields, paths })
    }

    /// Whether all objects are meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// The one name that is meant, if the selector pins it.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.exact("metadata.name")
    }

    /// Whether an object is meant.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        if !self.labels.is_everything() && !self.labels.matches(object::labels(value)) {
            return false;
        }
        self.fields.requirements.iter().all(|requirement| {
            let path = self.paths.iter().find(|(field, _)| *field == requirement.field);
            let found = match path {
                Some((_, path)) => text(value, path),
                None => builtin::field_value(value, &requirement.field),
            };
            (found == requirement.value) != requirement.negated
        })
    }
}

/// The value of a selectable field of a custom resource: a string, a boolean or a whole number.
fn text<'a>(value: &'a Value, path: &[String]) -> Cow<'a, str> {
    match path.iter().try_fold(value, |value, part| value.get(part)) {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Bool(flag)) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        Some(Value::Int(number)) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(""),
    }
}
