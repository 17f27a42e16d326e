//! Words through their public door: what upstream accepts and prints, ours accepts and prints.

use pilothouse_value::selector::{FieldSelector, LabelSelector};
use pilothouse_value::{Gvk, Map, Quantity, Status, Timestamp, Value, field, json, names, parse};
use proptest::prelude::*;

#[test]
fn documents_keep_whole_numbers_whole_and_keys_in_order() {
    let parsed = parse::json(br#"{"b": 9007199254740993, "a": 1.5, "c": 18446744073709551615}"#).unwrap();
    assert_eq!(parsed.value.i64_at(&["b"]), Some(9_007_199_254_740_993));
    assert_eq!(parsed.value.to_json(), r#"{"a":1.5,"b":9007199254740993,"c":18446744073709552000}"#);
}

#[test]
fn duplicate_keys_are_named_by_path_once_and_the_last_wins() {
    let parsed = parse::json(br#"{"a":1,"a":2,"a":3,"l":[{"x":1},{"x":1,"x":2}]}"#).unwrap();
    assert_eq!(parsed.duplicates, ["a", "l[1].x"]);
    assert_eq!(parsed.value.i64_at(&["a"]), Some(3));
}

#[test]
fn text_that_is_no_single_document_is_refused() {
    let deep = format!("{}{}", "[".repeat(10_001), "]".repeat(10_001));
    for bad in ["", "{", "{} {}", "NaN", "{1:2}", &deep] {
        assert!(parse::json(bad.as_bytes()).is_err(), "{bad:.20}");
    }
}

#[test]
fn yaml_reads_the_booleans_of_yaml_1_1() {
    let value = parse::yaml("a: yes\nb: 'yes'\nc: 010\nd: [1, x]\n").unwrap().value;
    assert_eq!(value.get("b"), Some(&json!("yes")));
    assert_eq!(value.get("d"), Some(&json!([1, "x"])));
}

#[test]
fn setting_a_path_makes_the_objects_on_the_way() {
    let mut value = json!({"a": 1});
    value.set(&["a", "b", "c"], true);
    assert_eq!(value, json!({"a": {"b": {"c": true}}}));
    assert_eq!(value.take(&["a", "b", "c"]), Some(json!(true)));
    assert_eq!(value.take(&["a", "x", "c"]), None);
}

#[test]
fn a_document_says_its_kind() {
    assert_eq!(
        Gvk::of(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})),
        Some(Gvk::new("apps", "v1", "Deployment"))
    );
    assert_eq!(Gvk::of(&json!({"apiVersion": "v1", "kind": "Pod"})).unwrap().to_string(), "v1, Kind=Pod");
    assert_eq!(Gvk::of(&json!({"apiVersion": "a/b/c", "kind": "Pod"})), None);
}

#[test]
fn quantities_compare_by_value_and_print_canonically() {
    for (text, canonical, milli) in [
        ("100m", "100m", 100),
        ("0.1", "100m", 100),
        ("1", "1", 1000),
        ("1024", "1024", 1_024_000),
        ("1Ki", "1Ki", 1_024_000),
        ("1.5Gi", "1536Mi", 1_610_612_736_000),
        ("1000k", "1M", 1_000_000_000),
        ("2e3", "2e3", 2_000_000),
        ("0", "0", 0),
        ("-1.5", "-1500m", -1500),
        ("0.5Ki", "512", 512_000),
        ("1000Ki", "1000Ki", 1_024_000_000),
        ("1n", "1n", 1),
        ("0.0000000001", "1n", 1),
        ("1000e18", "1e21", i64::MAX),
        ("16Ei", "9223372036854775807", i64::MAX),
        ("0.0001Ki", "102400u", 103),
    ] {
        let quantity: Quantity = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((quantity.to_string().as_str(), quantity.milli_value()), (canonical, milli), "{text}");
    }
    for bad in ["", "1.2.3", "1mm", "abc", "1 Gi", "--1", "1i", "1e", "1e9999999999999"] {
        assert!(bad.parse::<Quantity>().is_err(), "{bad}");
    }
}

#[test]
fn quantities_are_spelled_as_they_were_where_upstream_takes_that_for_canonical() {
    for (text, spelled) in [
        ("+1", "+1"),
        ("1.", "1."),
        ("1.500", "1.500"),
        ("1.50", "1500m"),
        ("00", "0"),
        ("-0", "0"),
        (".5", "500m"),
        ("007", "007"),
        ("1024Ki", "1Mi"),
        ("1000Ki", "1000Ki"),
        ("1e100", "10e99"),
        ("10e9999", "10e9999"),
        ("1000010e1000", "10000100e999"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.23456789012345678901234567890", "1234567891n"),
        ("9999999999999999999E", "9999999999999999999E"),
    ] {
        assert_eq!(Quantity::canonical(text).as_deref(), Ok(spelled), "{text}");
    }
}

#[test]
fn label_selectors_select_as_upstream_does() {
    let labels: Map = [("app", "web"), ("n", "5"), ("empty", "")].into_iter().collect();
    for (selector, selected) in [
        ("", true),
        ("app=web", true),
        ("app == web", true),
        ("app!=web", false),
        ("other!=web", true),
        ("app in (db, web)", true),
        ("app notin (db)", true),
        ("app", true),
        ("!app", false),
        ("!other,app=web", true),
        ("n>4", true),
        ("n<5", false),
        ("empty=", true),
    ] {
        assert_eq!(LabelSelector::parse(selector).unwrap().matches(Some(&labels)), selected, "{selector}");
    }
    for bad in
        ["=a", "app in web", "app in (a", "a=b=c", "app,,b", "app=web,", "n>x", "a b", "-=x", "a in ()x"]
    {
        assert!(LabelSelector::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_missing_selector_object_selects_nothing_and_an_empty_one_everything() {
    assert!(!LabelSelector::from_object(&Value::Null).unwrap().matches(None));
    assert!(LabelSelector::from_object(&json!({})).unwrap().matches(None));
    let selector =
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]});
    assert_eq!(LabelSelector::from_object(&selector).unwrap().to_string(), "a=b,!c");
    assert!(
        LabelSelector::from_object(&json!({"matchExpressions": [{"key": "c", "operator": "Like"}]})).is_err()
    );
}

#[test]
fn field_selectors_compare_text_and_unescape() {
    let value_of = |field: &str| if field == "metadata.name" { "a,b".into() } else { "".into() };
    assert!(FieldSelector::parse(r"metadata.name=a\,b,status.phase!=Running").unwrap().matches(value_of));
    assert!(!FieldSelector::parse("metadata.name==x").unwrap().matches(value_of));
    assert_eq!(FieldSelector::parse("metadata.name=x").unwrap().exact("metadata.name"), Some("x"));
    for bad in ["a", r"a=\x", "a=b=c"] {
        assert!(FieldSelector::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn invalid_objects_name_each_field_in_one_text_and_in_causes() {
    let spec = field::Path::new("spec");
    let errors = [
        field::Error::required(&spec.child("template"), ""),
        field::Error::unsupported(&spec.child("ports").index(0).child("protocol"), "X", ["TCP", "UDP"]),
    ];
    let status = Status::invalid("apps", "Deployment", "web", &errors).to_value();
    assert_eq!(
        status.str_at(&["message"]),
        Some(
            "Deployment.apps \"web\" is invalid: [spec.template: Required value, spec.ports[0].protocol: \
             Unsupported value: \"X\": supported values: \"TCP\", \"UDP\"]"
        )
    );
    assert_eq!(
        status.at(&["details", "causes"]).unwrap().as_array().unwrap()[0],
        json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.template"})
    );
}

#[test]
fn statuses_say_what_upstream_says() {
    assert_eq!(Status::not_found("apps", "deployments", "x").message, "deployments.apps \"x\" not found");
    assert_eq!(Status::not_found("", "pods", "x").to_value().str_at(&["details", "kind"]), Some("pods"));
    assert_eq!(
        Status::modified("", "configmaps", "x").message,
        "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; please apply your changes \
         to the latest version and try again"
    );
    assert_eq!(
        Status::method_not_allowed("", "pods", "patch").message,
        "patch is not supported on resources of kind \"pods\""
    );
}

#[test]
fn names_are_checked_as_upstream_checks_them() {
    assert!(names::dns1123_subdomain("a.b-c.d1").is_empty());
    assert!(names::dns1123_label("a.b")[0].contains("must not contain dots"));
    assert_eq!(
        names::dns1123_subdomain("A_b"),
        [
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
          start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
          '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ]
    );
    assert!(names::qualified_name("example.com/My_Name").is_empty());
    assert_eq!(names::qualified_name("/x"), ["prefix part must be non-empty"]);
    assert!(names::label_value("").is_empty() && !names::label_value("-").is_empty());
    assert!(names::path_segment("a:b").is_empty() && !names::path_segment("a/b").is_empty());
}

#[test]
fn times_print_as_metadata_and_as_micro_time() {
    let time = Timestamp::parse("2026-11-30T08:00:00.25+01:00").unwrap();
    assert_eq!(
        (time.to_string().as_str(), time.micro().as_str()),
        ("2026-11-30T07:00:00Z", "2026-11-30T07:00:00.250000Z")
    );
    assert!(Timestamp::parse("yesterday").is_err());
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("JSON has no other", |f| f.is_finite() && f.fract() != 0.0)
            .prop_map(Value::Float),
        ".{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Whether JSON has only characters that YAML takes, and takes in the same way.
fn is_yaml(json: &str) -> bool {
    json.chars().all(|c| matches!(c, ' '..='~' | '\u{a1}'..='\u{1fff}'))
}

/// What a YAML document may be made of.
fn yamls() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z0-9.+-]{0,4}",
        "(yes|~|0x1f|010|1_0|1e3|\\.inf|<<|\\*a|&a |!!str |!!int |!x )",
        "(: |:|- |, |\\[|\\]|\\{|\\}|\"|'|#|\\||>|\n|\n  |\t|---\n|%|\\\\)",
    ];
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn yaml_has_one_form_in_json_and_json_is_yaml(text in yamls()) {
        if let Ok(read) = parse::yaml(&text) {
            let json = read.value.to_json();
            prop_assert_eq!(&parse::json(json.as_bytes()).unwrap().value, &read.value);
            if is_yaml(&json) {
                prop_assert_eq!(&parse::yaml(&json).unwrap().value, &read.value);
            }
        }
    }

    #[test]
    fn a_document_is_the_same_in_yaml_as_in_json(document in documents()) {
        let json = document.to_json();
        prop_assume!(is_yaml(&json));
        prop_assert_eq!(&parse::yaml(&json).unwrap().value, &document);
        // In front of a comment, the shortcut for plain JSON is no way.
        prop_assert_eq!(&parse::yaml(format!("#\n{json}")).unwrap().value, &document);
    }

    #[test]
    fn a_selector_is_the_same_when_printed_and_read(text in "(a|b/c|in|notin|!|=|==|!=|>|<| in | notin |\\(|\\)|,|1|-| |\\\\){0,12}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
        }
        if let Ok(selector) = FieldSelector::parse(&text) {
            prop_assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
        }
    }

    #[test]
    fn a_canonical_quantity_is_its_own_canonical_form(text in "[+-]?[0-9]{0,22}\\.?[0-9]{0,22}(n|u|m||k|M|G|E|Ki|Ei|e-?[0-9]{1,3}|E)") {
        if let Ok(quantity) = text.parse::<Quantity>() {
            let canonical = Quantity::canonical(&text).unwrap();
            // Beyond a quintillion upstream's units end, and it writes none.
            if quantity.nano().unsigned_abs() < 10u128.pow(30) {
                prop_assert_eq!(canonical.parse::<Quantity>(), Ok(quantity));
            }
            prop_assert_eq!(Quantity::canonical(&canonical), Ok(canonical));
        }
    }

    #[test]
    fn a_time_is_the_same_when_printed_and_read(seconds in -62_167_219_200i64..253_402_300_800, nanos in 0u32..1_000_000_000) {
        let time = Timestamp::from_unix_seconds(seconds).plus(std::time::Duration::from_nanos(nanos.into()));
        prop_assert_eq!(Timestamp::parse(&time.nano()), Ok(time));
        prop_assert_eq!(Timestamp::parse(&time.to_string()).map(Timestamp::unix_seconds), Ok(seconds));
    }

    #[test]
    fn printing_and_parsing_a_document_gives_it_back(document in documents()) {
        prop_assert_eq!(parse::json(document.to_json().as_bytes()).unwrap().value, document);
    }

    #[test]
    fn no_text_breaks_a_parser(text in ".{0,40}") {
        let _ = (parse::json(text.as_bytes()), parse::yaml(&text), LabelSelector::parse(&text), FieldSelector::parse(&text));
        let _ = (text.parse::<Quantity>(), Timestamp::parse(&text), names::qualified_name(&text));
    }

    #[test]
    fn a_quantity_keeps_its_value_when_printed_and_read(n in -1_000_000_000_000i64..1_000_000_000_000, unit in "(n|u|m||k|M|G|Ki|Mi|Gi)") {
        let quantity: Quantity = format!("{n}{unit}").parse().unwrap();
        let again: Quantity = quantity.to_string().parse().unwrap();
        prop_assert_eq!(quantity, again);
    }
}

/// As upstream's `constructBytes`, which finds no unit for ten to the power of 21 and writes what is before it.
#[test]
fn a_decimal_quantity_beyond_a_quintillion_loses_its_unit_as_upstreams_does() {
    assert_eq!(Quantity::canonical("999E").as_deref(), Ok("999E"));
    assert_eq!(Quantity::canonical("1000E").as_deref(), Ok("1"));
    assert_eq!(Quantity::canonical("1e21").as_deref(), Ok("1e21"));
}

#[test]
fn keys_are_told_to_the_end_of_a_text_with_bytes_that_are_no_characters() {
    let text = b"{\"a\xff\":1,\"b\":{\"c\":\"\\ud800\",\"c\":2},\"b\":3}";
    let mut keys = Vec::new();
    parse::json_keys(text, |path| keys.push(path.to_owned()));
    assert_eq!(keys, ["a\u{fffd}", "b", "b.c", "b.c", "b"]);
    assert_eq!(parse::json(text).unwrap().duplicates, ["b.c", "b"]);
}
