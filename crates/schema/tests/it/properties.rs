//! What holds for every schema and every value.

use pilothouse_schema::cel::{self, Findings, Rules};
use pilothouse_schema::openapi::custom::{Dialect, schemas as schemas_of};
use pilothouse_schema::{Schema, default, openapi, prune, structural, validate};
use pilothouse_value::Value;
use pilothouse_value::field::Path;
use proptest::prelude::*;

/// Documents of few names, so that schemas and values meet.
fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no other", |number| number.is_finite()).prop_map(Value::Float),
        "[a-c]{0,3}|2020-01-01|1s|\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]|metadata|kind|apiVersion", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Rules of pieces that sometimes make an expression.
fn rules() -> impl Strategy<Value = Value> {
    let pieces = proptest::sample::select(vec![
        "self",
        "oldSelf",
        "self.a",
        "self.b",
        "oldSelf.a",
        "x",
        ".c",
        "[0]",
        "['a']",
        ".?a",
        " == ",
        " != ",
        " < ",
        " + ",
        " - ",
        " * ",
        " / ",
        " && ",
        " || ",
        " in ",
        " ? ",
        " : ",
        "1",
        "-9223372036854775808",
        "1.5",
        "'a'",
        "b'a'",
        "null",
        "true",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        "!",
        ".all(x, ",
        ".exists(x, ",
        ".map(x, x)",
        ".filter(x, true)",
        ".size()",
        "size(",
        "has(self.a)",
        "type(",
        "int(",
        "string(",
        "duration('1s')",
        "timestamp('2020-01-01T00:00:00Z')",
        ".matches('a+')",
        ".replace('', self)",
        ".split('')",
        ".join(",
        ".sort()",
        ".flatten()",
        ".format([self])",
        ".orValue(",
        ".sum()",
        ".max()",
        "quantity(",
        "cidr(",
        "self.map(x, self.map(y, [x, y]))",
        "lists.range(100000)",
        "'aaaaaaaaaa'.replace('a', 'aaaaaaaaaa')",
    ]);
    let made = proptest::collection::vec(pieces, 1..10).prop_map(|pieces| pieces.concat());
    let whole = proptest::sample::select(vec![
        "self == oldSelf",
        "self == self",
        "has(self.a) && has(self.b)",
        "self.a == oldSelf.a",
        "self.all(x, x == self[0])",
        "self.all(x, self.all(y, x == y))",
        "self.exists(k, self[k] == k)",
        "self > 3",
        "self + self == self",
        "self.size() > 1",
        "self.map(x, [x, x]).size() == 2",
        "type(self) == string",
        "oldSelf.hasValue()",
    ]);
    let expression = prop_oneof![made, whole.prop_map(str::to_owned), "\\PC{0,12}"];
    let rule = (
        expression.clone(),
        proptest::option::of(expression),
        proptest::option::of(any::<bool>()),
        any::<bool>(),
    );
    let rule = rule.prop_map(|(rule, message, optional, has_path)| {
        let mut found = pilothouse_value::json!({"rule": rule});
        if let Some(message) = message {
            found.set(&["messageExpression"], message);
        }
        if let Some(optional) = optional {
            found.set(&["optionalOldSelf"], optional);
        }
        if has_path {
            found.set(&["fieldPath"], ".a['b']");
        }
        found
    });
    proptest::collection::vec(rule, 0..3).prop_map(Value::from)
}

/// Documents that look like `JSONSchemaProps`, right or wrong.
fn schemas() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("string"),
        Just("integer"),
        Just("number"),
        Just("object"),
        Just("array"),
        Just("boolean"),
        Just("odd"),
    ];
    let keywords = (
        proptest::option::of(words),
        proptest::collection::btree_map(
            "nullable|uniqueItems|x-kubernetes-(int-or-string|embedded-resource|preserve-unknown-fields)|exclusiveMinimum",
            any::<bool>().prop_map(Value::from),
            0..2,
        ),
        proptest::collection::btree_map(
            "minimum|maximum|multipleOf|(min|max)(Length|Items|Properties)",
            (-3_i64..5).prop_map(Value::from),
            0..3,
        ),
        proptest::option::of(documents()),
        proptest::option::of("[a-c.*+?(){}\\[\\]|^$0-9,\\\\dwsbQE-]{0,8}"),
        proptest::option::of(prop_oneof![
            Just("date"),
            Just("duration"),
            Just("uri"),
            Just("email"),
            Just("int32"),
            Just("mac")
        ]),
        proptest::option::of(prop_oneof![Just("set"), Just("map"), Just("atomic")]),
        proptest::option::weighted(0.3, rules()),
    );
    let leaf = keywords.prop_map(|(kind, flags, numbers, default, pattern, format, list_type, rules)| {
        let mut schema = Value::Object(flags.into_iter().chain(numbers).collect());
        for (key, value) in [("type", kind), ("format", format), ("x-kubernetes-list-type", list_type)] {
            if let Some(value) = value {
                schema.set(&[key], value);
            }
        }
        if let Some(default) = default {
            schema.set(&["default"], default);
        }
        if let Some(pattern) = pattern {
            schema.set(&["pattern"], pattern);
        }
        if let Some(rules) = rules {
            schema.set(&["x-kubernetes-validations"], rules);
        }
        schema
    });
    leaf.prop_recursive(3, 24, 4, |inner| {
        (
            inner.clone(),
            proptest::collection::btree_map("[a-c]|metadata", inner.clone(), 0..3),
            proptest::option::of(inner.clone()),
            proptest::option::of(inner.clone()),
            proptest::collection::vec(("allOf|anyOf|oneOf", proptest::collection::vec(inner, 1..3)), 0..2),
        )
            .prop_map(|(mut schema, properties, items, additional, junctors)| {
                schema.set(&["properties"], Value::Object(properties.into_iter().collect()));
                if let Some(items) = items {
                    schema.set(&["items"], items);
                    schema.set(&["x-kubernetes-list-map-keys"], vec![Value::from("a"), Value::from("b")]);
                }
                if let Some(additional) = additional {
                    schema.set(&["additionalProperties"], additional);
                }
                for (key, alternatives) in junctors {
                    schema.set(&[key.as_str()], alternatives);
                }
                schema
            })
    })
}

