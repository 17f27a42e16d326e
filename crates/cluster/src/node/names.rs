//! Names and addresses: which service is where, as a hosts file and as environment variables.
//!
//! There is no proxy and no DNS server: a service's name leads to the addresses of its ready pods, whether it is
//! headless or not, through the hosts file that each pod has at `/etc/hosts`. The file is written in place, because a
//! file that is bound into a container stays the same file. A port of a service must therefore be its target port.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use pilothouse_value::{Value, object};

use super::spec;

/// The domain that names of services end with.
pub(super) const DOMAIN: &str = "cluster.local";

type Key = (String, String);

/// Services, their endpoints, and the hosts files that follow them.
pub(super) struct Directory {
    /// Where pods reach the API. `None` when it has no socket.
    api: Option<SocketAddr>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    services: BTreeMap<Key, Arc<Value>>,
    endpoints: BTreeMap<Key, Arc<Value>>,
    files: BTreeMap<PathBuf, Reader>,
}

/// Whose hosts file it is.
struct Reader {
    namespace: String,
    /// Localhost, the pod itself, its aliases.
    head: String,
    /// What was written last.
    written: String,
}

impl Directory {
    pub(super) fn new(api: Option<SocketAddr>) -> Self {
        Self { api, state: Mutex::default() }
    }

    /// A service has come, changed or gone.
    pub(super) fn service(&self, key: Key, service: Option<Arc<Value>>) {
        let mut state = self.state.lock();
        set(&mut state.services, key, service);
        state.refresh(self.api);
    }

    /// Endpoints have come, changed or gone.
    pub(super) fn endpoints(&self, key: Key, endpoints: Option<Arc<Value>>) {
        let mut state = self.state.lock();
        set(&mut state.endpoints, key, endpoints);
        state.refresh(self.api);
    }

    /// Writes a pod's hosts file, and keeps it fresh until [`Directory::forget`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn follow(&self, file: &Path, pod: &Value, pod_ip: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        let head = head(pod, pod_ip);
        let namespace = spec::namespace(pod).to_owned();
        let text = head.clone() + &state.tail(&namespace, self.api);
        std::fs::write(file, &text)?;
        state.files.insert(file.to_owned(), Reader { namespace, head, written: text });
        Ok(())
    }

    /// The pod is gone.
    pub(super) fn forget(&self, file: &Path) {
        self.state.lock().files.remove(file);
    }

    /// `NAME_SERVICE_HOST` and `NAME_SERVICE_PORT` of a namespace's services. The host is the address of a pod that is
    /// ready now, because nothing answers at a cluster IP; names are the better way.
    pub(super) fn service_variables(&self, namespace: &str) -> Vec<(String, String)> {
        let state = self.state.lock();
        let mut variables = Vec::new();
        for ((_, name), service) in state.services.iter().filter(|((other, _), _)| other == namespace) {
            let address = state.addresses(namespace, name).first().map(|(ip, _)| ip.clone());
            let host = match (address, service.str_at(&["spec", "clusterIP"])) {
                (Some(ip), _) => ip,
                (None, Some(ip)) if ip != "None" && !ip.is_empty() => ip.to_owned(),
                _ => continue,
            };
            let prefix = name.to_ascii_uppercase().replace('-', "_");
            variables.push((format!("{prefix}_SERVICE_HOST"), host));
            for (index, port) in service.items_at(&["spec", "ports"]).iter().enumerate() {
                let Some(number) = port.i64_at(&["port"]) else { continue };
                if index == 0 {
                    variables.push((format!("{prefix}_SERVICE_PORT"), number.to_string()));
                }
                if let Some(name) = port.str_at(&["name"]).filter(|name| !name.is_empty()) {
                    let name = name.to_ascii_uppercase().replace('-', "_");
                    variables.push((format!("{prefix}_SERVICE_PORT_{name}"), number.to_string()));
                }
            }
        }
        variables
    }

    /// Where client libraries look for the API.
    pub(super) fn api_variables(&self) -> Vec<(String, String)> {
        let Some(api) = self.api else { return Vec::new() };
        vec![
            ("KUBERNETES_SERVICE_HOST".to_owned(), api.ip().to_string()),
            ("KUBERNETES_SERVICE_PORT".to_owned(), api.port().to_string()),
            ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), api.port().to_string()),
        ]
    }
}

