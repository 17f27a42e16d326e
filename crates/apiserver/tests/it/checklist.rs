//! The checklist of `conformance/checklist.md`: what it names is there.

use std::path::{Path, PathBuf};

use pilothouse_value::{Value, parse};

/// How many rows each chapter has at least: none gets lost.
const CHAPTERS: [(&str, usize); 11] = [
    ("H", 10),
    ("D", 8),
    ("RV", 8),
    ("L", 8),
    ("W", 11),
    ("E", 13),
    ("C", 10),
    ("P", 7),
    ("S", 12),
    ("X", 10),
    ("U", 5),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_row_names_tests_and_recorded_answers_that_are_there() {
    let text = std::fs::read_to_string(root().join("conformance/checklist.md")).unwrap();
    let mut ids = Vec::new();
    let mut wrong = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id ")) {
        let (id, rest) = line[2..].split_once(" | ").unwrap();
        ids.push(id);
        let (_, proofs) =
            rest.rsplit_once(" | `").unwrap_or_else(|| panic!("{id} names nothing that holds it"));
        let proofs = proofs.trim_end_matches(" |").trim_end_matches('`');
        wrong.extend(proofs.split("` `").filter_map(|proof| Some(format!("{id}: {}", missing(proof)?))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (chapter, rows) in CHAPTERS {
        let of_chapter =
            |id: &&&str| id.strip_prefix(chapter).is_some_and(|rest| rest.parse::<u32>().is_ok());
        let found = ids.iter().filter(of_chapter).count();
        assert!(found >= rows, "{chapter} has {found} rows, not {rows}");
    }
}

/// What of a proof is not there; `None` if all is.
fn missing(proof: &str) -> Option<String> {
    if let Some(recorded) = proof.strip_prefix("truth ") {
        let (topic, step) =
            recorded.split_once(": ").map_or((recorded, None), |(topic, step)| (topic, Some(step)));
        let file = root().join(format!("conformance/recorded/truth/{topic}.json"));
        let Ok(bytes) = std::fs::read(file) else { return Some(format!("no topic {topic}")) };
        let steps = parse::json(&bytes).unwrap().value;
        let is_step = |recorded: &Value| step.is_none_or(|step| recorded.str_at(&["do"]) == Some(step));
        let found = steps.as_array().unwrap().iter().any(is_step);
        return (!found).then(|| format!("no step {} in {topic}", step.unwrap_or_default()));
    }
    let Some((file, test)) = proof.split_once("::") else {
        let found = root().join("conformance").join(proof).is_dir();
        return (!found).then(|| format!("no folder {proof}"));
    };
    let (krate, file) = file.split_once('/')?;
    let file = root().join(format!("crates/{krate}/tests/it/{file}.rs"));
    let Ok(source) = std::fs::read_to_string(&file) else { return Some(format!("no {}", file.display())) };
    (!source.contains(&format!("fn {test}("))).then(|| format!("no test {test} in {}", file.display()))
}
