//! Programs can be shared between threads, and values borrow what they read.

use pilothouse_cel::{Env, Issues, Program};

#[test]
fn environments_and_programs_are_shared_between_threads() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Env>();
    is_shared::<Program>();
    is_shared::<Issues>();
}
