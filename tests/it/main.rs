//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod answer_page;
mod browser;
mod crash;
mod deadlines;
mod page_headers;
#[path = "../process/mod.rs"]
mod process;
mod tidy;
