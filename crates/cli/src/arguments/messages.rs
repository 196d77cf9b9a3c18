//! Arguments of `weir publish` and `weir subscribe`.

use clap::Args;

/// `weir publish`
#[derive(Debug, Args)]
pub struct Publish {
    /// The topic, such as `orders/7`.
    pub topic: String,
    /// The message; `-`, or none, for standard input.
    pub message: Option<String>,
    /// The id of the topics in the configuration, where several have this one.
    #[arg(long, value_name = "TOPICS")]
    pub set: Option<String>,
    /// Print the message's id as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir subscribe`
#[derive(Debug, Args)]
pub struct Subscribe {
    /// Topics, also with `+` and `#`, such as `orders/#`.
    #[arg(required = true, value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Begin behind the message of this id, or with the `oldest` in memory, rather than now.
    #[arg(long, value_name = "ID")]
    pub since: Option<String>,
    /// End after so many messages.
    #[arg(long, short = 'n', value_name = "NUMBER")]
    pub count: Option<u64>,
    /// The id of the topics in the configuration, where several have these.
    #[arg(long, value_name = "TOPICS")]
    pub set: Option<String>,
}
