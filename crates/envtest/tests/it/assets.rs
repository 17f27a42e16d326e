//! The folder that is printed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::plane::PROGRAM;

/// Runs the program with this PATH and cache folder, and returns what it printed to both streams.
fn print(path: &Path, cache: &Path, arguments: &[&str]) -> (PathBuf, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).env("PATH", path).env("XDG_CACHE_HOME", cache).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let printed = String::from_utf8(output.stdout).unwrap();
    (PathBuf::from(printed.strip_suffix('\n').unwrap()), said)
}

#[test]
fn it_has_the_tools_and_the_users_kubectl() {
    let home = tempfile::tempdir().unwrap();
    let (bin, cache) = (home.path().join("bin"), home.path().join("cache"));
    std::fs::create_dir_all(&bin).unwrap();
    let (folder, said) = print(&bin, &cache, &[]);
    assert!(
        folder.starts_with(cache.canonicalize().unwrap()) && said.starts_with("note: no kubectl"),
        "{said}"
    );
    assert!(!folder.join("kubectl").exists());
    std::os::unix::fs::symlink("/bin/sh", bin.join("kubectl")).unwrap();
    let (again, said) = print(&bin, &cache, &[]);
    assert_eq!((&again, said.as_str()), (&folder, ""));
    assert_eq!(std::fs::read_link(folder.join("kubectl")).unwrap(), bin.join("kubectl"));
    for (tool, version) in [("etcd", "etcd Version: "), ("kube-apiserver", "Kubernetes v1.37")] {
        let output = Command::new(folder.join(tool)).arg("--version").output().unwrap();
        assert!(output.stdout.starts_with(version.as_bytes()));
    }
    // The folder itself on PATH is not taken for the user's tools.
    let (_, said) = print(&folder, &cache, &[]);
    assert!(said.starts_with("note: no kubectl"), "{said}");
    let mut names: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["etcd", "kube-apiserver", "kubectl"], "no partial links");
}

#[test]
fn another_folder_can_be_asked_for_by_many_at_once() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("assets");
    let path = folder.to_str().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(print(home.path(), home.path(), &["--dir", path]).0.ends_with("assets")));
        }
    });
    assert_eq!(std::fs::read_link(folder.join("etcd")).unwrap(), Path::new(PROGRAM));
    assert_eq!(folder.read_dir().unwrap().count(), 2);
}
