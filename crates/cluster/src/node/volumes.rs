//! Volumes of a pod, as directories of the host.
//!
//! Contents that come from the API are written as the kubelet writes them: into a directory of their own, which the
//! link `..data` leads to; a change is one rename of that link, so a reader sees all of the old or all of the new.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use nix::unistd::{Gid, Uid, chown};
use pilothouse_value::{Value, object};

use super::api::{Api, Missing};
use super::sandbox::Mount;
use super::{env, spec};

/// Why a pod's volumes are not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum VolumeError {
    /// Something that the volume needs is not there yet: try again.
    #[error("MountVolume.SetUp failed for volume {volume:?} : {why}")]
    Missing {
        /// The volume's name.
        volume: String,
        /// What is missing.
        why: Missing,
    },
    /// The host's files do not allow it.
    #[error("MountVolume.SetUp failed for volume {volume:?} : {path}: {source}")]
    Files {
        /// The volume's name.
        volume: String,
        /// Which path.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// What a volume leads to, by the volume's name.
pub(super) type Sources = BTreeMap<String, Source>;

/// Where a volume's files are.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The API's contents are never written to.
    pub(super) read_only: bool,
}

/// Where a pod's volumes are made, and for whom.
pub(super) struct Volumes<'a> {
    pub(super) api: &'a Api,
    pub(super) pod: &'a Value,
    /// The pod's directory for volumes.
    pub(super) dir: &'a Path,
    pub(super) pod_ip: &'a str,
    pub(super) host_ip: &'a str,
    /// Files may be given to other groups.
    pub(super) privileged: bool,
}

type Files = BTreeMap<String, (Vec<u8>, u32)>;

