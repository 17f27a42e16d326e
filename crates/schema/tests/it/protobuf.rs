//! Answers of a real kube-apiserver 1.37.2 that were recorded both as JSON and as protobuf, each letter by letter
//! (`conformance/builtins/protobuf.py`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_schema::{builtin, proto};
use pilothouse_value::{Gvk, Value, parse};

/// The recorded lines.
fn lines() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/recorded/protobuf/answers.txt");
    std::fs::read_to_string(file).unwrap()
}

/// Path, protobuf, JSON.
fn answers() -> Vec<(String, Vec<u8>, Value)> {
    lines()
        .lines()
        .map(|line| {
            let parts: Vec<&str> = line.split('\t').collect();
            let json = parse::json(parts[2].as_bytes()).unwrap().value;
            (parts[0].to_owned(), STANDARD.decode(parts[1]).unwrap(), json)
        })
        .collect()
}

#[test]
fn recorded_json_is_written_as_the_recorded_bytes() {
    let answers = answers();
    let mut different = Vec::new();
    for (path, bytes, json) in &answers {
        match proto::encode(json) {
            Some(ours) if ours == *bytes => {}
            Some(ours) => {
                let at = ours.iter().zip(bytes).take_while(|(a, b)| a == b).count();
                let piece = |bytes: &[u8]| {
                    String::from_utf8_lossy(&bytes[at.saturating_sub(40)..bytes.len().min(at + 60)])
                        .into_owned()
                };
                different.push(format!(
                    "{path} at {at}:\n real {:?}\n ours {:?}",
                    piece(bytes),
                    piece(&ours)
                ));
            }
            None => different.push(format!("{path}: no protobuf form: {json}")),
        }
    }
    assert!(different.is_empty(), "{} of {}:\n{}", different.len(), answers.len(), different.join("\n"));
    assert!(answers.len() > 250, "{} answers", answers.len());
}

#[test]
fn recorded_bytes_are_read_as_the_recorded_json() {
    let mut count = 0;
    for (path, bytes, json) in answers() {
        // Lists and what only answers are of are never read.
        let Ok((gvk, mut value)) = proto::decode(&bytes) else { continue };
        if gvk.kind.ends_with("List") {
            continue;
        }
        count += 1;
        builtin::decode(&gvk, &mut value).unwrap();
        let mut expected = json;
        // Protobuf does not say what an object inside an object is.
        for claim in expected
            .at_mut(&["spec", "volumeClaimTemplates"])
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            claim.take(&["kind"]);
            claim.take(&["apiVersion"]);
        }
        builtin::decode(&Gvk::of(&expected).unwrap_or_default(), &mut expected).unwrap();
        assert_eq!(value, expected, "{path}");
    }
    assert!(count > 80, "{count} objects");
}

#[test]
fn recorded_json_is_written_letter_by_letter() {
    for line in lines().lines() {
        let (path, expected) = (line.split('\t').next().unwrap(), line.split('\t').nth(2).unwrap());
        let value = parse::json(expected.as_bytes()).unwrap().value;
        let mut written = Vec::new();
        builtin::write_json(&value, &mut written);
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{path}");
    }
}
