//! AlwaysPullImages: nobody runs an image that they may not pull.

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Status, Value};

use super::{Attributes, Operation, Plugin};

/// See the module.
pub(super) struct AlwaysPullImages;

const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const ALWAYS: &str = "Always";

impl Plugin for AlwaysPullImages {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !concerns(attributes) {
            return Ok(());
        }
        let Some(pod) = attributes.object.as_mut() else { return Ok(()) };
        for list in LISTS {
            for container in pod.at_mut(&["spec", list]).and_then(Value::as_array_mut).into_iter().flatten() {
                container.set(&["imagePullPolicy"], ALWAYS);
            }
        }
        let volumes = pod.at_mut(&["spec", "volumes"]).and_then(Value::as_array_mut);
        for volume in volumes.into_iter().flatten().filter(|volume| volume.get("image").is_some()) {
            volume.set(&["image", "pullPolicy"], ALWAYS);
        }
        Ok(())
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(pod) = attributes.object.as_ref().filter(|_| concerns(attributes)) else { return Ok(()) };
        let spec = Path::new("spec");
        let mut errors = Vec::new();
        for list in LISTS {
            for (index, container) in pod.items_at(&["spec", list]).iter().enumerate() {
                let policy = container.str_at(&["imagePullPolicy"]).unwrap_or_default();
                if policy != ALWAYS {
                    let path = spec.child(list).index(index).child("imagePullPolicy");
                    errors.push(Error::unsupported(&path, policy, [ALWAYS]));
                }
            }
        }
        for (index, volume) in pod.items_at(&["spec", "volumes"]).iter().enumerate() {
            let Some(image) = volume.get("image").filter(|image| !image.is_null()) else { continue };
            let policy = image.str_at(&["pullPolicy"]).unwrap_or_default();
            if policy != ALWAYS {
                let path = spec.child("volumes").index(index).child("image").child("pullPolicy");
                errors.push(Error::unsupported(&path, policy, [ALWAYS]));
            }
        }
        match errors.as_slice() {
            [] => Ok(()),
            [one] => Err(attributes.forbidden(&one.to_string())),
            many => {
                let texts: Vec<String> =
                    many.iter().map(|error| attributes.forbidden(&error.to_string()).message).collect();
                Err(Status::new(500, "", format!("[{}]", texts.join(", "))))
            }
        }
    }
}

/// Whether this is a pod with an image that it did not have before.
fn concerns(attributes: &Attributes<'_>) -> bool {
    if !attributes.is("", "pods") {
        return false;
    }
    let images = |pod: &Value| -> Vec<String> {
        let containers = LISTS.into_iter().flat_map(|list| pod.items_at(&["spec", list]));
        containers.map(|one| one.str_at(&["image"]).unwrap_or_default().to_owned()).collect()
    };
    match (&attributes.object, &attributes.old) {
        (Some(new), Some(old)) => {
            let old = images(old);
            images(new).iter().any(|image| !old.contains(image))
        }
        (new, _) => new.is_some(),
    }
}
