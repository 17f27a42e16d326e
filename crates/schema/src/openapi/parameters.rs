//! The parameters of operations. Those of the types of options are read from `tables/parameters.txt`: a line for each field,
//! `OPTIONS NAME TYPE DESCRIPTION`, separated by tabs, in the order of the Go structs.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::builtin::unescape;

static TABLE: &str = include_str!("../tables/parameters.txt");

/// Where a parameter stands in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
}

/// One parameter of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// The JSON type: `string`, `boolean`, `integer`.
    pub(super) kind: &'static str,
    pub(super) description: Cow<'static, str>,
}

impl Parameter {
    fn text(name: &'static str, place: Place, description: impl Into<Cow<'static, str>>) -> Parameter {
        Parameter { name, place, kind: "string", description: description.into() }
    }

    /// Whether answers are indented.
    pub(super) fn pretty() -> Parameter {
        const ABOUT: &str = "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent \
                             indicates a browser or command-line HTTP tool (curl and wget).";
        Self::text("pretty", Place::Query, ABOUT)
    }

    /// The name of an object of a kind.
    pub(super) fn name_of(kind: &str) -> Parameter {
        Self::text("name", Place::Path, format!("name of the {kind}"))
    }

    /// The namespace of an object.
    pub(super) fn namespace() -> Parameter {
        Self::text("namespace", Place::Path, "object name and auth scope, such as for teams and projects")
    }

    /// The rest of the path of a proxied request.
    pub(super) fn path() -> Parameter {
        Self::text("path", Place::Path, "path to the resource")
    }
}

/// The parameters that the fields of a type of options stand for: `ListOptions`.
pub(super) fn of_options(options: &str) -> impl Iterator<Item = Parameter> {
    static ROWS: LazyLock<Vec<(&str, Parameter)>> = LazyLock::new(|| TABLE.lines().filter_map(row).collect());
    ROWS.iter().filter(move |(of, _)| *of == options).map(|(_, parameter)| parameter.clone())
}

fn row(line: &'static str) -> Option<(&'static str, Parameter)> {
    let mut parts = line.split('\t');
    let (options, name, kind) = (parts.next()?, parts.next()?, parts.next()?);
    let description = unescape(parts.next().unwrap_or_default());
    Some((options, Parameter { name, place: Place::Query, kind, description }))
}
