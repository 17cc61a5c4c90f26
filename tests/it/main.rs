//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod answer_page;
mod browser;
mod crash;
mod deadlines;
mod page_headers;
mod tidy;
mod waiting;
