//! The shapes of both documents: the members of each kind of object in the order in which upstream writes them as JSON,
//! with their tags in the protobuf form of gnostic (`openapiv2/OpenAPIv2.proto`, `openapiv3/OpenAPIv3.proto`). Written in
//! that order, a document is the same to the byte as a real server's, and so is its hash.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// A kind of object.
pub(super) struct Message {
    pub(super) members: &'static [Member],
    /// Members whose names begin with `x-`, and that upstream does not write sorted. They come behind the others.
    pub(super) extended: &'static [Member],
    /// The protobuf tag of the members that are not listed, whose names begin with `x-`; 0 if there are none.
    pub(super) extensions: u32,
}

impl Message {
    /// What is known of a member that is not listed.
    pub(super) fn extension(&self, name: &str) -> Option<&'static Form> {
        self.extended.iter().find(|member| member.name == name).map(|member| &member.form)
    }
}

/// A member of an object.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) tag: u32,
    pub(super) form: Form,
}

/// What a member holds.
pub(super) enum Form {
    Text,
    Flag,
    Integer,
    Number,
    Texts,
    /// Anything; protobuf carries it as YAML.
    Any,
    Anys,
    /// Objects, or one, that upstream writes with their members in this order.
    Ordered(&'static [&'static str]),
    /// The kind of an operation of the second dialect. Upstream copies all but the aggregator's own on the way, and with
    /// that sorts them.
    KindOfAggregator,
    One(Target),
    Many(Target),
    /// Objects by name: a message whose field of this tag has the names and the objects.
    Named(u32, Target),
    /// Objects in a message of their own, which may be one or many.
    Items(Target),
    /// A schema, or whether anything is allowed.
    SchemaOrFlag(Target),
    /// The types of a schema in the second dialect, which may be one or many.
    Types,
    /// The default of a schema in the third dialect, which protobuf carries if it is a scalar.
    Scalar,
    /// What a client must show, by name.
    Requirements,
}

/// How an object is wrapped in protobuf.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Plain(&'static Message),
    /// In a message, under a tag.
    Wrapped(u32, &'static Message),
    /// In a message under 1, or a reference under 2.
    OrReference(&'static Message),
    /// A parameter of the second dialect.
    Parameter,
    /// The same, or a reference.
    ParameterOrReference,
}

impl Target {
    pub(super) fn message(self) -> &'static Message {
        match self {
            Self::Plain(message) | Self::Wrapped(_, message) | Self::OrReference(message) => message,
            Self::Parameter | Self::ParameterOrReference => &V2_PARAMETER,
        }
    }
}

const fn member(name: &'static str, tag: u32, form: Form) -> Member {
    Member { name, tag, form }
}

const KIND: &[&str] = &["group", "version", "kind"];
const RULE: &[&str] = &["rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"];

impl Form {
    /// The order of the members of a value that has no message of its own; sorted by name if it is empty.
    pub(super) fn order(&self, value: &Value) -> &'static [&'static str] {
        match self {
            Self::Ordered(keys) => keys,
            Self::KindOfAggregator if value.str_at(&["group"]) == Some("apiregistration.k8s.io") => KIND,
            _ => &[],
        }
    }
}

use Form::{Any, Anys, Flag, Integer, Items, Many, Named, Number, One, SchemaOrFlag, Text, Texts};
use Target::{OrReference, Plain, Wrapped};

/// A reference, wherever an object may stand.
pub(super) static REFERENCE: Message =
    Message { members: &[member("$ref", 1, Text)], extended: &[], extensions: 0 };

/// A Swagger 2.0 document.
pub(super) static V2_DOCUMENT: Message = Message {
    members: &[
        member("swagger", 1, Text),
        member("info", 2, One(Plain(&V2_INFO))),
        member("paths", 8, Named(2, Plain(&V2_PATH))),
        member("definitions", 9, Named(1, Plain(&V2_SCHEMA))),
        member("parameters", 10, Named(1, Target::Parameter)),
        member("securityDefinitions", 13, Named(1, Wrapped(2, &V2_API_KEY))),
        member("security", 12, Form::Requirements),
    ],
    extended: &[],
    extensions: 16,
};

