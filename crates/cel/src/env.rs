//! Environments: the variables that an expression may use, and the libraries.

use std::sync::Arc;

use crate::check::{Checked, check, known_type};
use crate::decl::DeclType;
use crate::error::Issues;
use crate::library::decls::{self, Function};
use crate::parse::parse;
use crate::patches;
use crate::program::Program;
use crate::types::Type;

/// What expressions may use. Immutable and cheap to clone.
#[derive(Clone, Debug)]
pub struct Env {
    variables: Arc<[(Box<str>, DeclType)]>,
    libraries: Libraries,
    has_patches: bool,
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
    has_patches: bool,
}

impl Env {
    /// The libraries and options of Kubernetes 1.37 for expressions that a client writes now. As upstream, functions
    /// that 1.36 does not have yet (`includes`) are not among them, so that an older server can read what was written.
    pub fn kubernetes() -> EnvBuilder {
        EnvBuilder { variables: Vec::new(), libraries: Libraries::New, has_patches: false }
    }

    /// The libraries and options of Kubernetes 1.37 for expressions that were stored before: everything there is.
    pub fn kubernetes_stored() -> EnvBuilder {
        EnvBuilder { variables: Vec::new(), libraries: Libraries::Stored, has_patches: false }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// All that is wrong with it, in the text of cel-go.
    pub fn compile(&self, expression: &str) -> Result<Program, Issues> {
        self.check(expression)?.program()
    }

    /// Parses an expression and checks its types.
    ///
    /// # Errors
    /// All that is wrong with it, in the text of cel-go.
    pub fn check(&self, expression: &str) -> Result<Expression, Issues> {
        with_stack(expression, || {
            let ast = parse(expression)?;
            Ok(Expression { source: expression.into(), checked: check(ast, self, expression)? })
        })
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&DeclType> {
        self.variables.iter().rev().find(|(known, _)| **known == *name).map(|(_, decl)| decl)
    }

    /// The function of this name.
    pub(crate) fn function(&self, name: &str) -> Option<&'static Function> {
        decls::function(name).filter(|function| match function.name {
            // The release before does not have it.
            "includes" => self.libraries == Libraries::Stored,
            "jsonpatch.escapeKey" => self.has_patches,
            _ => true,
        })
    }

    /// Names with dots exist always: those of types.
    pub(crate) fn has_qualified_names(&self) -> bool {
        true
    }

    /// The type of this name, known to all or declared by a variable.
    pub(crate) fn type_named(&self, name: &str) -> Option<Type> {
        let patch = || patches::named(name).filter(|_| self.has_patches);
        known_type(name).or_else(patch).or_else(|| match name {
            // Where types are declared, these short names are known too, though they have no value.
            "timestamp" if !self.variables.is_empty() => Some(Type::Timestamp),
            "duration" if !self.variables.is_empty() => Some(Type::Duration),
            name => self.variables.iter().find_map(|(_, decl)| object_named(decl, name)),
        })
    }
}

/// An expression whose types are right. It may still be that no program can be made of it.
#[derive(Debug)]
pub struct Expression {
    source: Box<str>,
    checked: Checked,
}

impl Expression {
    /// The type of its value.
    pub fn output_type(&self) -> &Type {
        self.checked.output_type()
    }

    /// Whether the expression uses the variable of this name.
    pub fn references(&self, variable: &str) -> bool {
        self.checked.uses(variable)
    }

    /// Whether something in it has no type, as what a `JSONPatch` has no field for. The real server takes such an expression for
    /// right, and fails on it afterwards.
    pub fn has_unspecified(&self) -> bool {
        self.checked.types.iter().any(Type::has_unspecified)
    }

    /// What can be evaluated.
    ///
    /// # Errors
    /// When a constant cannot be converted, a regular expression is wrong or a type is no value
    /// ([`Issues::is_instantiation`]).
    pub fn program(self) -> Result<Program, Issues> {
        let Self { source, checked } = self;
        with_stack(&source, || Program::new(&source, checked))
    }
}

/// Does something with an expression where there is stack enough for it: the parser goes down one rule after another, so that
/// nesting takes much more than threads have.
fn with_stack<T: Send>(
    expression: &str,
    work: impl FnOnce() -> Result<T, Issues> + Send,
) -> Result<T, Issues> {
    if !is_deep(expression) {
        return pilothouse_value::stack::with_room(work);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("cel".to_owned()).stack_size(DEEP_STACK);
        let done = thread.spawn_scoped(scope, work);
        done.ok().and_then(|done| done.join().ok()).unwrap_or_else(|| {
            let mut issues = Issues::new(expression);
            issues.report(None, "expression cannot be compiled: out of resources");
            Err(issues)
        })
    })
}

/// Stack for compiling what is nested deeply. It is reserved, not used.
const DEEP_STACK: usize = 64 << 20;

/// Whether an expression may be nested more deeply than most.
fn is_deep(expression: &str) -> bool {
    let (mut open, mut operators) = (0_usize, 0_usize);
    for b in expression.bytes() {
        match b {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'?' | b'.' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' => {
                operators += 1
            }
            _ => {}
        }
        if open > 12 || operators > 150 {
            return true;
        }
    }
    false
}

/// The object type of this name within a declaration.
fn object_named(decl: &DeclType, name: &str) -> Option<Type> {
    if let Some(object) = decl.as_object() {
        if object.name() == name {
            return Some(decl.ty().clone());
        }
        return object.fields().iter().find_map(|field| object_named(field.ty(), name));
    }
    decl.elements().and_then(|elements| object_named(elements, name))
}

impl EnvBuilder {
    /// Declares a variable; a name may have dots (`authorizer.requestResource`).
    #[must_use]
    pub fn variable(mut self, name: &str, decl: DeclType) -> Self {
        self.variables.push((name.into(), decl));
        self
    }

    /// Declares what mutations of admission policies make, `Object{}` and `JSONPatch{}`, and `jsonpatch.escapeKey`. Such expressions
    /// can be compiled; evaluating what they make is an error.
    #[must_use]
    pub fn patches(mut self) -> Self {
        self.has_patches = true;
        self
    }

    /// The finished environment.
    pub fn build(self) -> Env {
        let Self { variables, libraries, has_patches } = self;
        Env { variables: variables.into(), libraries, has_patches }
    }
}
