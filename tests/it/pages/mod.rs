//! Pages in a browser: the answer page, the first page, the reference.

mod answer;
mod audit;
pub(crate) mod browser;
mod dashboard;
mod desk;
mod development;
mod drafts;
mod forms;
mod geometry;
mod grounds;
mod halted;
mod headers;
mod hostile;
mod inbox;
mod languages;
mod live;
mod looks;
mod openid;
mod passkeys;
mod proposal;
mod reasons;
mod reference;
mod stops;
pub(crate) mod texts;
mod timeline;
mod together;
mod work;
