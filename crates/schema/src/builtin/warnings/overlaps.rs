//! Warnings of files in a volume that hide one another.

use pilothouse_value::{Map, Value};

use super::MOST;

/// A file of a volume, and what it comes from if the volume has several sources.
#[derive(PartialEq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn title(&self) -> String {
        let path = pilothouse_value::field::quote(&self.path);
        if self.source.is_empty() { path } else { format!("{path} ({})", self.source) }
    }

    fn is_in_the_way_of(&self, other: &File) -> bool {
        let (one, two) = (format!("{}/", self.path), format!("{}/", other.path));
        !self.path.is_empty() && !other.path.is_empty() && (one.starts_with(&two) || two.starts_with(&one))
    }
}

/// Warns of the files of one volume.
pub(super) fn warn(volume: &Value, out: &mut Vec<String>) {
    let name = pilothouse_value::field::quote(volume.str_at(&["name"]).unwrap_or_default());
    let named =
        |source: &Value, key: &str| pilothouse_value::field::quote(source.str_at(&[key]).unwrap_or_default());
    for (kind, title, key) in [
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "DownwardAPI", ""),
    ] {
        let Some(source) = volume.get(kind) else { continue };
        let title = if key.is_empty() { title.to_owned() } else { format!("{title} {}", named(source, key)) };
        overlapping(&name, &title, files(source, ""), out);
    }
    let mut all = Vec::new();
    for source in volume.items_at(&["projected", "sources"]) {
        if source.as_object().is_some_and(Map::is_empty) {
            out.push(format!("volume {name} (Projected) has no sources provided"));
            continue;
        }
        let one = |path: &str, source: String| vec![File { path: path.to_owned(), source }];
        let more = if let Some(map) = source.get("configMap") {
            files(map, &format!("ConfigMap {}", named(map, "name")))
        } else if let Some(secret) = source.get("secret") {
            files(secret, &format!("Secret {}", named(secret, "name")))
        } else if let Some(downward) = source.get("downwardAPI") {
            files(downward, "DownwardAPI")
        } else if let Some(token) = source.get("serviceAccountToken") {
            one(token.str_at(&["path"]).unwrap_or_default(), "ServiceAccountToken".to_owned())
        } else if let Some(bundle) = source.get("clusterTrustBundle") {
            let key = if bundle.get("name").is_some() { "name" } else { "signerName" };
            let title = format!("ClusterTrustBundle {}", named(bundle, key));
            one(bundle.str_at(&["path"]).unwrap_or_default(), title)
        } else if let Some(certificate) = source.get("podCertificate") {
            let paths = [
                ("certificateChainPath", "PodCertificate chain"),
                ("keyPath", "PodCertificate key"),
                ("credentialBundlePath", "PodCertificate credential bundle"),
            ];
            let given = paths.iter().filter_map(|(key, title)| Some((certificate.str_at(&[key])?, title)));
            given.flat_map(|(path, title)| one(path, (*title).to_owned())).collect()
        } else {
            Vec::new()
        };
        all.extend(more);
    }
    overlapping(&name, "Projected", all, out);
}

fn files(source: &Value, title: &str) -> Vec<File> {
    let paths = source.items_at(&["items"]).iter().filter_map(|item| item.str_at(&["path"]));
    let file = |path: &str| File { path: path.trim_end_matches('/').to_owned(), source: title.to_owned() };
    paths.map(file).collect()
}

fn overlapping(volume: &str, title: &str, files: Vec<File>, out: &mut Vec<String>) {
    for (index, file) in files.iter().enumerate() {
        for before in files.iter().take(index).filter(|before| file.is_in_the_way_of(before)) {
            if out.len() > MOST {
                return;
            }
            let (file, before) = (file.title(), before.title());
            out.push(format!("volume {volume} ({title}): overlapping paths: {file} with {before}"));
        }
    }
}
