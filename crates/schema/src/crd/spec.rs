//! The rules of `spec`: group, scope, names, versions, subresources, columns, selectable fields.

use pilothouse_value::field::{self, Path};
use pilothouse_value::{Value, names, object};

use crate::cel::check::StoredExpressions;
use crate::structural::props::Props;
use crate::structural::{self, RuleContext, Strictness};

use super::{conversion, field_path, go};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const SELECTABLE_LIMIT: usize = 8;
/// The fields of a root schema that a status subresource leaves room for, as upstream prints them and as JSON has them.
const ROOT_FIELDS: [(&str, &str); 22] = [
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"),
    ("XValidations", "x-kubernetes-validations"),
];

/// Adds what is wrong with `spec`.
pub(super) fn validate(crd: &Value, old: Option<&Value>, errors: &mut Vec<field::Error>) {
    static NOTHING: Value = Value::Null;
    let spec = Props(crd.get("spec").unwrap_or(&NOTHING));
    let path = Path::new("spec");
    validate_group(spec.text("group"), &path.child("group"), errors);
    match spec.text("scope") {
        "" => errors.push(field::Error::required(&path.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        scope => {
            errors.push(field::Error::unsupported(&path.child("scope"), scope, ["Cluster", "Namespaced"]))
        }
    }
    let old_spec = old.and_then(|old| old.get("spec")).map(Props);
    let rules = Rules::new(crd, old);
    let versions: Vec<Props<'_>> = spec.list("versions").collect();
    let shared = Shared::of(&versions);
    for (index, version) in versions.iter().enumerate() {
        if rules.schema_is_required
            && version.child("schema").is_none_or(|schema| !schema.has("openAPIV3Schema"))
        {
            let at = path.child("versions").index(index).child("schema").child("openAPIV3Schema");
            errors.push(field::Error::required(&at, ""));
        }
        validate_version(*version, &shared, &rules, &path.child("versions").index(index), errors);
    }
    let shown = match spec.value("versions") {
        Some(Value::Array(_)) => go::versions(&versions, shared),
        _ => "null".to_owned(),
    };
    validate_versions(&versions, &shown, &path, errors);
    if spec.flag("preserveUnknownFields") {
        validate_preserving(spec, crd, &path, errors);
    }
    for key in ["plural", "singular", "kind", "listKind"] {
        if spec.child("names").is_none_or(|names| names.text(key).is_empty()) {
            errors.push(field::Error::required(&path.child("names").child(key), ""));
        }
    }
    validate_names(spec.child("names").unwrap_or(Props(&NOTHING)), &path.child("names"), errors);
    if let Some(first) = versions.first() {
        let has_status = versions.iter().any(|version| has_status(*version));
        if shared.schema {
            validate_schema(*first, has_status, &rules, &path.child("validation"), errors);
        }
        if shared.subresources {
            validate_subresources(*first, &path.child("subresources"), errors);
        }
        if shared.columns {
            validate_columns(*first, &path.child("additionalPrinterColumns"), errors);
        }
        if shared.selectable {
            // What all versions share is looked at next to a schema that all share, and upstream knows no other then.
            let shown = if shared.schema { *first } else { Props(&NOTHING) };
            validate_selectable(*first, shown, &path.child("selectableFields"), old_spec, errors);
        }
    }
    let is_established = old.is_some_and(|old| object::condition_is_true(old, "Established"));
    if let Some(conversion) = spec.child("conversion") {
        let rules = conversion::Rules::new(old_spec.and_then(|old| old.child("conversion")), is_established);
        conversion::validate(conversion, &path.child("conversion"), rules, errors);
    }
    if let Some(old_spec) = old_spec {
        validate_immutable(spec, old_spec, is_established, &path, errors);
    }
}

/// Rules that depend on the stored CRD.
struct Rules {
    strictness: Strictness,
    schema_is_required: bool,
    /// The CEL expressions of the stored CRD.
    expressions: StoredExpressions,
    /// The versions whose schema is what it was.
    unchanged: Vec<String>,
}

impl Rules {
    fn new(new: &Value, old: Option<&Value>) -> Self {
        let Some(old) = old else {
            return Self {
                strictness: Strictness::default(),
                schema_is_required: true,
                expressions: StoredExpressions::default(),
                unchanged: Vec::new(),
            };
        };
        let mut strictness = Strictness::of_old(&super::schemas(old));
        // Every CRD of v1 prunes, and pruning needs structural schemas.
        strictness.structural = true;
        let schema_is_required = old
            .items_at(&["spec", "versions"])
            .iter()
            .all(|version| version.at(&["schema", "openAPIV3Schema"]).is_some());
        let expressions = StoredExpressions::of(&super::schemas(old));
        Self { strictness, schema_is_required, expressions, unchanged: unchanged_schemas(new, old) }
    }

    fn of_version(&self, name: &str) -> RuleContext<'_> {
        let is_unchanged = self.unchanged.iter().any(|unchanged| unchanged == name);
        RuleContext { stored: &self.expressions, is_unchanged }
    }
}

/// The versions whose schema is what it was.
fn unchanged_schemas(new: &Value, old: &Value) -> Vec<String> {
    fn versions(crd: &Value) -> impl Iterator<Item = (Option<&str>, Option<&Value>)> {
        let versions = crd.items_at(&["spec", "versions"]).iter();
        versions.map(|version| (version.str_at(&["name"]), version.at(&["schema", "openAPIV3Schema"])))
    }
    let is_unchanged = |one: &(Option<&str>, Option<&Value>)| versions(old).any(|before| before == *one);
    versions(new).filter(is_unchanged).filter_map(|(name, _)| name.map(str::to_owned)).collect()
}

/// What all versions have in common, and upstream therefore validates once, in the spec itself.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) schema: bool,
    pub(super) subresources: bool,
    pub(super) columns: bool,
    pub(super) selectable: bool,
}