impl Volumes<'_> {
    /// Makes all volumes; again, to bring contents up to date.
    ///
    /// # Errors
    /// The first volume that could not be made.
    pub(super) async fn make(&self) -> Result<Sources, VolumeError> {
        let mut sources = Sources::new();
        for volume in self.pod.items_at(&["spec", "volumes"]) {
            let name = volume.str_at(&["name"]).unwrap_or_default().to_owned();
            let source = self.volume(&name, volume).await?;
            sources.insert(name, source);
        }
        Ok(sources)
    }

    async fn volume(&self, name: &str, volume: &Value) -> Result<Source, VolumeError> {
        let missing = |why: Missing| VolumeError::Missing { volume: name.to_owned(), why };
        // A name is a DNS label, so it is a good name for a directory, too.
        let dir = self.dir.join(name);
        let files = |path: &Path, source: io::Error| VolumeError::Files {
            volume: name.to_owned(),
            path: path.display().to_string(),
            source,
        };
        if volume.get("emptyDir").is_some() {
            if !dir.exists() {
                fs::create_dir_all(&dir).map_err(|error| files(&dir, error))?;
                fs::set_permissions(&dir, fs::Permissions::from_mode(0o777))
                    .map_err(|error| files(&dir, error))?;
                self.give_to_group(&dir).map_err(|error| files(&dir, error))?;
            }
            return Ok(Source { path: dir, read_only: false });
        }
        if let Some(host) = volume.get("hostPath") {
            let path = host_path(host)
                .map_err(|error| files(Path::new(host.str_at(&["path"]).unwrap_or_default()), error))?;
            return Ok(Source { path, read_only: false });
        }
        let claim = match (volume.get("persistentVolumeClaim"), volume.get("ephemeral")) {
            (Some(claim), _) => Some((
                claim.str_at(&["claimName"]).unwrap_or_default().to_owned(),
                claim.get("readOnly").and_then(Value::as_bool) == Some(true),
            )),
            (None, Some(_)) => Some((format!("{}-{name}", object::name(self.pod)), false)),
            _ => None,
        };
        if let Some((claim, read_only)) = claim {
            let path = self.claim(&claim).await.map_err(missing)?;
            if !path.is_dir() {
                return Err(files(&path, io::Error::from(io::ErrorKind::NotFound)));
            }
            self.give_to_group(&path).map_err(|error| files(&path, error))?;
            return Ok(Source { path, read_only });
        }
        let contents = self.contents(volume).await.map_err(missing)?;
        fs::create_dir_all(&dir).map_err(|error| files(&dir, error))?;
        write_atomically(&dir, &contents).map_err(|error| files(&dir, error))?;
        self.give_to_group(&dir).map_err(|error| files(&dir, error))?;
        Ok(Source { path: dir, read_only: true })
    }

    /// The folder behind a claim.
    async fn claim(&self, name: &str) -> Result<PathBuf, Missing> {
        let namespace = spec::namespace(self.pod);
        let claim = self.api.claim(namespace, name).await?;
        let bound = claim
            .str_at(&["spec", "volumeName"])
            .filter(|_| claim.str_at(&["status", "phase"]) == Some("Bound"));
        let Some(volume) = bound else {
            return Err(Missing(format!("persistentvolumeclaim {namespace}/{name} is not bound yet")));
        };
        let volume = self.api.persistent_volume(volume).await?;
        let path = volume
            .str_at(&["spec", "hostPath", "path"])
            .or_else(|| volume.str_at(&["spec", "local", "path"]));
        path.map(PathBuf::from).ok_or_else(|| {
            Missing(format!(
                "persistentvolume {} is no folder of this machine: the process node mounts `hostPath` and `local` only",
                object::name(&volume)
            ))
        })
    }

    /// Files of a volume whose contents come from the API.
    async fn contents(&self, volume: &Value) -> Result<Files, Missing> {
        let mut files = Files::new();
        if let Some(source) = volume.get("configMap") {
            self.data("configMap", source, "name", mode(source, 0o644), &mut files).await?;
        } else if let Some(source) = volume.get("secret") {
            self.data("secret", source, "secretName", mode(source, 0o644), &mut files).await?;
        } else if let Some(source) = volume.get("downwardAPI") {
            self.downward(source, mode(source, 0o644), &mut files)?;
        } else if let Some(source) = volume.get("projected") {
            let default = mode(source, 0o644);
            for source in source.items_at(&["sources"]) {
                if let Some(source) = source.get("configMap") {
                    self.data("configMap", source, "name", default, &mut files).await?;
                } else if let Some(source) = source.get("secret") {
                    self.data("secret", source, "name", default, &mut files).await?;
                } else if let Some(source) = source.get("downwardAPI") {
                    self.downward(source, default, &mut files)?;
                } else if let Some(source) = source.get("serviceAccountToken") {
                    let token = self.api.token(self.pod, source).await?;
                    let path = source.str_at(&["path"]).unwrap_or("token");
                    put(&mut files, path, token.into_bytes(), default)?;
                } else {
                    return Err(unknown(source));
                }
            }
        } else {
            return Err(unknown(volume));
        }
        Ok(files)
    }

    async fn data(
        &self,
        kind: &str,
        source: &Value,
        name: &str,
        default: u32,
        files: &mut Files,
    ) -> Result<(), Missing> {
        let mut reference = Value::from(source.get("name").cloned());
        if let Some(name) = source.get(name) {
            reference = name.clone();
        }
        let optional = source.get("optional").and_then(Value::as_bool) == Some(true);
        let mut whole = Value::default();
        whole.set(&["name"], reference);
        whole.set(&["optional"], optional);
        let namespace = spec::namespace(self.pod);
        let Some(data) = self.api.data_of(namespace, kind, &whole).await? else { return Ok(()) };
        let items = source.items_at(&["items"]);
        if items.is_empty() {
            for (key, bytes) in data {
                put(files, &key, bytes, default)?;
            }
            return Ok(());
        }
        let data: BTreeMap<String, Vec<u8>> = data.into_iter().collect();
        for item in items {
            let key = item.str_at(&["key"]).unwrap_or_default();
            match data.get(key) {
                Some(bytes) => put(
                    files,
                    item.str_at(&["path"]).unwrap_or(key),
                    bytes.clone(),
                    item_mode(item, default),
                )?,
                None if optional => {}
                None => return Err(Missing(format!("references non-existent {kind} key: {key}"))),
            }
        }
        Ok(())
    }

    fn downward(&self, source: &Value, default: u32, files: &mut Files) -> Result<(), Missing> {
        for item in source.items_at(&["items"]) {
            let text = if let Some(reference) = item.get("fieldRef") {
                let path = reference.str_at(&["fieldPath"]).unwrap_or_default();
                env::field(path, self.pod, self.pod_ip, self.host_ip)?
            } else {
                let reference = item.get("resourceFieldRef").cloned().unwrap_or_default();
                let name = reference.str_at(&["containerName"]).unwrap_or_default();
                let container = spec::container(self.pod, name).cloned().unwrap_or_default();
                env::resource(&reference, &container)?
            };
            put(
                files,
                item.str_at(&["path"]).unwrap_or_default(),
                text.into_bytes(),
                item_mode(item, default),
            )?;
        }
        Ok(())
    }

    /// `fsGroup`: the volume belongs to the group, which may write to it.
    fn give_to_group(&self, path: &Path) -> io::Result<()> {
        let Some(group) =
            self.pod.i64_at(&["spec", "securityContext", "fsGroup"]).and_then(|gid| u32::try_from(gid).ok())
        else {
            return Ok(());
        };
        if self.privileged { give_tree(path, group) } else { Ok(()) }
    }
}

