//! Behaviour of the API server through its public doors. Each test has a server of its own.

#[cfg(test)]
mod access;
#[cfg(test)]
mod admission;
#[cfg(test)]
mod aggregated;
#[cfg(test)]
mod audited;
#[cfg(test)]
mod auth;
#[cfg(test)]
mod authorities;
#[cfg(test)]
mod builtins;
#[cfg(test)]
mod checklist;
#[cfg(test)]
mod converter;
#[cfg(test)]
mod crd;
#[cfg(test)]
mod crd_conversion;
#[cfg(test)]
mod create;
#[cfg(test)]
mod deep;
#[cfg(test)]
mod delete;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod elsewhere;
#[cfg(test)]
mod events;
#[cfg(test)]
mod hook;
#[cfg(test)]
mod http;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod list;
#[cfg(test)]
mod network;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod patch;
#[cfg(test)]
mod protobuf;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod support;
#[cfg(test)]
mod truth;
#[cfg(test)]
mod update;
#[cfg(test)]
mod watch;
#[cfg(test)]
mod webhooks;
#[cfg(test)]
mod webhooks_calls;
#[cfg(test)]
mod webhooks_config;