impl Shared {
    fn of(versions: &[Props<'_>]) -> Self {
        let same = |key: &str| {
            let is_empty = |value: &&Value| !value.as_array().is_some_and(Vec::is_empty);
            let mut values = versions.iter().map(|version| version.value(key).filter(is_empty));
            let first = values.next().flatten();
            values.all(|value| value == first)
        };
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }
}

fn validate_group(group: &str, path: &Path, errors: &mut Vec<field::Error>) {
    if group.is_empty() {
        errors.push(field::Error::required(path, ""));
        return;
    }
    let problems = names::dns1123_subdomain(group);
    if !problems.is_empty() {
        errors.push(field::Error::invalid(path, group, problems.join(",")));
    } else if !group.contains('.') {
        errors.push(field::Error::invalid(path, group, "should be a domain with at least one dot"));
    }
}

fn validate_version(
    version: Props<'_>,
    shared: &Shared,
    rules: &Rules,
    path: &Path,
    errors: &mut Vec<field::Error>,
) {
    let name = version.text("name");
    let problems = names::dns1035_label(name);
    if !problems.is_empty() {
        errors.push(field::Error::invalid(&path.child("name"), name, problems.join(",")));
    }
    if let Some(warning) = version.value("deprecationWarning").and_then(Value::as_str) {
        validate_deprecation(version.flag("deprecated"), warning, &path.child("deprecationWarning"), errors);
    }
    if !shared.schema {
        validate_schema(version, has_status(version), rules, &path.child("schema"), errors);
    }
    if !shared.subresources {
        validate_subresources(version, &path.child("subresources"), errors);
    }
    if !shared.columns {
        validate_columns(version, &path.child("additionalPrinterColumns"), errors);
    }
    if !shared.selectable {
        validate_selectable(version, version, &path.child("selectableFields"), None, errors);
    }
}

fn validate_deprecation(deprecated: bool, warning: &str, path: &Path, errors: &mut Vec<field::Error>) {
    let mut invalid = |detail: String| errors.push(field::Error::invalid(path, warning, detail));
    if !deprecated {
        invalid("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        invalid("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        invalid("must not be an empty string".to_owned());
    }
    if let Some((index, _)) =
        warning.char_indices().find(|(_, c)| c.is_control() || (c.is_whitespace() && *c != ' '))
    {
        invalid(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// A spec that keeps all unknown fields, as versions of definitions did that are long gone.
fn validate_preserving(spec: Props<'_>, crd: &Value, path: &Path, errors: &mut Vec<field::Error>) {
    let has_default = |props: Props<'_>| props.value("default").is_some_and(|default| !default.is_null());
    if super::schemas(crd).iter().any(|schema| Props(schema).any(&mut |props| has_default(props))) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(field::Error::invalid(&path.child("preserveUnknownFields"), true, detail));
    }
    let strategy = spec.child("conversion").map(|conversion| conversion.text("strategy")).unwrap_or("None");
    if strategy != "None" {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(field::Error::invalid(&path.child("conversion").child("strategy"), strategy, detail));
    }
}

fn validate_versions(versions: &[Props<'_>], shown: &str, path: &Path, errors: &mut Vec<field::Error>) {
    let invalid =
        |detail: &str| field::Error::invalid(&path.child("versions"), Value::Null, detail).showing(shown);
    let names: Vec<&str> = versions.iter().map(|version| version.text("name")).collect();
    if names.iter().enumerate().any(|(at, name)| names.iter().take(at).any(|earlier| earlier == name)) {
        errors.push(invalid("must contain unique version names"));
    }
    if versions.iter().filter(|version| version.flag("storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(invalid(detail));
    }
    if let Some(first) = names.first().filter(|name| !name.is_empty()) {
        let problems = names::dns1035_label(first);
        if !problems.is_empty() {
            errors.push(field::Error::invalid(&path.child("version"), *first, problems.join(",")));
        }
    }
}

fn has_status(version: Props<'_>) -> bool {
    version.child("subresources").is_some_and(|subresources| subresources.has("status"))
}

fn validate_schema(
    version: Props<'_>,
    has_status: bool,
    rules: &Rules,
    path: &Path,
    errors: &mut Vec<field::Error>,
) {
    let Some(schema) = version.child("schema").and_then(|schema| schema.value("openAPIV3Schema")) else {
        return;
    };
    let at = path.child("openAPIV3Schema");
    if has_status {
        validate_root_fields(schema, &at, errors);
    }
    if Props(schema).flag("nullable") {
        errors.push(field::Error::forbidden(&at.child("nullable"), "nullable cannot be true at the root"));
    }
    let (_, found) = structural::check(schema, &at, rules.strictness, rules.of_version(version.text("name")));
    errors.extend(found);
}

fn validate_root_fields(schema: &Value, path: &Path, errors: &mut Vec<field::Error>) {
    let kind = Props(schema).text("type");
    if !kind.is_empty() && kind != "object" {
        let detail = r#"only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#;
        errors.push(field::Error::invalid(&path.child("type"), kind, detail));
        return;
    }
    let is_allowed = |key: &str| ROOT_FIELDS.iter().any(|(_, allowed)| *allowed == key);
    let is_set =
        |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value.as_str() != Some("");
    let other = schema
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(key, value)| !is_allowed(key) && is_set(value)));
    if other {
        let names: Vec<&str> = ROOT_FIELDS.iter().map(|(name, _)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.push(field::Error::invalid(path, Value::Null, detail).showing(go::schema(schema)));
    }
}

/// Adds what is wrong with names, in the spec or in the status.
pub(super) fn validate_names(names: Props<'_>, path: &Path, errors: &mut Vec<field::Error>) {
    let mut label = |path: Path, text: &str, is_kind: bool| {
        let problems =
            if is_kind { names::dns1035_label(&text.to_lowercase()) } else { names::dns1035_label(text) };
        if !text.is_empty() && !problems.is_empty() {
            let intro = if is_kind { "may have mixed case, but should otherwise match: " } else { "" };
            errors.push(field::Error::invalid(&path, text, format!("{intro}{}", problems.join(","))));
        }
    };
    label(path.child("plural"), names.text("plural"), false);
    label(path.child("singular"), names.text("singular"), false);
    label(path.child("kind"), names.text("kind"), true);
    label(path.child("listKind"), names.text("listKind"), true);
    for key in ["shortNames", "categories"] {
        for (index, text) in names.texts(key).enumerate() {
            label(path.child(key).index(index), text, false);
        }
    }
    let kind = names.text("kind");
    if !kind.is_empty() && kind == names.text("listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(field::Error::invalid(&path.child("listKind"), kind, detail));
    }
}

fn simple_path(text: &str, path: &Path, prefixes: &[&str], detail: &str) -> Option<field::Error> {
    if !text.starts_with('.') {
        return Some(field::Error::invalid(path, text, "must be a simple json path starting with ."));
    }
    let is_below = prefixes.is_empty() || prefixes.iter().any(|prefix| text.starts_with(prefix));
    (!is_below).then(|| field::Error::invalid(path, text, detail))
}

fn validate_subresources(version: Props<'_>, path: &Path, errors: &mut Vec<field::Error>) {
    let Some(scale) = version.child("subresources").and_then(|subresources| subresources.child("scale"))
    else {
        return;
    };
    for (key, prefix, detail) in [
        ("specReplicasPath", ".spec.", "should be a json path under .spec"),
        ("statusReplicasPath", ".status.", "should be a json path under .status"),
    ] {
        let at = path.child("scale").child(key);
        match scale.text(key) {
            "" => errors.push(field::Error::required(&at, "")),
            text => errors.extend(simple_path(text, &at, &[prefix], detail)),
        }
    }
    if let Some(text) = scale.some_text("labelSelectorPath") {
        let at = path.child("scale").child("labelSelectorPath");
        let detail = "should be a json path under either .spec or .status";
        errors.extend(simple_path(text, &at, &[".spec.", ".status."], detail));
    }
}

fn validate_columns(version: Props<'_>, path: &Path, errors: &mut Vec<field::Error>) {
    for (index, column) in version.list("additionalPrinterColumns").enumerate() {
        let at = path.index(index);
        if column.text("name").is_empty() {
            errors.push(field::Error::required(&at.child("name"), ""));
        }
        let detail = format!("must be one of {}", COLUMN_TYPES.join(","));
        match column.text("type") {
            "" => errors.push(field::Error::required(&at.child("type"), detail)),
            kind if !COLUMN_TYPES.contains(&kind) => {
                errors.push(field::Error::invalid(&at.child("type"), kind, detail))
            }
            _ => {}
        }
        if let Some(format) = column.some_text("format").filter(|format| !COLUMN_FORMATS.contains(format)) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(field::Error::invalid(&at.child("format"), format, detail));
        }
        // Upstream names the field so.
        let at = at.child("JSONPath");
        match column.text("jsonPath") {
            "" => errors.push(field::Error::required(&at, "")),
            text => errors.extend(simple_path(text, &at, &[], "")),
        }
    }
}

/// Checks the selectable fields of a version, whose schema may be that of another place.
fn validate_selectable(
    version: Props<'_>,
    described: Props<'_>,
    path: &Path,
    old: Option<Props<'_>>,
    errors: &mut Vec<field::Error>,
) {
    let fields = version.values("selectableFields");
    if fields.is_empty() {
        return;
    }
    let Some(schema) = described.child("schema").and_then(|schema| schema.child("openAPIV3Schema")) else {
        let detail = "may only be set when validations.schema is included";
        errors.push(field::Error::invalid(path, "", detail));
        return;
    };
    let mut seen: Vec<Vec<String>> = Vec::new();
    for (index, one) in fields.iter().enumerate() {
        let at = path.index(index).child("jsonPath");
        let text = one.str_at(&["jsonPath"]).unwrap_or_default();
        if text.is_empty() {
            errors.push(field::Error::required(&at, ""));
            continue;
        }
        let found = match field_path::find(schema, text, false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(field::Error::invalid(&at, text, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.steps.first().is_some_and(|first| first == "metadata") {
            errors.push(field::Error::invalid(&at, text, "must not point to fields in metadata"));
        }
        if !found.schema.is_some_and(|schema| matches!(schema.text("type"), "string" | "boolean" | "integer"))
        {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(field::Error::invalid(&at, text, detail));
        }
        if seen.contains(&found.steps) {
            errors.push(field::Error::duplicate(&at, text));
        } else {
            seen.push(found.steps);
        }
    }
    let had_as_many = old.is_some_and(|old| {
        old.list("versions").next().is_some_and(|version| version.values("selectableFields") == fields)
    });
    if seen.len() > SELECTABLE_LIMIT && !had_as_many {
        errors.push(field::Error::too_many(path, seen.len(), SELECTABLE_LIMIT));
    }
}

fn validate_immutable(
    spec: Props<'_>,
    old: Props<'_>,
    is_established: bool,
    path: &Path,
    errors: &mut Vec<field::Error>,
) {
    let name = |spec: Props<'_>, key: &str| {
        spec.child("names").map(|names| names.text(key).to_owned()).unwrap_or_default()
    };
    let mut same = |path: Path, new: String, old: String| {
        if new != old {
            errors.push(field::Error::invalid(&path, new, "field is immutable"));
        }
    };
    if is_established {
        same(path.child("scope"), spec.text("scope").to_owned(), old.text("scope").to_owned());
        same(path.child("names").child("kind"), name(spec, "kind"), name(old, "kind"));
    }
    same(path.child("group"), spec.text("group").to_owned(), old.text("group").to_owned());
    same(path.child("names").child("plural"), name(spec, "plural"), name(old, "plural"));
}
