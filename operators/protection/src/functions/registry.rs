//! Every function of Kanister by name, with its arguments, so that any Blueprint can be checked whole.

/// A function that a phase may call.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// The name, as a Blueprint writes it.
    pub name: &'static str,
    /// The arguments that must be there.
    pub required: &'static [&'static str],
    /// The arguments that may be there.
    pub optional: &'static [&'static str],
    /// The arguments that are templates of the function's own and are not rendered before it runs.
    pub raw: &'static [&'static str],
    /// Whether this operator can run it.
    pub built: bool,
}

impl Function {
    /// Whether the function takes the argument.
    pub fn accepts(&self, argument: &str) -> bool {
        self.required.contains(&argument) || self.optional.contains(&argument)
    }
}

/// The function of that name; the case matters.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

const fn function(
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> Function {
    Function { name, required, optional, raw: &[], built: false }
}

const fn built(
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    raw: &'static [&'static str],
) -> Function {
    Function { name, required, optional, raw, built: true }
}

/// All functions, those that Kanister has dropped since included.
pub const FUNCTIONS: &[Function] = &[
    built(
        "KubeTask",
        &["image", "command"],
        &["namespace", "podOverride", "podAnnotations", "podLabels"],
        &[],
    ),
    built("KubeExec", &["namespace", "pod", "command"], &["container"], &[]),
    built("KubeExecAll", &["namespace", "pods", "containers", "command"], &[], &[]),
    built("ScaleWorkload", &["replicas"], &["namespace", "name", "kind", "waitForReady"], &[]),
    built("KubeOps", &["operation"], &["namespace", "spec", "objectReference"], &[]),
    built("Wait", &["timeout", "conditions"], &[], &["conditions"]),
    built("WaitV2", &["timeout", "conditions"], &[], &["conditions", "timeout"]),
    built(
        "PrepareData",
        &["namespace", "image", "command"],
        &["volumes", "failOnError", "serviceaccount", "podOverride", "podAnnotations", "podLabels"],
        &[],
    ),
    function(
        "MultiContainerRun",
        &["backgroundImage", "backgroundCommand", "outputImage", "outputCommand"],
        &[
            "namespace",
            "initImage",
            "initCommand",
            "sharedVolumeMedium",
            "sharedVolumeSizeLimit",
            "sharedVolumeDir",
            "podOverride",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function(
        "BackupData",
        &["namespace", "pod", "container", "includePath", "backupArtifactPrefix"],
        &["encryptionKey", "insecureTLS"],
    ),
    function(
        "BackupDataAll",
        &["namespace", "container", "includePath", "backupArtifactPrefix"],
        &["pods", "encryptionKey", "insecureTLS"],
    ),
    function(
        "BackupDataStats",
        &["namespace", "backupArtifactPrefix", "backupID"],
        &["image", "statsMode", "encryptionKey", "podOverride", "podAnnotations", "podLabels"],
    ),
    function(
        "CheckRepository",
        &["backupArtifactPrefix"],
        &["image", "encryptionKey", "insecureTLS", "podOverride", "podAnnotations", "podLabels"],
    ),
    function(
        "CopyVolumeData",
        &["namespace", "volume", "dataArtifactPrefix"],
        &["image", "encryptionKey", "mountPath", "insecureTLS", "podOverride", "podAnnotations", "podLabels"],
    ),
    function(
        "RestoreData",
        &["namespace", "image", "backupArtifactPrefix"],
        &[
            "pod",
            "volumes",
            "backupTag",
            "backupIdentifier",
            "restorePath",
            "backupPath",
            "encryptionKey",
            "insecureTLS",
            "podOverride",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function(
        "RestoreDataAll",
        &["namespace", "image", "backupArtifactPrefix", "backupInfo"],
        &[
            "restorePath",
            "pods",
            "encryptionKey",
            "insecureTLS",
            "podOverride",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function(
        "DeleteData",
        &["namespace", "backupArtifactPrefix"],
        &[
            "backupID",
            "backupTag",
            "image",
            "encryptionKey",
            "reclaimSpace",
            "insecureTLS",
            "podOverride",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function(
        "DeleteDataAll",
        &["namespace", "backupArtifactPrefix", "backupInfo"],
        &[
            "image",
            "encryptionKey",
            "reclaimSpace",
            "insecureTLS",
            "podOverride",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function("LocationDelete", &["artifact"], &[]),
    function("CreateCSISnapshot", &["pvc", "namespace", "snapshotClass"], &["name", "labels"]),
    function(
        "CreateCSISnapshotStatic",
        &["name", "namespace", "driver", "snapshotHandle", "snapshotClass"],
        &[],
    ),
    function(
        "RestoreCSISnapshot",
        &["name", "pvc", "namespace", "storageClass", "restoreSize"],
        &["accessModes", "volumeMode", "labels"],
    ),
    function("DeleteCSISnapshot", &["name", "namespace"], &[]),
    function("DeleteCSISnapshotContent", &["name"], &[]),
    function(
        "CreateRDSSnapshot",
        &["instanceID"],
        &["dbEngine", "credentialsSource", "credentialsSecret", "region"],
    ),
    function(
        "ExportRDSSnapshotToLocation",
        &["namespace", "instanceID", "snapshotID", "dbEngine"],
        &[
            "username",
            "password",
            "backupArtifactPrefix",
            "databases",
            "securityGroupID",
            "dbSubnetGroup",
            "image",
            "credentialsSource",
            "credentialsSecret",
            "region",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function(
        "RestoreRDSSnapshot",
        &["instanceID"],
        &[
            "snapshotID",
            "backupID",
            "backupArtifactPrefix",
            "username",
            "password",
            "namespace",
            "dbEngine",
            "securityGroupID",
            "dbSubnetGroup",
            "image",
            "credentialsSource",
            "credentialsSecret",
            "region",
            "podAnnotations",
            "podLabels",
        ],
    ),
    function(
        "DeleteRDSSnapshot",
        &["snapshotID"],
        &["dbEngine", "credentialsSource", "credentialsSecret", "region"],
    ),
    function(
        "BackupDataUsingKopiaServer",
        &["container", "includePath", "namespace", "pod"],
        &["snapshotTags", "repositoryServerUserHostname"],
    ),
    function(
        "RestoreDataUsingKopiaServer",
        &["backupIdentifier", "namespace", "restorePath", "image"],
        &["pod", "volumes", "repositoryServerUserHostname", "podOverride", "podAnnotations", "podLabels"],
    ),
    function(
        "DeleteDataUsingKopiaServer",
        &["backupID", "namespace", "image"],
        &["repositoryServerUserHostname", "podAnnotations", "podLabels"],
    ),
    function("CreateVolumeSnapshot", &["namespace"], &["pvcs", "skipWait"]),
    function("WaitForSnapshotCompletion", &["snapshots"], &[]),
    function("CreateVolumeFromSnapshot", &["namespace", "snapshots"], &["pvcNames"]),
    function("DeleteVolumeSnapshot", &["namespace", "snapshots"], &[]),
];

/// The names of the functions that this operator can run.
pub fn built_names() -> String {
    FUNCTIONS.iter().filter(|f| f.built).map(|f| f.name).collect::<Vec<_>>().join(", ")
}