fn give_tree(path: &Path, group: u32) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(());
    }
    chown(path, None::<Uid>, Some(Gid::from_raw(group)))?;
    let mode = metadata.permissions().mode();
    let more = if metadata.is_dir() { 0o2770 } else { (mode & 0o600) >> 3 };
    fs::set_permissions(path, fs::Permissions::from_mode((mode | more) & 0o7777))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            give_tree(&entry?.path(), group)?;
        }
    }
    Ok(())
}

fn unknown(volume: &Value) -> Missing {
    let keys =
        volume.as_object().map(|map| map.keys().filter(|key| *key != "name").collect::<Vec<_>>().join(", "));
    Missing(format!("the process node cannot mount volumes of this type: {}", keys.unwrap_or_default()))
}

fn mode(source: &Value, default: u32) -> u32 {
    source.i64_at(&["defaultMode"]).and_then(|mode| u32::try_from(mode).ok()).unwrap_or(default)
}

fn item_mode(item: &Value, default: u32) -> u32 {
    item.i64_at(&["mode"]).and_then(|mode| u32::try_from(mode).ok()).unwrap_or(default)
}

fn put(files: &mut Files, path: &str, bytes: Vec<u8>, mode: u32) -> Result<(), Missing> {
    let inside =
        !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return Err(Missing(format!("the path {path:?} leads out of the volume")));
    }
    files.insert(path.to_owned(), (bytes, mode));
    Ok(())
}

/// A directory or file of the host, made when the volume's type says so.
fn host_path(source: &Value) -> io::Result<PathBuf> {
    let path = PathBuf::from(source.str_at(&["path"]).unwrap_or_default());
    let kind = source.str_at(&["type"]).unwrap_or_default();
    match kind {
        "DirectoryOrCreate" => fs::create_dir_all(&path)?,
        "FileOrCreate" if !path.exists() => drop(fs::File::create(&path)?),
        _ => {}
    }
    let metadata = fs::metadata(&path)?;
    let fits = match kind {
        "Directory" | "DirectoryOrCreate" => metadata.is_dir(),
        "File" | "FileOrCreate" => metadata.is_file(),
        _ => true,
    };
    if fits {
        Ok(path)
    } else {
        Err(io::Error::other(format!("hostPath type check failed: is not a {kind}")))
    }
}

/// Replaces a volume's contents in one step; does nothing when they are the same.
fn write_atomically(dir: &Path, files: &Files) -> io::Result<()> {
    let link = dir.join("..data");
    let old = fs::read_link(&link).ok();
    if let Some(old) = &old
        && same(&dir.join(old), files)
    {
        return Ok(());
    }
    let next = match old.as_ref().and_then(|old| old.to_str()?.strip_prefix("..")?.parse::<u64>().ok()) {
        Some(number) => format!("..{}", number + 1),
        None => "..1".to_owned(),
    };
    let fresh = dir.join(&next);
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir(&fresh)?;
    for (path, (bytes, mode)) in files {
        let file = fresh.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&file, bytes)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(*mode))?;
    }
    let temporary = dir.join("..data_tmp");
    let _ = fs::remove_file(&temporary);
    symlink(&next, &temporary)?;
    fs::rename(&temporary, &link)?;
    let tops: std::collections::BTreeSet<&str> =
        files.keys().filter_map(|path| path.split('/').next()).collect();
    for top in &tops {
        let at = dir.join(top);
        if fs::symlink_metadata(&at).is_err() {
            symlink(Path::new("..data").join(top), &at)?;
        }
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with("..") && !tops.contains(&*name) {
            fs::remove_file(entry.path())?;
        }
    }
    if let Some(old) = old {
        fs::remove_dir_all(dir.join(old))?;
    }
    Ok(())
}

