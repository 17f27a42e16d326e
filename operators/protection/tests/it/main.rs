//! The operator as its users meet it.

mod corpus;
mod crash;
mod manifests;
mod run;
mod s3;
mod stage;
