//! Parts that know nothing of questions: ids, time, text, JSON, names, words.

pub mod address;
pub mod canonical;
pub mod clock;
pub mod confusable;
pub mod field;
pub mod ids;
pub mod json;
pub mod login;
pub mod name;
pub mod passkey;
pub mod passkey_fault;
pub mod quotation;
pub mod sealed;
pub mod text;
pub mod time;
pub mod words;
