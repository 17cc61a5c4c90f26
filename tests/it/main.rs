//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod browser;
mod deadlines;
mod tidy;
