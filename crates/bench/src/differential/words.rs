//! What harmless requests are made of.

/// Names of arguments.
pub const NAMES: &[&str] = &[
    "q",
    "page",
    "id",
    "name",
    "email",
    "comment",
    "token",
    "sort",
    "filter[]",
    "user.name",
    "lang",
    "file",
    "url",
    "items[0][id]",
    "_",
];
/// Values; some of them look a little like attacks and are none.
pub const WORDS: &[&str] = &[
    "garden chair",
    "oak",
    "blue & green",
    "Zürich",
    "select from the menu",
    "order by phone",
    "Renée O'Connor",
    "12",
    "2026-11-21",
    "a@b.example",
    "x=1",
    "50%",
    "it's (fine)",
    "C++",
    "drop off",
    "<3",
    "true",
    "",
    "/shop/index.html",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit; sed do eiusmod.",
];
/// Paths.
pub const PATHS: &[&str] = &[
    "/",
    "/shop/cart",
    "/search",
    "/api/v1/orders",
    "/blog/2026/11/post.html",
    "/images/logo.png",
    "/wp-login.php",
    "/a%20b/c",
    "/account/profile/",
];
/// User agents.
pub const AGENTS: &[&str] = &[
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/604.1",
    "Opera/9.80 (Windows NT 6.1; U; en) Presto/2.8.131 Version/11.11",
    "curl/8.9.1",
    "Googlebot/2.1 (+http://www.google.com/bot.html)",
];
