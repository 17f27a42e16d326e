//! The engine against what Go prints, and against whatever a generator throws at it.

use proptest::prelude::*;

use super::{Field, Missing, Template, TemplateError, Value, Zero};

fn data() -> Value {
    Value::structure(
        "param.TemplateParams",
        vec![
            Field::new("StatefulSet", Value::NilPointer("*param.StatefulSetParams")),
            Field::new("Name", "my-release"),
            Field::new("Time", "2024-03-05T07:08:09.123456789Z"),
            Field::new("Pods", Value::list(["a-0".into(), "a-1".into()])),
            Field::new("Options", Value::strings([(&"x".to_owned(), &"y".to_owned())])),
            Field::new(
                "Object",
                Value::from_json(&serde_json::json!({
                    "labels": {"app.io/name": "pg", "n": 3},
                    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Z", "status": "False"}],
                    "none": null,
                })),
            ),
            Field::new(
                "Secret",
                Value::map(Zero::Bytes, [("p".to_owned(), Value::Bytes(b"c2U=".as_slice().into()))]),
            ),
            Field::new("Later", Value::Unknown("<later>".into())),
        ],
    )
}

fn render(source: &str) -> Result<String, TemplateError> {
    Template::parse(source)?.render(&data(), Missing::Error)
}

#[test]
fn renders_as_go_does() {
    for (source, expected) in [
        ("plain }} text", "plain }} text"),
        ("a {{- /* gone */ -}} b", "ab"),
        ("{{ .Name }}-{{ .Options.x }}", "my-release-y"),
        ("{{ index .Object.labels \"app.io/name\" }}", "pg"),
        ("{{ (index .Object.conditions 1).type }}", "Z"),
        ("{{ len .Pods }} {{ len \"héé\" }}", "2 5"),
        ("{{ range .Pods }} {{.}}{{end}}", " a-0 a-1"),
        ("{{ range $i, $p := .Pods }}{{ if $i }},{{ end }}{{ $i }}={{ $p }}{{ end }}", "0=a-0,1=a-1"),
        ("{{- range $k, $_ := .Object.labels -}}{{$k}}{{break}}{{end}}", "app.io/name"),
        ("{{ range .Pods }}{{ if eq . \"a-0\" }}{{ continue }}{{ end }}{{ . }}{{ end }}", "a-1"),
        ("{{ range index .Object \"nothing\" }}x{{ else }}none{{ end }}", "none"),
        (
            "{{ $a := false }}{{ range $c := $.Object.conditions }}{{ if and (eq .type \"Ready\") (eq .status \"True\") }}{{ $a = true }}{{ end }}{{ end }}{{ $a }}",
            "true",
        ),
        ("{{ if index .Options \"none\" }}a{{ else if eq .Name \"x\" }}b{{ else }}c{{ end }}", "c"),
        ("{{ with .Name }}{{ . }}/{{ $.Options.x }}{{ end }}", "my-release/y"),
        ("{{ define \"t\" }}<{{ . }}>{{ end }}{{ template \"t\" .Name }}", "<my-release>"),
        ("{{ block \"b\" .Name }}[{{ . }}]{{ end }}", "[my-release]"),
        (
            "{{ toDate \"2006-01-02T15:04:05.999999999Z07:00\" .Time  | date \"2006-01-02T15-04-05\" }}",
            "2024-03-05T07-08-09",
        ),
        ("{{ .Time | date \"2006-01-02T15:04:05\" }}", "2024-03-05T07:08:09"),
        ("{{ .Secret.p | toString | b64dec }}", "se"),
        ("{{ .Name | upper | replace \"-\" \"_\" }}", "MY_RELEASE"),
        (
            "{{ printf \"%s|%5d|%-4s|%04d|%q|%.2f|%v\" \"a\" 7 \"b\" 42 \"c\\n\" 1.5 true }}",
            "a|    7|b   |0042|\"c\\n\"|1.50|true",
        ),
        ("{{ or \"\" .Name }} {{ and .Name 0 }} {{ not 1 }}", "my-release 0 false"),
        (
            "{{ eq .Name \"a\" \"my-release\" }} {{ lt 1 2 }} {{ ge \"b\" \"a\" }} {{ ne 1 2 }}",
            "true true true true",
        ),
        (
            "{{ quote .Name }} {{ squote 1 }} {{ toJson .Object.labels }}",
            "\"my-release\" '1' {\"app.io/name\":\"pg\",\"n\":3}",
        ),
        ("{{ `raw\\n` }}{{ 'a' }}{{ 0x10 }}{{ 1_000 }}", "raw\\n97161000"),
        (
            "{{ default \"d\" (index .Options \"none\") }} {{ ternary 1 2 true }} {{ add 1 2 3 }} {{ div 7 2 }}",
            "d 1 6 3",
        ),
        (
            "{{ list 1 \"a\" | join \"-\" }} {{ dict \"a\" 1 \"b\" 2 | keys | join \",\" }} {{ (split \"/\" \"a/b\")._1 }}",
            "1-a a,b b",
        ),
        ("{{ \"a\\nb\" | nindent 2 }}", "\n  a\n  b"),
        (
            "{{ print \"a\" 1 2 \"b\" }} {{ trunc 3 \"abcdef\" }} {{ trimSuffix \"-x\" \"a-x\" }}",
            "a1 2b abc a",
        ),
        ("x\n{{- if true }}\n y\n{{- end }}\nz", "x\n y\nz"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for (source, part) in [
        ("{{ .Options.hello }}", "Failed to render template: \"hello\" not found (in .Options.hello)"),
        ("{{ .StatefulSet.Name }}", "nil pointer evaluating *param.StatefulSetParams.Name"),
        ("{{ .Nope }}", "can't evaluate field Nope in type param.TemplateParams"),
        ("{{ .Object.none.x }}", "nil data"),
        ("{{ index .Object.labels \"absent\" }}-postgresql", "<no value>"),
        ("{{ index .Pods 7 }}", "index out of range: 7"),
        ("{{ .Name.x }}", "can't evaluate field x in type string"),
        ("{{ eq .Name 1 }}", "incompatible types"),
        ("{{ template \"none\" }}", "not defined"),
        ("{{ b64dec \"%\" }}", "error calling b64dec"),
        (
            "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
            "more than 100 nested actions",
        ),
        ("{{ repeat 1000000 \"abc\" }}", "longer than"),
    ] {
        let error = render(source).unwrap_err().to_string();
        assert!(error.contains(part), "{source}: {error}");
    }
}

#[test]
fn what_is_no_template_is_refused() {
    for (source, part) in [
        ("{{ .Options.hello-world }}", "bad character '-'"),
        ("a\n{{ if .Name }}", "line 2"),
        ("{{ end }}", "unexpected {{end}}"),
        ("{{ nope 1 }}", "function \"nope\" not defined"),
        ("{{ env \"HOME\" }}", "environment of the operator"),
        ("{{ $x }}", "undefined variable \"$x\""),
        ("{{ break }}", "outside {{range}}"),
        ("{{ \"a }}", "unterminated"),
        ("{{ (1 }}", "unclosed left paren"),
        ("{{ .Name | .Time }}", "pipeline"),
        ("{{ }}", "missing value"),
        ("{{ /* a */ b }}", "comment"),
    ] {
        let error = Template::parse(source).err().expect(source).to_string();
        assert!(error.contains(part), "{source}: {error}");
    }
}

#[test]
fn what_is_made_from_the_unknown_is_unknown() {
    for (source, expected) in [
        ("a {{ .Later.Output.x | toString | upper }}", "a <later.Output.x>"),
        ("{{ if .Later }}{{ .Name.x }}{{ else }}never{{ end }}|", "|"),
        ("{{ range .Later }}{{ .name }}{{ end }}", "<later>.item.name"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn conditions_of_kubectl_print_no_value() {
    let template = Template::parse("{{ .Options.none }}{{ if .Object.absent.deep }}x{{ end }}").unwrap();
    assert_eq!(template.render(&data(), Missing::Default).unwrap(), "<no value>");
    assert_eq!(template.render(&data(), Missing::Zero).unwrap(), "");
}

proptest! {
    /// No text makes the engine panic or run away.
    #[test]
    fn never_panics_on_noise(source in "(\\{\\{|\\}\\}|-|if|range|end|else|with|\\$x|:=|=|\\.|\\.Name|\\.Object|[ \n|(),\"`'0-9a-z]|printf|index|é){0,40}") {
        let _ = render(&source);
    }

    /// A name goes through unchanged, whatever a shell would make of it.
    #[test]
    fn values_come_out_verbatim(value in "\\PC{0,30}") {
        let data = Value::structure("T", vec![Field::new("V", value.as_str())]);
        let out = Template::parse("<{{ .V }}|{{ toJson .V }}>").unwrap().render(&data, Missing::Error).unwrap();
        let (plain, json) = out.strip_prefix('<').unwrap().strip_suffix('>').unwrap().split_at(value.len());
        prop_assert_eq!(plain, &value);
        let back: String = serde_json::from_str(json.strip_prefix('|').unwrap()).unwrap();
        prop_assert_eq!(back, value);
    }

    /// What a layout prints, it reads again.
    #[test]
    fn times_survive_a_round_trip(seconds in 0_i64..4_000_000_000, nanos in 0_i32..1_000_000_000) {
        use jiff::{Timestamp, tz::TimeZone};
        let time = Timestamp::new(seconds, nanos).unwrap().to_zoned(TimeZone::UTC);
        let text = super::time::format(&time, super::time::RFC3339_NANO);
        prop_assert_eq!(super::time::parse(super::time::RFC3339_NANO, &text).unwrap(), time);
    }
}