fn same(dir: &Path, files: &Files) -> bool {
    count(dir) == files.len()
        && files.iter().all(|(path, (bytes, _))| fs::read(dir.join(path)).is_ok_and(|old| old == *bytes))
}

fn count(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| if entry.file_type().is_ok_and(|kind| kind.is_dir()) { count(&entry.path()) } else { 1 })
        .sum()
}

/// What a container mounts of its pod's volumes.
///
/// # Errors
/// A text for people when a mount leads out of its volume or to a volume that is not there.
pub(super) fn mounts(
    container: &Value,
    sources: &Sources,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Mount>, String> {
    let mut mounts = Vec::new();
    for mount in container.items_at(&["volumeMounts"]) {
        let name = mount.str_at(&["name"]).unwrap_or_default();
        let target = PathBuf::from("/").join(mount.str_at(&["mountPath"]).unwrap_or_default());
        let Some(source) = sources.get(name) else { return Err(format!("the volume {name:?} is not there")) };
        let sub_path = match (mount.str_at(&["subPath"]), mount.str_at(&["subPathExpr"])) {
            (Some(path), _) if !path.is_empty() => path.to_owned(),
            (_, Some(path)) => super::expand::expand(path, &lookup),
            _ => String::new(),
        };
        let mut path = source.path.clone();
        if !sub_path.is_empty() {
            if Path::new(&sub_path)
                .components()
                .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
            {
                return Err(format!("the subPath {sub_path:?} leads out of the volume {name:?}"));
            }
            path.push(&sub_path);
            if !path.exists() {
                fs::create_dir_all(&path).map_err(|error| format!("making {}: {error}", path.display()))?;
            }
            let (real, root) = (fs::canonicalize(&path), fs::canonicalize(&source.path));
            match (real, root) {
                (Ok(real), Ok(root)) if real.starts_with(&root) => {}
                _ => return Err(format!("the subPath {sub_path:?} leads out of the volume {name:?}")),
            }
        }
        let read_only = source.read_only || mount.get("readOnly").and_then(Value::as_bool) == Some(true);
        mounts.push(Mount { source: path, target, read_only });
    }
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries.iter().map(|(path, text)| ((*path).to_owned(), (text.as_bytes().to_vec(), 0o644))).collect()
    }

    #[test]
    fn contents_are_replaced_in_one_step() {
        let dir = tempfile::tempdir().unwrap();
        let read = |path: &str| fs::read_to_string(dir.path().join(path)).ok();
        write_atomically(dir.path(), &files(&[("a", "1"), ("sub/b", "2")])).unwrap();
        assert_eq!((read("a").as_deref(), read("sub/b").as_deref()), (Some("1"), Some("2")));
        let before = fs::read_link(dir.path().join("..data")).unwrap();
        write_atomically(dir.path(), &files(&[("a", "1"), ("sub/b", "2")])).unwrap();
        assert_eq!(fs::read_link(dir.path().join("..data")).unwrap(), before);
        write_atomically(dir.path(), &files(&[("a", "3")])).unwrap();
        assert_eq!((read("a").as_deref(), read("sub/b")), (Some("3"), None));
        assert!(!dir.path().join(before).exists());
    }

    #[test]
    fn a_path_stays_in_its_volume() {
        for path in ["../x", "/etc/x", "a/../../x", ""] {
            assert!(put(&mut Files::new(), path, Vec::new(), 0o644).is_err(), "{path}");
        }
    }

    #[test]
    fn a_sub_path_is_made_and_stays_in_its_volume() {
        let dir = tempfile::tempdir().unwrap();
        let source = Source { path: dir.path().to_owned(), read_only: false };
        let sources = Sources::from([("data".to_owned(), source)]);
        let mount = |sub: &str| {
            let container = json!({"volumeMounts": [{"name": "data", "mountPath": "/d", "subPath": sub}]});
            mounts(&container, &sources, |_| None)
        };
        assert_eq!(mount("pg").unwrap()[0].source, dir.path().join("pg"));
        assert!(mount("../up").is_err());
        symlink("/etc", dir.path().join("out")).unwrap();
        assert!(mount("out").is_err());
    }
}
