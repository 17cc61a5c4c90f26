//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod deadlines;
mod ingress;
mod leases;
mod respond;
mod suspend;
mod tidy;