static V2_INFO: Message = Message {
    members: &[member("title", 1, Text), member("version", 2, Text)],
    extended: &[],
    extensions: 7,
};

static V2_API_KEY: Message = Message {
    members: &[
        member("description", 4, Text),
        member("type", 1, Text),
        member("name", 2, Text),
        member("in", 3, Text),
    ],
    extended: &[],
    extensions: 5,
};

static V2_PATH: Message = Message {
    members: &[
        member("get", 2, One(Plain(&V2_OPERATION))),
        member("put", 3, One(Plain(&V2_OPERATION))),
        member("post", 4, One(Plain(&V2_OPERATION))),
        member("delete", 5, One(Plain(&V2_OPERATION))),
        member("options", 6, One(Plain(&V2_OPERATION))),
        member("head", 7, One(Plain(&V2_OPERATION))),
        member("patch", 8, One(Plain(&V2_OPERATION))),
        member("parameters", 9, Many(Target::ParameterOrReference)),
    ],
    extended: &[],
    extensions: 10,
};

static V2_OPERATION: Message = Message {
    members: &[
        member("description", 3, Text),
        member("consumes", 7, Texts),
        member("produces", 6, Texts),
        member("schemes", 10, Texts),
        member("tags", 1, Texts),
        member("summary", 2, Text),
        member("externalDocs", 4, One(Plain(&DOCS))),
        member("operationId", 5, Text),
        member("deprecated", 11, Flag),
        member("parameters", 8, Many(Target::ParameterOrReference)),
        member("responses", 9, Named(1, OrReference(&V2_RESPONSE))),
    ],
    extended: &[member("x-kubernetes-group-version-kind", 0, Form::KindOfAggregator)],
    extensions: 13,
};

static V2_RESPONSE: Message = Message {
    members: &[member("description", 1, Text), member("schema", 2, One(Wrapped(1, &V2_SCHEMA)))],
    extended: &[],
    extensions: 5,
};

/// A parameter; the tags are those of a parameter in the path.
pub(super) static V2_PARAMETER: Message = Message {
    members: &[
        member("uniqueItems", 19, Flag),
        member("type", 5, Text),
        member("description", 3, Text),
        member("name", 4, Text),
        member("in", 2, Text),
        member("required", 1, Flag),
        member("schema", 0, One(Wrapped(1, &V2_SCHEMA))),
        member("$ref", 0, Text),
    ],
    extended: &[],
    extensions: 22,
};

/// The parameter that is the body.
pub(super) static V2_BODY: Message = Message {
    members: &[
        member("description", 1, Text),
        member("name", 2, Text),
        member("in", 3, Text),
        member("required", 4, Flag),
        member("schema", 5, One(Plain(&V2_SCHEMA))),
    ],
    extended: &[],
    extensions: 6,
};

/// A parameter in a query.
pub(super) static V2_QUERY: Message = Message {
    members: &[
        member("required", 1, Flag),
        member("in", 2, Text),
        member("description", 3, Text),
        member("name", 4, Text),
        member("type", 6, Text),
        member("uniqueItems", 20, Flag),
    ],
    extended: &[],
    extensions: 23,
};

static DOCS: Message = Message {
    members: &[member("description", 1, Text), member("url", 2, Text)],
    extended: &[],
    extensions: 3,
};

static V2_SCHEMA: Message = Message {
    members: &[
        member("description", 4, Text),
        member("type", 22, Form::Types),
        member("format", 2, Text),
        member("title", 3, Text),
        member("default", 5, Any),
        member("maximum", 7, Number),
        member("exclusiveMaximum", 8, Flag),
        member("minimum", 9, Number),
        member("exclusiveMinimum", 10, Flag),
        member("maxLength", 11, Integer),
        member("minLength", 12, Integer),
        member("pattern", 13, Text),
        member("maxItems", 14, Integer),
        member("minItems", 15, Integer),
        member("uniqueItems", 16, Flag),
        member("multipleOf", 6, Number),
        member("enum", 20, Anys),
        member("maxProperties", 17, Integer),
        member("minProperties", 18, Integer),
        member("required", 19, Texts),
        member("items", 23, Items(Plain(&V2_SCHEMA))),
        member("allOf", 24, Many(Plain(&V2_SCHEMA))),
        member("properties", 25, Named(1, Plain(&V2_SCHEMA))),
        member("additionalProperties", 21, SchemaOrFlag(Plain(&V2_SCHEMA))),
        member("externalDocs", 29, One(Plain(&DOCS))),
        member("example", 30, Any),
        member("$ref", 1, Text),
    ],
    extended: &[],
    extensions: 31,
};

