//! Published Blueprints, as they are.

use std::path::PathBuf;

use pilothouse_protection::report;

fn blueprints() -> PathBuf {
    let corpus = std::env::var_os("PILOTHOUSE_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    corpus.join("blueprints")
}

#[test]
fn every_published_blueprint_loads_validates_and_renders() {
    let folder = blueprints();
    let reports = match report::folder(&folder) {
        Ok(reports) => reports,
        Err(error) => panic!("{error}"),
    };
    println!("{}", report::heading());
    for line in &reports {
        println!("{line}");
    }
    let mut files: Vec<_> = reports.iter().map(|r| &r.file).collect();
    files.sort();
    files.dedup();
    let actions = reports.len();
    let runs = reports.iter().filter(|r| r.problems.is_empty() && r.not_built.is_empty()).count();
    println!("{} files, {actions} actions, {runs} of them with functions that run here", files.len());
    assert_eq!(files.len(), 17);
    for report in &reports {
        assert!(report.problems.is_empty(), "{report}");
        assert_eq!(report.rendered, report.phases, "{report}");
    }
}
