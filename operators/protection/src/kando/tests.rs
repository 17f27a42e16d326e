//! Locations, through the same door as the command.

use super::*;

fn profile(folder: &Path, prefix: &str) -> String {
    serde_json::json!({
        "Location": {"type": "filestore", "bucket": folder, "endpoint": "", "prefix": prefix, "region": ""},
        "Credential": {"Type": "", "KeyPair": null, "Secret": null, "KopiaServerSecret": null},
        "SkipSSLVerify": false,
    })
    .to_string()
}

#[tokio::test]
async fn what_is_pushed_to_a_folder_is_pulled_again() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::parse(&profile(folder.path(), "/pre//fix/")).unwrap();
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    location.push("/a/b.gz", &mut data.as_slice()).await.unwrap();
    assert!(folder.path().join("pre/fix/a/b.gz").is_file());
    let mut back = Vec::new();
    location.pull("a/b.gz", &mut back).await.unwrap();
    assert_eq!(back, data);

    location.push("a/b.gz", &mut &b"short"[..]).await.unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, vec![b'x'; 100]).unwrap();
    pull_to_file(&location, "a/b.gz", &target).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"short");
}

#[tokio::test]
async fn deleting_takes_nothing_else_along() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::parse(&profile(folder.path(), "p")).unwrap();
    for path in ["backup-1", "backup-10", "dir/x", "dir/y"] {
        location.push(path, &mut &b"1"[..]).await.unwrap();
    }
    location.delete("backup-1", false).await.unwrap();
    location.delete("backup-1", false).await.unwrap();
    location.delete("dir", false).await.unwrap();
    let there = |path: &str| folder.path().join("p").join(path).exists();
    assert!(!there("backup-1") && there("backup-10") && there("dir/x"));
    for empty in ["", "/", "./"] {
        assert!(matches!(location.delete(empty, true).await, Err(Error::Path { .. })), "{empty}");
    }
    assert!(matches!(location.delete("../x", true).await, Err(Error::Path { .. })));
    location.delete("dir", true).await.unwrap();
    location.delete("backup-10", false).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "empty folders go too");
}

#[tokio::test]
async fn what_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::parse(&profile(folder.path(), "")).unwrap();
    let target = folder.path().join("t");
    assert!(matches!(pull_to_file(&location, "none", &target).await, Err(Error::NotFound(_))));
    assert!(!target.exists());
}

#[test]
fn profiles_that_cannot_be_used_are_refused_without_their_keys() {
    let s3 = |credential: serde_json::Value| {
        serde_json::json!({"location": {"TYPE": "s3Compliant", "Bucket": "b"}, "credential": credential})
            .to_string()
    };
    assert!(Location::parse(&s3(serde_json::json!({"KeyPair": {"ID": "i", "Secret": "CANARY"}}))).is_ok());
    let secret = serde_json::json!({"Secret": {"data": {"aws_access_key_id": "aQ==", "aws_secret_access_key": "cw=="}}});
    assert!(Location::parse(&s3(secret)).is_ok());
    for profile in [
        "CANARY".to_owned(),
        s3(serde_json::json!({"Secret": {"data": {"aws_access_key_id": "CANARY"}}})),
        serde_json::json!({"Location": {"type": "gcs", "bucket": "b"}}).to_string(),
        serde_json::json!({"Location": {"type": "s3compliant", "bucket": "b"}}).to_string(),
        serde_json::json!({"Location": {"type": "filestore"}}).to_string(),
    ] {
        let error = Location::parse(&profile).err().unwrap().to_string();
        assert!(!error.contains("CANARY"), "{error}");
    }
}
