//! `weir token`: who may use the API on TCP. Control reads the file of tokens when it changes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_control::auth::{self, Grant, Scope};
use weir_resource::ResourceKind;

use crate::arguments::{Arguments, Role, Token, TokenLimits};
use crate::table::{Align, render};
use crate::{Failure, moment, state_directory};

pub(crate) fn run(arguments: &Arguments, token: &Token) -> Result<(), Failure> {
    let (Token::Create { state, .. }
    | Token::Grant { state, .. }
    | Token::List { state }
    | Token::Revoke { state, .. }) = token;
    let state = &state_directory::of(arguments, state)?;
    match token {
        Token::Create { name, role, limits, .. } => {
            let secret = auth::create_token(state, name, grant(*role, limits)?).map_err(Failure::new)?;
            println!("{secret}");
            eprintln!("this token is not shown again; send it as `Authorization: Bearer ...`, or set WEIR_TOKEN");
        }
        Token::Grant { common_name, role, limits, .. } => {
            auth::grant_certificate(state, common_name, grant(*role, limits)?).map_err(Failure::new)?;
            println!("granted to certificates of {common_name}");
        }
        Token::List { .. } => {
            let tokens = auth::list_tokens(state).map_err(Failure::new)?;
            let columns = ["NAME", "ROLE", "GRANTED TO", "EXPIRES", "LIMITED TO"].map(|name| (name, Align::Left));
            print!("{}", render(&columns, &tokens.into_iter().map(row).collect::<Vec<_>>()));
        }
        Token::Revoke { name, .. } => match auth::revoke_token(state, name).map_err(Failure::new)? {
            true => println!("revoked"),
            false => return Err(Failure::new(format!("there is no token {name:?}")).hint("weir token list shows all")),
        },
    }
    Ok(())
}

fn row(token: auth::TokenEntry) -> Vec<String> {
    let to = match token.granted {
        auth::Granted::Token => "a token",
        auth::Granted::Certificate => "client certificates",
    };
    let Grant { role, until, scope } = &token.grant;
    let expires = match until.map(|until| moment::utc(until.saturating_mul(1000))) {
        Some(moment) if token.grant.is_over() => format!("{moment} (expired)"),
        Some(moment) => moment,
        None => "never".to_owned(),
    };
    let limits = scope.as_ref().map_or_else(|| "-".to_owned(), |scope| scope.to_string());
    vec![token.name, role.as_str().to_owned(), to.to_owned(), expires, limits]
}

/// What the options grant.
fn grant(role: Role, limits: &TokenLimits) -> Result<Grant, Failure> {
    let until = |time: &str| {
        let ms = weir_policy::leaf::milliseconds(time).filter(|ms| *ms > 0);
        let bad = || Failure::new(format!("--for {time}: not a time")).hint("such as 90d, 12h or 30m");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ms.map(|ms| now.as_secs().saturating_add(ms.div_ceil(1000))).ok_or_else(bad)
    };
    let until = limits.valid_for.as_deref().map(until).transpose()?;
    let kinds = limits.kind.iter().filter_map(|kind| ResourceKind::from_plural(kind)).collect();
    let scope = Scope { kinds, sites: limits.site.clone() };
    let scope = (scope != Scope::default()).then(|| Arc::new(scope));
    Ok(Grant { role: role_of(role), until, scope })
}

fn role_of(role: Role) -> auth::Role {
    match role {
        Role::Probe => auth::Role::Probe,
        Role::Read => auth::Role::Read,
        Role::Edit => auth::Role::Edit,
        Role::Admin => auth::Role::Admin,
    }
}