/// An OpenAPI 3.0 document.
pub(super) static V3_DOCUMENT: Message = Message {
    members: &[
        member("openapi", 1, Text),
        member("info", 2, One(Plain(&V3_INFO))),
        member("paths", 4, Named(1, Plain(&V3_PATH))),
        member("components", 5, One(Plain(&V3_COMPONENTS))),
    ],
    extended: &[],
    extensions: 9,
};

static V3_INFO: Message = Message {
    members: &[member("description", 2, Text), member("title", 1, Text), member("version", 6, Text)],
    extended: &[],
    extensions: 7,
};

static V3_COMPONENTS: Message = Message {
    members: &[
        member("schemas", 1, Named(1, OrReference(&V3_SCHEMA))),
        member("securitySchemes", 7, Named(1, OrReference(&V3_SECURITY_SCHEME))),
    ],
    extended: &[],
    extensions: 10,
};

static V3_SECURITY_SCHEME: Message = Message {
    members: &[
        member("type", 1, Text),
        member("description", 2, Text),
        member("name", 3, Text),
        member("in", 4, Text),
    ],
    extended: &[],
    extensions: 9,
};

static V3_PATH: Message = Message {
    members: &[
        member("get", 4, One(Plain(&V3_OPERATION))),
        member("put", 5, One(Plain(&V3_OPERATION))),
        member("post", 6, One(Plain(&V3_OPERATION))),
        member("delete", 7, One(Plain(&V3_OPERATION))),
        member("options", 8, One(Plain(&V3_OPERATION))),
        member("head", 9, One(Plain(&V3_OPERATION))),
        member("patch", 10, One(Plain(&V3_OPERATION))),
        member("parameters", 13, Many(OrReference(&V3_PARAMETER))),
    ],
    extended: &[],
    extensions: 14,
};

static V3_OPERATION: Message = Message {
    members: &[
        member("tags", 1, Texts),
        member("summary", 2, Text),
        member("description", 3, Text),
        member("externalDocs", 4, One(Plain(&DOCS))),
        member("operationId", 5, Text),
        member("parameters", 6, Many(OrReference(&V3_PARAMETER))),
        member("requestBody", 7, One(OrReference(&V3_BODY))),
        member("responses", 8, Named(2, OrReference(&V3_RESPONSE))),
        member("deprecated", 10, Flag),
    ],
    extended: &[member("x-kubernetes-group-version-kind", 0, Form::Ordered(KIND))],
    extensions: 13,
};

static V3_PARAMETER: Message = Message {
    members: &[
        member("$ref", 0, Text),
        member("name", 1, Text),
        member("in", 2, Text),
        member("description", 3, Text),
        member("required", 4, Flag),
        member("allowEmptyValue", 6, Flag),
        member("schema", 10, One(OrReference(&V3_SCHEMA))),
    ],
    extended: &[],
    extensions: 14,
};

static V3_BODY: Message = Message {
    members: &[member("content", 2, Named(1, Plain(&V3_MEDIA_TYPE))), member("required", 3, Flag)],
    extended: &[],
    extensions: 4,
};

static V3_RESPONSE: Message = Message {
    members: &[member("description", 1, Text), member("content", 3, Named(1, Plain(&V3_MEDIA_TYPE)))],
    extended: &[],
    extensions: 5,
};

static V3_MEDIA_TYPE: Message =
    Message { members: &[member("schema", 1, One(OrReference(&V3_SCHEMA)))], extended: &[], extensions: 5 };