/// Bytes that are often messages in messages: a tag, then a number, a length with bytes of another message, or nonsense.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..12),
        (1_u8..16, any::<u8>()).prop_map(|(field, number)| vec![field << 3, number]),
        "[a-z0-9.{}:\"]{0,8}".prop_map(String::into_bytes),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        proptest::collection::vec((1_u8..16, inner), 1..4).prop_map(|fields| {
            let mut message = Vec::new();
            for (field, body) in fields {
                message.push(field << 3 | 2);
                message.push(u8::try_from(body.len().min(127)).unwrap_or_default());
                message.extend(body);
            }
            message
        })
    })
}

fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut length = bytes.len();
        let mut out = vec![number << 3 | 2];
        while length >= 128 {
            out.push(u8::try_from(length & 127 | 128).unwrap_or_default());
            length >>= 7;
        }
        out.push(u8::try_from(length).unwrap_or_default());
        out.extend(bytes);
        out
    };
    let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &meta), field(2, raw)].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_panics_and_a_second_time_changes_nothing(schema in schemas(), value in documents(), old in documents()) {
        let _ = structural::parse(&schema, &Path::root());
        let node = structural::parse_stored(&schema);
        let _ = validate(&node, &value, None, &Path::root());
        let _ = validate(&node, &value, Some(&old), &Path::root());
        let mut pruned = value.clone();
        prune(&node, &mut pruned);
        let mut again = pruned.clone();
        prop_assert_eq!(prune(&node, &mut again), Vec::<String>::new());
        prop_assert_eq!(&again, &pruned);
        let mut defaulted = value;
        default(&node, &mut defaulted);
        let mut again = defaulted.clone();
        default(&node, &mut again);
        prop_assert_eq!(again, defaulted);
    }

    #[test]
    fn rules_never_panic_and_cost_no_more_than_they_may(schema in schemas(), value in documents(), old in documents()) {
        let node = structural::parse_stored(&schema);
        if let Some(rules) = Rules::compile(&node) {
            let mut findings = Findings::default();
            cel::evaluate(&node, &rules, &value, Some(&old), &mut findings);
            prop_assert!(findings.cost <= 10_000_001, "{}", findings.cost);
            cel::evaluate(&node, &rules, &value, None, &mut Findings::default());
        }
    }

    #[test]
    fn anything_accepts_everything_and_keeps_it(value in documents()) {
        prop_assert!(validate(Schema::any(), &value, None, &Path::root()).is_empty());
        let mut kept = value.clone();
        default(Schema::any(), &mut kept);
        prop_assert_eq!(kept, value);
    }

    #[test]
    fn any_document_can_be_looked_at_as_a_crd(document in documents(), schema in schemas()) {
        use pilothouse_schema::crd;
        let mut definition = document;
        let _ = crd::validate(&definition, None);
        definition.set(&["spec", "versions"], vec![pilothouse_value::json!({"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}})]);
        crd::default(&mut definition);
        let _ = crd::validate(&definition, Some(&definition));
        let _ = crd::warnings(&definition, Some(&definition));
        let _ = crd::deprecation_warning(&definition, "v1");
        let _ = crd::has_readable_bundle(&definition);
        for version in definition.items_at(&["spec", "versions"]) {
            for dialect in [Dialect::V2, Dialect::V3] {
                let _ = schemas_of(&definition, version, dialect);
            }
        }
        definition.set(&["spec", "group"], "demo.dev");
        definition.set(&["spec", "names"], pilothouse_value::json!({"plural": "webs", "kind": "Web"}));
        for version in definition.items_at(&["spec", "versions"]) {
            let document = openapi::custom_document(&[openapi::CustomResource { definition: &definition, version }]);
            prop_assert!(pilothouse_value::parse::json(document.json().as_bytes()).is_ok());
            let _ = document.protobuf();
        }
    }

    #[test]
    fn no_bytes_make_protobuf_panic(raw in messages(), any in proptest::collection::vec(any::<u8>(), 0..64)) {
        use pilothouse_schema::proto;
        let _ = proto::decode(&any);
        let _ = proto::decode(&[b"k8s\0", &*any].concat());
        for (version, kind) in [
            ("v1", "Pod"), ("v1", "Secret"), ("v1", "Event"), ("v1", "List"), ("apps/v1", "ControllerRevision"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            ("autoscaling/v2", "HorizontalPodAutoscaler"), ("meta.k8s.io/v1", "DeleteOptions"), ("v1", "Nothing"),
        ] {
            for raw in [&raw, &any] {
                if let Ok((_, object)) = proto::decode(&enveloped(version, kind, raw)) {
                    prop_assert!(object.as_object().is_some());
                }
            }
        }
    }
}
