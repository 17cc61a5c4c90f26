//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod deadlines;
mod leases;
mod respond;
mod tidy;
