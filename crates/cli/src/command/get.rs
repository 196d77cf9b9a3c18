//! `weir get`: what the gateway has, as the files of `weir apply` would say it.

use crate::Failure;
use crate::api::Api;
use crate::arguments::Get;

pub(crate) fn run(api: &Api, get: &Get) -> Result<(), Failure> {
    let value = api.get(&api.resource(&get.path)?)?;
    if get.json {
        println!("{value:#}");
    } else {
        print!("{}", crate::yaml::print(&value));
    }
    Ok(())
}
