//! Claims and volumes (`pkg/controller/volume/persistentvolume`): a claim is bound to a volume that was made beforehand,
//! or to a folder of its own below the cluster's data folder. Volumes that nobody claims any more are removed with their
//! folder, or kept, as their reclaim policy says.

mod bind;
mod folder;
mod protect;
mod release;
pub(crate) mod wiring;

pub(crate) use self::folder::Folders;

/// The provisioner of the folders; a StorageClass that names it gets them.
pub const PROVISIONER: &str = "pilothouse.dev/folder";
/// The class that is the default unless another is made so.
pub(crate) const STANDARD: &str = "standard";
/// The annotation that makes a class the default.
pub(crate) const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
/// The annotation that names who made a volume; only those that we made do we remove.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
