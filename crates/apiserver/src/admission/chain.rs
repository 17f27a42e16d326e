//! Which plugins run, and in which order: upstream's table of names, and what was turned on and off.

use std::sync::Arc;

use super::configuration::{ConfigurationError, Settings};
use super::{
    Plugin, accounts, always, certificates, defaults, events, images, lifecycle, limits, node_restriction,
    node_selectors, nodes, owners, priority, quota, resize, runtime, security, storage, tolerations,
    topology,
};

/// A plugin of the table.
struct Entry {
    /// Its name, as in `--enable-admission-plugins`.
    name: &'static str,
    /// What it does; `None` for those that are asked over the network, and for those that have nothing to do.
    plugin: Option<&'static dyn Plugin>,
    /// Whether it runs if nobody says anything.
    by_default: bool,
}

const fn on(name: &'static str, plugin: &'static dyn Plugin) -> Entry {
    Entry { name, plugin: Some(plugin), by_default: true }
}

const fn off(name: &'static str, plugin: &'static dyn Plugin) -> Entry {
    Entry { name, plugin: Some(plugin), by_default: false }
}

const fn elsewhere(name: &'static str, by_default: bool) -> Entry {
    Entry { name, plugin: None, by_default }
}

/// All plugins of kube-apiserver 1.37, in the order in which they are asked.
const TABLE: &[Entry] = &[
    off("AlwaysAdmit", &always::AlwaysAdmit),
    off("NamespaceAutoProvision", &lifecycle::NamespaceAutoProvision),
    on("NamespaceLifecycle", &lifecycle::NamespaceLifecycle),
    off("NamespaceExists", &lifecycle::NamespaceExists),
    off("LimitPodHardAntiAffinityTopology", &topology::LimitPodHardAntiAffinityTopology),
    on("LimitRanger", &limits::LimitRanger),
    on("ServiceAccount", &accounts::ServiceAccount),
    off("NodeRestriction", &node_restriction::NodeRestriction),
    on("TaintNodesByCondition", &nodes::TaintNodesByCondition),
    off("AlwaysPullImages", &images::AlwaysPullImages),
    elsewhere(IMAGE_POLICY, false),
    on("PodSecurity", &security::PodSecurity),
    off("PodNodeSelector", &node_selectors::PodNodeSelector),
    on("Priority", &priority::Priority),
    on("DefaultTolerationSeconds", &nodes::DefaultTolerationSeconds),
    off("PodTolerationRestriction", &tolerations::PodTolerationRestriction),
    off("EventRateLimit", &events::EventRateLimit),
    off("ExtendedResourceToleration", &nodes::ExtendedResourceToleration),
    on("DefaultStorageClass", &defaults::DefaultStorageClass),
    on("StorageObjectInUseProtection", &storage::StorageObjectInUseProtection),
    // It acts behind the gate GenericWorkload, which is off: there are no pod groups.
    elsewhere("PodGroupProtection", true),
    off("OwnerReferencesPermissionEnforcement", &owners::OwnerReferencesPermissionEnforcement),
    on("PersistentVolumeClaimResize", &storage::PersistentVolumeClaimResize),
    on("RuntimeClass", &runtime::RuntimeClass),
    on("CertificateApproval", &certificates::CertificateApproval),
    on("CertificateSigning", &certificates::CertificateSigning),
    on("ClusterTrustBundleAttest", &certificates::ClusterTrustBundleAttest),
    on("CertificateSubjectRestriction", &certificates::CertificateSubjectRestriction),
    on("DefaultIngressClass", &defaults::DefaultIngressClass),
    off("DenyServiceExternalIPs", &always::DenyServiceExternalIPs),
    on("PodTopologyLabels", &topology::PodTopologyLabels),
    on("NodeDeclaredFeatureValidator", &resize::NodeDeclaredFeatureValidator),
    on("PodResizeValidator", &resize::PodResizeValidator),
    elsewhere("MutatingAdmissionPolicy", true),
    elsewhere(MUTATING_WEBHOOKS, true),
    elsewhere("ValidatingAdmissionPolicy", true),
    elsewhere(VALIDATING_WEBHOOKS, true),
    on("ResourceQuota", &quota::ResourceQuota),
    off("AlwaysDeny", &always::AlwaysDeny),
];

const IMAGE_POLICY: &str = "ImagePolicyWebhook";
const MUTATING_WEBHOOKS: &str = "MutatingAdmissionWebhook";
const VALIDATING_WEBHOOKS: &str = "ValidatingAdmissionWebhook";

/// The names of all plugins, in the order in which they are asked.
pub fn plugin_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|entry| entry.name)
}

/// Why plugins cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// No plugin has this name.
    #[error("{flag} plugin {name:?} is unknown")]
    Unknown {
        /// The flag of kube-apiserver that names it.
        flag: &'static str,
        /// The name.
        name: String,
    },
    /// The configuration is none.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
}

/// The plugins of one server.
#[derive(Clone)]
pub(crate) struct Chain {
    /// Those that come before the webhooks.
    pub(super) before: Vec<&'static dyn Plugin>,
    /// How many of them come before somebody outside is asked about images.
    pub(super) before_images: usize,
    /// Those that come after.
    pub(super) after: Vec<&'static dyn Plugin>,
    /// Whether mutating webhooks are asked.
    pub(crate) mutating_webhooks: bool,
    /// Whether validating webhooks are asked.
    pub(crate) validating_webhooks: bool,
    /// Whether pods get what their service account brings.
    pub(crate) service_accounts: bool,
    /// What the plugins are told.
    pub(crate) settings: Arc<Settings>,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain")
            .field("plugins", &(self.before.len() + self.after.len()))
            .finish_non_exhaustive()
    }
}

impl Chain {
    /// The plugins that run by default, with those that are turned on, and without those that are turned off.
    ///
    /// # Errors
    /// For a name that no plugin has, and for a configuration that is none.
    pub(crate) fn new(
        enable: &[String],
        disable: &[String],
        configuration: Option<&str>,
    ) -> Result<Chain, PluginError> {
        for (flag, names) in [("enable-admission-plugins", enable), ("disable-admission-plugins", disable)] {
            if let Some(name) = names.iter().find(|name| !TABLE.iter().any(|entry| entry.name == **name)) {
                return Err(PluginError::Unknown { flag, name: name.clone() });
            }
        }
        let has = |names: &[String], entry: &Entry| names.iter().any(|name| name == entry.name);
        let runs = |entry: &&Entry| (entry.by_default && !has(disable, entry)) || has(enable, entry);
        let place = |name: &str| TABLE.iter().position(|entry| entry.name == name).unwrap_or_default();
        let (before, after) = TABLE.split_at(place(VALIDATING_WEBHOOKS));
        let plugins = |part: &'static [Entry]| -> Vec<&'static dyn Plugin> {
            part.iter().filter(runs).filter_map(|entry| entry.plugin).collect()
        };
        let is_on = |name: &str| TABLE.iter().any(|entry| entry.name == name && runs(&entry));
        Ok(Chain {
            before: plugins(before),
            before_images: plugins(TABLE.get(..place(IMAGE_POLICY)).unwrap_or_default()).len(),
            after: plugins(after),
            mutating_webhooks: is_on(MUTATING_WEBHOOKS),
            validating_webhooks: is_on(VALIDATING_WEBHOOKS),
            service_accounts: is_on("ServiceAccount"),
            settings: Arc::new(Settings::read(configuration, &is_on)?),
        })
    }
}