static V3_SCHEMA: Message = Message {
    members: &[
        member("description", 34, Text),
        member("type", 25, Text),
        member("nullable", 1, Flag),
        member("format", 35, Text),
        member("title", 9, Text),
        member("default", 33, Form::Scalar),
        member("maximum", 11, Number),
        member("exclusiveMaximum", 12, Flag),
        member("minimum", 13, Number),
        member("exclusiveMinimum", 14, Flag),
        member("maxLength", 15, Integer),
        member("minLength", 16, Integer),
        member("pattern", 17, Text),
        member("maxItems", 18, Integer),
        member("minItems", 19, Integer),
        member("uniqueItems", 20, Flag),
        member("multipleOf", 10, Number),
        member("enum", 24, Anys),
        member("maxProperties", 21, Integer),
        member("minProperties", 22, Integer),
        member("required", 23, Texts),
        member("items", 30, Items(OrReference(&V3_SCHEMA))),
        member("allOf", 26, Many(OrReference(&V3_SCHEMA))),
        member("oneOf", 27, Many(OrReference(&V3_SCHEMA))),
        member("anyOf", 28, Many(OrReference(&V3_SCHEMA))),
        member("not", 29, One(Plain(&V3_SCHEMA))),
        member("properties", 31, Named(1, OrReference(&V3_SCHEMA))),
        member("additionalProperties", 32, SchemaOrFlag(OrReference(&V3_SCHEMA))),
        member("externalDocs", 6, One(Plain(&DOCS))),
        member("example", 7, Any),
        member("$ref", 0, Text),
    ],
    extended: &[member("x-kubernetes-validations", 0, Form::Ordered(RULE))],
    extensions: 36,
};

/// Appends the JSON of an object with its members in upstream's order.
pub(super) fn write_json(value: &Value, message: &Message, out: &mut Vec<u8>) {
    match value.as_object() {
        Some(object) => deeper(|| write_object(object, message, out)),
        None => value.write_json(out),
    }
}

fn write_object(object: &Map, message: &Message, out: &mut Vec<u8>) {
    let mut fields = Fields::open(out);
    let known = message.members.iter().filter_map(|member| Some((member, object.get(member.name)?)));
    for (member, value) in known {
        let out = fields.next(member.name);
        write_member(value, &member.form, out);
    }
    let is_known = |key: &str| message.members.iter().any(|member| member.name == key);
    for (key, value) in object.iter().filter(|(key, _)| !is_known(key)) {
        let out = fields.next(key);
        match message.extension(key) {
            Some(form) => write_member(value, form, out),
            None => value.write_json(out),
        }
    }
    fields.close();
}

fn write_member(value: &Value, form: &Form, out: &mut Vec<u8>) {
    match (form, value) {
        (Form::One(target), Value::Object(_))
        | (Form::Items(target) | Form::SchemaOrFlag(target), Value::Object(_)) => {
            write_json(value, target.message(), out);
        }
        (Form::Many(target) | Form::Items(target), Value::Array(items)) => {
            write_list(items, out, |item, out| write_json(item, target.message(), out));
        }
        (Form::Named(_, target), Value::Object(named)) => {
            let mut fields = Fields::open(out);
            for (name, value) in named.iter() {
                write_json(value, target.message(), fields.next(name));
            }
            fields.close();
        }
        (Form::Ordered(_) | Form::KindOfAggregator, value) => write_ordered(value, form.order(value), out),
        _ => value.write_json(out),
    }
}

fn write_ordered(value: &Value, order: &[&str], out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => deeper(|| write_list(items, out, |item, out| write_ordered(item, order, out))),
        Value::Object(object) => {
            let mut fields = Fields::open(out);
            for (key, value) in in_order(object, order) {
                value.write_json(fields.next(key));
            }
            fields.close();
        }
        other => other.write_json(out),
    }
}

fn write_list(items: &[Value], out: &mut Vec<u8>, write: impl Fn(&Value, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// The members of an object: these first, then the others by name.
pub(super) fn in_order<'o>(object: &'o Map, order: &'o [&str]) -> impl Iterator<Item = (&'o str, &'o Value)> {
    let first = order.iter().filter_map(|key| Some((*key, object.get(key)?)));
    first.chain(object.iter().filter(|(key, _)| !order.contains(key)))
}

/// The members of an object that is being written.
struct Fields<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Fields<'o> {
    fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    fn next(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        Value::from(key).write_json(self.out);
        self.out.push(b':');
        self.out
    }

    fn close(self) {
        self.out.push(b'}');
    }
}
