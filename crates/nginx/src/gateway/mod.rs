//! The gateway's data path: from a request that nginx has parsed to a member's answer.
//!
//! ```text
//! inject     what `weir_gateway on;` brings along     routed    site, route, upstream: decided once
//! server     the server's configuration               leave     answers, header changes, rewrite
//! handshake  certificates by SNI                      peer      nginx's balancer: members, retries, health
//! mirror     copies of requests                       conf      a route's timeouts for one request
//! answer     what we say instead                      pool      idle connections
//! client_tls client certificates of sites
//! ```

mod answer;
#[cfg(ngx_feature = "http_ssl")]
mod certificate;
#[cfg(ngx_feature = "http_ssl")]
mod client_tls;
mod conf;
mod exchange;
#[cfg(ngx_feature = "http_ssl")]
mod handshake;
mod header;
mod inject;
mod leave;
mod location;
mod mirror;
mod peer;
mod pool;
mod routed;
mod server;
#[cfg_attr(not(ngx_feature = "http_ssl"), path = "no_tls.rs")]
mod upstream_tls;
mod variable;

#[cfg(ngx_feature = "http_ssl")]
pub use client_tls::verified as client_certificate;
pub use header::change_response;
pub use inject::configure;
pub use leave::{Leave, leave};
pub use pool::sweep_soon;
pub use routed::{Enter, Routed, enter, refuse_connection, refuse_host};
pub use server::{Server, create_server, install, is_on};
#[cfg(not(ngx_feature = "http_ssl"))]
use upstream_tls::client as client_tls;
pub use variable::text as variable;
