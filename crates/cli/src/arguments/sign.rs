//! `weir sign`

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args};

/// `weir sign`
#[derive(Debug, Args)]
#[command(
    override_usage = "weir sign --policy FILE [--rule ID] [--consumer ID] [--credential ID] [OPTIONS] URL\n       weir sign --scheme SCHEME [--key-id ID] [--option NAME=VALUE...] [OPTIONS] URL",
    after_help = "With --policy, options and key come from the file; the rule, the consumer and the credential need only be named if there are several that fit, and of several live credentials the last is used."
)]
#[command(group(ArgGroup::new("from").required(true).args(["policy", "scheme"])))]
#[command(group(ArgGroup::new("key").args(["secret", "secret_file", "secret_env", "private_key"])))]
#[command(group(ArgGroup::new("body").args(["data", "data_file"])))]
#[command(group(ArgGroup::new("output").args(["headers", "send"])))]
pub struct Sign {
    /// The URL, such as <https://shop.example.com/orders?id=7>.
    pub url: String,
    /// The policy file, or the files of a gateway, with the rule and the consumer; repeatable.
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// The rule whose options are used.
    #[arg(long, value_name = "ID", requires = "policy")]
    pub rule: Option<String>,
    /// The consumer that the request is from.
    #[arg(long, value_name = "ID", requires = "policy")]
    pub consumer: Option<String>,
    /// The consumer's credential; of `basic_auth`, the user name.
    #[arg(long, value_name = "ID", requires = "policy")]
    pub credential: Option<String>,
    /// Sign by this scheme of `verify_signature`, or by this action, without a policy file.
    #[arg(long, value_name = "SCHEME", value_parser = PossibleValuesParser::new(weir_policy::signing::schemes()))]
    pub scheme: Option<String>,
    /// An option of the action, such as signed='["@method"]' or clock_skew=60s: JSON or text; repeatable.
    #[arg(long, value_name = "NAME=VALUE", requires = "scheme")]
    pub option: Vec<String>,
    /// What the request names the key by [default: the id of the credential].
    #[arg(long, value_name = "ID")]
    pub key_id: Option<String>,
    /// The shared secret, API key or password. Other processes can see it while the command runs.
    #[arg(long, value_name = "TEXT")]
    pub secret: Option<String>,
    /// The file that holds the secret, in one line.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// The environment variable that holds the secret.
    #[arg(long, value_name = "NAME")]
    pub secret_env: Option<String>,
    /// The private key in PEM (PKCS#8), for `message_signatures` and `jwt`.
    #[arg(long, value_name = "FILE")]
    pub private_key: Option<PathBuf>,
    /// The algorithm of `message_signatures` or `jwt`, such as rsa-v1_5-sha256 or HS512 [default: that of the credential,
    /// or the usual one of the key].
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<String>,
    /// A claim of the token: JSON or text; repeatable. It replaces the one that the token would have.
    #[arg(long, value_name = "NAME=VALUE")]
    pub claim: Vec<String>,
    /// The method [default: GET, or POST with a body].
    #[arg(short = 'X', long, value_name = "NAME")]
    pub method: Option<String>,
    /// A header field, such as "Content-Type: application/json"; repeatable.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// The body, as it is. Without a `Content-Type` it is a form, as for curl.
    #[arg(short = 'd', long, value_name = "TEXT")]
    pub data: Option<String>,
    /// The file that is the body, as it is.
    #[arg(long, value_name = "FILE")]
    pub data_file: Option<PathBuf>,
    /// Print the header fields of the signed request, not a curl command.
    #[arg(long)]
    pub headers: bool,
    /// Run the curl command instead of printing it. Its exit code is that of curl.
    #[arg(long)]
    pub send: bool,
}
