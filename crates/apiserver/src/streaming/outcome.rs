//! The last word of a session: what the error channel says.

use pilothouse_value::{Status, Value, json};

use crate::kubelet::Exit;

/// How the error channel is written. Protocols before v4 had plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorStyle {
    /// A `Status` document, also for success (v4 and v5).
    Document,
    /// A line of text, and nothing for success (v1 to v3).
    Text,
}

/// What the error channel says about an end. `None` when it says nothing.
///
/// The document has the shape that clients take the exit code from (`remotecommand.NonZeroExitCodeReason`).
pub(super) fn last_word(exit: &Exit, style: ErrorStyle) -> Option<String> {
    match (exit, style) {
        (Exit::Code(0), ErrorStyle::Document) => Some(json!({"metadata": {}, "status": "Success"}).to_json()),
        (Exit::Code(0), ErrorStyle::Text) => None,
        (Exit::Code(code), ErrorStyle::Document) => Some(non_zero(*code).to_json()),
        (Exit::Code(code), ErrorStyle::Text) => {
            Some(format!("command terminated with non-zero exit code: exit status {code}"))
        }
        (Exit::Failed(text), style) => {
            let text = format!("error executing command in container: {text}");
            Some(match style {
                ErrorStyle::Document => Status::internal(&text).to_value().to_json(),
                ErrorStyle::Text => text,
            })
        }
    }
}

fn non_zero(code: i32) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_a_document_or_nothing() {
        let document = last_word(&Exit::Code(0), ErrorStyle::Document);
        assert_eq!(document.as_deref(), Some(r#"{"metadata":{},"status":"Success"}"#));
        assert_eq!(last_word(&Exit::Code(0), ErrorStyle::Text), None);
    }

    #[test]
    fn an_exit_code_is_a_cause() {
        let text = last_word(&Exit::Code(3), ErrorStyle::Document).unwrap();
        assert!(text.contains(r#""causes":[{"message":"3","reason":"ExitCode"}]"#), "{text}");
        assert!(text.contains(r#""reason":"NonZeroExitCode""#), "{text}");
    }
}
