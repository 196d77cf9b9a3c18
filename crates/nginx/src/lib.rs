//! Weir inside nginx: the module that `load_module` loads.
//!
//! Thin by intent: it shows nginx's request to the engine as borrowed slices, carries out what
//! the engine decides, and writes the logs. Whatever can live without nginx lives in other
//! crates. Raw bindings are used throughout, behind the few functions of [`ffi`].
//!
//! ```text
//! module              entry points for nginx     directive, configuration   nginx.conf
//! cycle               start and end              phase, body, respond       the request
//! transaction, stage  its one inspection         header_filter, headers     the response, header changes
//! request             the view of its head       body_filter                the response's body, which may wait for rules
//! request_filter      its body as it passes      abi                        the layout of nginx's structures
//! inspect             questions to inspectors
//! upgraded            early data of WebSockets   buffer                     nginx's buffers and chains
//! policy              policies and their plans   log                        access, attack and heartbeat logs
//! shared, bans        memory between processes   fault, diagnostic, meter   panics, messages, costs
//! worker              state of one process       gateway, live              serving and following live configuration
//! ```

mod abi;
mod bans;
mod body;
mod body_filter;
mod buffer;
mod configuration;
mod cycle;
mod diagnostic;
mod directive;
mod fault;
mod ffi;
mod gateway;
mod header_filter;
mod headers;
mod inspect;
mod live;
mod log;
mod messages;
mod meter;
mod module;
mod next_filter;
mod passwords;
mod phase;
#[cfg(weir_asan)]
mod planted;
mod policy;
mod random;
mod request;
mod request_filter;
mod respond;
mod shared;
mod stage;
mod transaction;
mod upgraded;
mod variable;
#[cfg(test)]
mod without_nginx;
mod worker;

pub use module::{ngx_http_weir_module, ngx_module_names, ngx_module_order, ngx_modules};
