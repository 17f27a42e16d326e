//! The resources that the controllers read and write, by the names that the API serves them under.

use std::sync::LazyLock;

use pilothouse_value::Gvr;

macro_rules! resources {
    ($($name:ident = $group:literal, $version:literal, $resource:literal;)*) => {$(
        pub(crate) static $name: LazyLock<Gvr> = LazyLock::new(|| Gvr::new($group, $version, $resource));
    )*};
}

resources! {
    CLAIMS = "", "v1", "persistentvolumeclaims";
    CLUSTER_ROLES = "rbac.authorization.k8s.io", "v1", "clusterroles";
    CONFIG_MAPS = "", "v1", "configmaps";
    CONTROLLER_REVISIONS = "apps", "v1", "controllerrevisions";
    DAEMON_SETS = "apps", "v1", "daemonsets";
    DEFINITIONS = "apiextensions.k8s.io", "v1", "customresourcedefinitions";
    DEPLOYMENTS = "apps", "v1", "deployments";
    ENDPOINTS = "", "v1", "endpoints";
    ENDPOINT_SLICES = "discovery.k8s.io", "v1", "endpointslices";
    EVENTS = "", "v1", "events";
    JOBS = "batch", "v1", "jobs";
    NAMESPACES = "", "v1", "namespaces";
    NODES = "", "v1", "nodes";
    PODS = "", "v1", "pods";
    QUOTAS = "", "v1", "resourcequotas";
    REPLICA_SETS = "apps", "v1", "replicasets";
    SECRETS = "", "v1", "secrets";
    SERVICES = "", "v1", "services";
    SERVICE_ACCOUNTS = "", "v1", "serviceaccounts";
    STATEFUL_SETS = "apps", "v1", "statefulsets";
    STORAGE_CLASSES = "storage.k8s.io", "v1", "storageclasses";
    VOLUMES = "", "v1", "persistentvolumes";
}
