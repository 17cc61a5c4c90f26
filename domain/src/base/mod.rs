//! Parts that know nothing of questions: ids, time, text, JSON, names, words.

pub mod address;
pub mod clock;
pub mod confusable;
pub mod field;
pub mod ids;
pub mod json;
pub mod login;
pub mod name;
pub mod quotation;
pub mod text;
pub mod time;
pub mod words;
