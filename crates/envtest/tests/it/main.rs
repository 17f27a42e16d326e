//! The tools as test suites run them: processes of their own, found by name in a folder.

#[cfg(test)]
mod assets;
#[cfg(test)]
mod authorities;
#[cfg(test)]
mod boot;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod plane;
#[cfg(test)]
mod server;