fn set(map: &mut BTreeMap<Key, Arc<Value>>, key: Key, value: Option<Arc<Value>>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

impl State {
    fn refresh(&mut self, api: Option<SocketAddr>) {
        let mut tails: BTreeMap<String, String> = BTreeMap::new();
        for reader in self.files.values() {
            if !tails.contains_key(&reader.namespace) {
                tails.insert(reader.namespace.clone(), self.tail(&reader.namespace, api));
            }
        }
        for (path, reader) in &mut self.files {
            let text = reader.head.clone() + tails.get(&reader.namespace).map_or("", String::as_str);
            if text == reader.written {
                continue;
            }
            if let Err(error) = write_in_place(path, &text) {
                tracing::warn!(path = %path.display(), %error, "a hosts file could not be written");
                continue;
            }
            reader.written = text;
        }
    }

    /// Addresses of a service's ready endpoints, each with its host name if it has one.
    fn addresses(&self, namespace: &str, name: &str) -> Vec<(String, Option<String>)> {
        let key = (namespace.to_owned(), name.to_owned());
        let Some(endpoints) = self.endpoints.get(&key) else { return Vec::new() };
        // Services that publish addresses early are there so that peers find each other before they are ready.
        let early =
            self.services.get(&key).and_then(|service| service.at(&["spec", "publishNotReadyAddresses"]));
        let lists = if early.and_then(Value::as_bool) == Some(true) {
            &["addresses", "notReadyAddresses"][..]
        } else {
            &["addresses"]
        };
        let subsets = endpoints.items_at(&["subsets"]);
        let addresses =
            lists.iter().flat_map(|list| subsets.iter().flat_map(move |subset| subset.items_at(&[list])));
        let mut found: Vec<(String, Option<String>)> = Vec::new();
        for address in addresses {
            let Some(ip) = address.str_at(&["ip"]) else { continue };
            let host = address.str_at(&["hostname"]).map(str::to_owned);
            if !found.iter().any(|(other, _)| other == ip) {
                found.push((ip.to_owned(), host));
            }
        }
        found
    }

    /// The part of a hosts file that all pods of a namespace share.
    fn tail(&self, namespace: &str, api: Option<SocketAddr>) -> String {
        let mut text = String::from("\n# Services\n");
        if let Some(api) = api {
            line(&mut text, &api.ip().to_string(), "kubernetes", "default", namespace);
        }
        for ((home, name), service) in &self.services {
            if let Some(target) = service
                .str_at(&["spec", "externalName"])
                .filter(|name| name.parse::<std::net::IpAddr>().is_ok())
            {
                line(&mut text, target, name, home, namespace);
            }
            for (ip, host) in self.addresses(home, name) {
                line(&mut text, &ip, name, home, namespace);
                if let Some(host) = host {
                    line(&mut text, &ip, &format!("{host}.{name}"), home, namespace);
                }
            }
        }
        text
    }
}

/// All names that the search path of a pod in `namespace` would find, because a hosts file has no search path.
fn line(text: &mut String, ip: &str, name: &str, home: &str, namespace: &str) {
    let short = if home == namespace { format!(" {name}") } else { String::new() };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{ip}\t{name}.{home}.svc.{DOMAIN} {name}.{home}.svc {name}.{home}{short}");
}

fn head(pod: &Value, pod_ip: &str) -> String {
    let mut text = String::from(
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n",
    );
    let host = spec::hostname(pod);
    let own = match pod.str_at(&["spec", "subdomain"]).filter(|subdomain| !subdomain.is_empty()) {
        Some(subdomain) => format!("{host}.{subdomain}.{}.svc.{DOMAIN} {host}", spec::namespace(pod)),
        None => host.to_owned(),
    };
    let _ = writeln!(text, "{pod_ip}\t{own}");
    for alias in pod.items_at(&["spec", "hostAliases"]) {
        let names = spec::strings(alias, &["hostnames"]).join(" ");
        let _ = writeln!(text, "{}\t{names}", alias.str_at(&["ip"]).unwrap_or_default());
    }
    text
}

/// Never by renaming: whoever has the file bound would keep the old one.
fn write_in_place(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

/// The key of an object.
pub(super) fn key(value: &Value) -> Key {
    (object::namespace(value).unwrap_or_default().to_owned(), object::name(value).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    fn pod() -> Value {
        json!({"metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"subdomain": "web"}})
    }

    fn put(directory: &Directory, name: &str, addresses: Value) {
        let meta = json!({"name": name, "namespace": "shop"});
        let service = json!({"metadata": meta.clone(), "spec": {"ports": [{"name": "sql", "port": 5432}]}});
        let endpoints = json!({"metadata": meta, "subsets": [{"addresses": addresses}]});
        directory.service(key(&service), Some(Arc::new(service)));
        directory.endpoints(key(&endpoints), Some(Arc::new(endpoints)));
    }

    #[test]
    fn a_hosts_file_follows_endpoints_in_place() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hosts");
        let directory = Directory::new(None);
        directory.follow(&file, &pod(), "127.64.0.1").unwrap();
        let inode = std::fs::metadata(&file).unwrap().ino();
        put(&directory, "db", json!([{"ip": "127.64.0.2", "hostname": "db-0"}]));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("127.64.0.1\tweb-0.web.shop.svc.cluster.local web-0\n"), "{text}");
        assert!(text.contains("127.64.0.2\tdb.shop.svc.cluster.local db.shop.svc db.shop db\n"), "{text}");
        assert!(
            text.contains(
                "127.64.0.2\tdb-0.db.shop.svc.cluster.local db-0.db.shop.svc db-0.db.shop db-0.db\n"
            ),
            "{text}"
        );
        put(&directory, "db", json!([]));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("127.64.0.2"), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().ino(), inode);
    }

    #[test]
    fn another_namespace_has_no_short_names() {
        let directory = Directory::new(Some("127.0.0.1:6443".parse().unwrap()));
        put(&directory, "db", json!([{"ip": "127.64.0.2"}]));
        let text = directory.state.lock().tail("other", directory.api);
        assert!(text.contains("127.64.0.2\tdb.shop.svc.cluster.local db.shop.svc db.shop\n"), "{text}");
        assert!(text.contains("127.0.0.1\tkubernetes.default.svc.cluster.local"), "{text}");
    }

    #[test]
    fn variables_name_a_ready_pod() {
        let directory = Directory::new(None);
        put(&directory, "my-db", json!([{"ip": "127.64.0.2"}]));
        let variables = directory.service_variables("shop");
        let get = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(get("MY_DB_SERVICE_HOST"), Some("127.64.0.2"));
        assert_eq!(get("MY_DB_SERVICE_PORT"), Some("5432"));
        assert_eq!(get("MY_DB_SERVICE_PORT_SQL"), Some("5432"));
    }
}
