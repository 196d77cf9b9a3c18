//! `weir sign`: a request that a rule accepts, as a curl command.
//!
//! It signs with the code that verifies, and with the options of the very rule, so that a client that is refused can be
//! compared with one that is not. curl sends the request, because it is what people can read, change and pass on.

mod address;
mod carry;
mod choice;
mod curl;
mod key;
mod token;

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom as _, SystemRandom};
use weir_auth::{Signed, Unsigned};

use self::address::Address;
use self::choice::Choice;
use self::curl::{Curl, Data};
use crate::Failure;
use crate::arguments::Sign;

pub(crate) fn run(sign: &Sign) -> Result<ExitCode, Failure> {
    let curl = signed(sign)?;
    let arguments = curl.arguments();
    if sign.headers {
        if curl.is_signed_in_url {
            return Err(Failure::new("the signature is in the URL, not in header fields").hint("leave out --headers"));
        }
        curl.headers.iter().for_each(|(name, value)| println!("{name}: {value}"));
    } else if sign.send {
        let error = Command::new("curl").args(&arguments).exec();
        return Err(Failure::new(format!("cannot run curl: {error}")).hint("install curl, or leave out --send"));
    } else {
        let words: Vec<String> = arguments.iter().map(|argument| curl::quoted(argument)).collect();
        println!("curl {}", words.join(" "));
    }
    Ok(ExitCode::SUCCESS)
}

/// The signed request.
fn signed(sign: &Sign) -> Result<Curl, Failure> {
    let choice = Choice::of(sign)?;
    let mut address = Address::of(&sign.url)?;
    let mut headers = sign.header.iter().map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
    if let Some(at) = headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("host")) {
        let (_, host) = headers.remove(at);
        address.name_host(host);
    }
    let (data, body) = body(sign)?;
    if data.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
    }
    let method = sign.method.clone().unwrap_or_else(|| if data.is_some() { "POST" } else { "GET" }.to_owned());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).map_err(|_| Failure::new("the system has no random numbers"))?;
    let unsigned = Unsigned {
        method: &method,
        is_tls: address.is_tls,
        authority: &address.authority,
        target: &address.target,
        headers: &headers,
        body: &body,
        now_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        random,
    };
    let Signed { headers: added, target } = choice.sign(&unsigned, sign)?;
    let is_replaced = |name: &str| added.iter().any(|(added, _)| added.eq_ignore_ascii_case(name));
    headers.retain(|(name, _)| !is_replaced(name));
    headers.extend(added);
    let is_signed_in_url = target.is_some();
    address.target = target.unwrap_or(address.target);
    Ok(Curl { method, address, headers, data, is_signed_in_url })
}

/// A header field of the command line.
fn header(line: &str) -> Result<(String, String), Failure> {
    let field = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let good = |(name, value): &(&str, &str)| {
        !name.is_empty() && !name.contains(|c: char| !c.is_ascii_graphic()) && !value.contains(char::is_control)
    };
    let (name, value) = field.filter(good).ok_or_else(|| {
        Failure::new(format!("-H {line:?}: not a header field")).hint("expected \"NAME: VALUE\" in one line")
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

fn body(sign: &Sign) -> Result<(Option<Data>, Vec<u8>), Failure> {
    if let Some(path) = &sign.data_file {
        let body = std::fs::read(path)
            .map_err(|error| Failure::new(format!("--data-file {}: cannot read it: {error}", path.display())))?;
        return Ok((Some(Data::File(path.display().to_string())), body));
    }
    let data = sign.data.clone();
    let body = data.clone().unwrap_or_default().into_bytes();
    Ok((data.map(Data::Text), body))
}
