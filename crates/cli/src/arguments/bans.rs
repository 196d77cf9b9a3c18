//! Arguments of `weir ban`, `unban` and `bans`.

use clap::{Args, ValueEnum};

/// `weir ban`
#[derive(Debug, Args)]
pub struct Ban {
    /// The address or network, such as `192.0.2.7` or `2001:db8::/32`.
    pub address: String,
    /// How long, such as `90s`, `1h` or `7d`; at most 366 days.
    #[arg(long = "for", value_name = "TIME")]
    pub time: String,
    /// Why, for whoever lists bans.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// What rules see in `ip.ban`.
    #[arg(long = "as", value_enum, value_name = "WORD", default_value_t = Remedy::Ban)]
    pub remedy: Remedy,
    /// Ban a network that is wider than /8 of IPv4 or /16 of IPv6.
    #[arg(long)]
    pub force: bool,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir unban`
#[derive(Debug, Args)]
pub struct Unban {
    /// The address or network, as it was banned.
    pub address: String,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir bans`
#[derive(Debug, Args)]
pub struct Bans {
    /// Only bans that concern this address.
    pub address: Option<std::net::IpAddr>,
    /// Only bans by these.
    #[arg(long, value_enum, value_name = "WHO")]
    pub origin: Option<Origin>,
    /// Most bans that are shown.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub limit: u64,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What rules see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Remedy {
    /// Refuse requests.
    Ban,
    /// Ask for a captcha.
    Captcha,
    /// Slow down.
    Throttle,
    /// Whatever rules make of it.
    Other,
}

/// Who has banned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Origin {
    /// `weir ban` and the API.
    Operator,
    /// CrowdSec.
    #[value(name = "crowdsec")]
    CrowdSec,
}
