//! Why a patch was refused, and the answer that Kubernetes gives for it.

use pilothouse_value::{Status, status::Details};

/// A patch that cannot be applied. The texts are those of the libraries that kube-apiserver uses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is not of the required form (400).
    #[error("{0}")]
    Malformed(String),
    /// The patch is well-formed and does not fit the document: a missing path, a failed `test` (422).
    #[error("{0}")]
    Inapplicable(String),
    /// The patch has more operations, or copies more bytes, than a server does for one request (413).
    #[error("{0}")]
    TooLarge(String),
    /// A strategic merge patch that kube-apiserver answers with a bare error (500).
    #[error("{0}")]
    Unsupported(String),
}

impl PatchError {
    /// The reason as a word, for metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            PatchError::Malformed(_) => "BadRequest",
            PatchError::Inapplicable(_) => "Invalid",
            PatchError::TooLarge(_) => "RequestEntityTooLarge",
            PatchError::Unsupported(_) => "InternalError",
        }
    }

    /// The answer to the client. Kubernetes hides the text of [`PatchError::Inapplicable`] behind a general one.
    pub fn status(&self) -> Status {
        match self {
            PatchError::Malformed(text) => Status::bad_request(text),
            PatchError::TooLarge(text) => {
                Status::new(413, "RequestEntityTooLarge", format!("Request entity too large: {text}"))
            }
            PatchError::Inapplicable(_) => {
                Status::new(422, "Invalid", "the server rejected our request due to an error in our request")
                    .with_details(Details::default())
            }
            PatchError::Unsupported(text) => Status::new(500, "", text),
        }
    }
}
