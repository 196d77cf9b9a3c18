//! nginx variables.

use std::borrow::Cow;

use nginx_sys::{
    NGX_HTTP_VAR_NOCACHEABLE, ngx_conf_t, ngx_http_add_variable, ngx_http_request_t, ngx_http_variable_value_t,
    ngx_int_t,
};
use weir_directives::{VARIABLES, Variable};
use weir_log::json;

use crate::configuration::Main;
use crate::transaction::{self, Inspection};
use crate::{fault, ffi, gateway, worker};

/// Makes the variables known, before nginx reads `http`.
pub fn add_all(cf: *mut ngx_conf_t) -> ngx_int_t {
    for (index, info) in VARIABLES.iter().enumerate() {
        let mut name = ffi::static_str(info.name.as_bytes());
        // SAFETY: nginx is about to read http; it copies the name.
        unsafe {
            // Every value but the id changes while the request is processed.
            let fixed = Variable::from_index(index) == Some(Variable::RequestId);
            let flags = if fixed { 0 } else { NGX_HTTP_VAR_NOCACHEABLE as usize };
            let variable = ngx_http_add_variable(cf, &raw mut name, flags);
            if variable.is_null() {
                return ffi::code::ERROR;
            }
            (*variable).get_handler = Some(get);
            (*variable).data = index;
        }
    }
    ffi::code::OK
}

unsafe extern "C" fn get(r: *mut ngx_http_request_t, value: *mut ngx_http_variable_value_t, index: usize) -> ngx_int_t {
    let text = fault::contain("variable", || {
        // SAFETY: a live request; its main one is the client's.
        unsafe {
            let main_request = (*r).main;
            let variable = Variable::from_index(index)?;
            // Ids and countries can be had of any request; the rest only of evaluated ones.
            let inspection = match variable {
                Variable::RequestId | Variable::Country if !worker::silenced() => {
                    transaction::find_or_create(main_request, ffi::request_main_of::<Main>(main_request))
                }
                _ => transaction::find(main_request),
            };
            let inspection = inspection?;
            let text = match &(*inspection).routed {
                Some(routed) if is_of_gateway(variable) => gateway::variable(r, routed, variable),
                _ => text(&*inspection, variable),
            };
            if text.is_empty() { None } else { ffi::copy((*r).pool, &text) }
        }
    });
    // SAFETY: nginx passes a value to fill in.
    unsafe {
        let value = &mut *value;
        value.set_valid(1);
        value.set_no_cacheable(0);
        value.set_not_found(0);
        let text = text_or_empty(text.flatten());
        value.set_len(text.len as u32);
        value.data = text.data;
    }
    ffi::code::OK
}

/// Whether a variable is about where the gateway sends a request.
const fn is_of_gateway(variable: Variable) -> bool {
    !matches!(
        variable,
        Variable::RequestId
            | Variable::Verdict
            | Variable::Rule
            | Variable::Country
            | Variable::Score
            | Variable::Tags
            | Variable::Worker
    )
}

fn text_or_empty(text: Option<nginx_sys::ngx_str_t>) -> nginx_sys::ngx_str_t {
    text.unwrap_or(const { ffi::static_str(b"") })
}

fn text(inspection: &Inspection, variable: Variable) -> Cow<'_, [u8]> {
    let outcome = &inspection.outcome;
    match variable {
        Variable::RequestId => inspection.request_id().into(),
        Variable::Verdict => inspection.verdict().as_bytes().into(),
        Variable::Rule => {
            let rule = outcome.decided_by.and_then(|rule| inspection.rule(rule));
            rule.map_or(&[][..], |rule| rule.id.as_bytes()).into()
        }
        Variable::Country => inspection.country().into(),
        Variable::Score => {
            let mut text = Vec::new();
            json::number(&mut text, outcome.score.into());
            text.into()
        }
        Variable::Tags => outcome.tags.join(",").into_bytes().into(),
        // SAFETY: set by nginx before it serves; 0 without a master.
        Variable::Worker => unsafe { nginx_sys::ngx_worker }.to_string().into_bytes().into(),
        // The gateway has refused to route the request.
        Variable::GatewayRevision => match inspection.source.live() {
            Some(live) => live.revision().to_string().into_bytes().into(),
            None => Cow::default(),
        },
        Variable::Site
        | Variable::Route
        | Variable::Upstream
        | Variable::Member
        | Variable::UpstreamHost
        | Variable::Connection
        | Variable::Upgrade
        | Variable::NoCertificate => Cow::default(), // the request has not been routed
    }
}
