//! `weir token`: who may use the API on TCP. Control reads the file of tokens when it changes.

use weir_control::auth;

use crate::Failure;
use crate::arguments::{Role, Token};
use crate::table::{Align, render};

pub(crate) fn run(token: &Token) -> Result<(), Failure> {
    match token {
        Token::Create { name, role, state } => {
            let secret = auth::create_token(state, name, role_of(*role)).map_err(Failure::new)?;
            println!("{secret}");
            eprintln!("this token is not shown again; send it as `Authorization: Bearer ...`, or set WEIR_TOKEN");
        }
        Token::Grant { common_name, role, state } => {
            auth::grant_certificate(state, common_name, role_of(*role)).map_err(Failure::new)?;
            println!("granted to certificates of {common_name}");
        }
        Token::List { state } => {
            let tokens = auth::list_tokens(state).map_err(Failure::new)?;
            let columns = [("NAME", Align::Left), ("ROLE", Align::Left), ("GRANTED TO", Align::Left)];
            print!("{}", render(&columns, &tokens.into_iter().map(row).collect::<Vec<_>>()));
        }
        Token::Revoke { name, state } => match auth::revoke_token(state, name).map_err(Failure::new)? {
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
    vec![token.name, token.role.as_str().to_owned(), to.to_owned()]
}

fn role_of(role: Role) -> auth::Role {
    match role {
        Role::Read => auth::Role::Read,
        Role::Edit => auth::Role::Edit,
        Role::Admin => auth::Role::Admin,
    }
}
