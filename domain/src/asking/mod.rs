//! Turns requests into commands, by the operator's rules about questions and the rules that every request must keep.

pub mod accepting;
pub mod admitting;
pub mod assigning;
pub mod by_record;
pub mod check;
pub mod choice;
pub mod coordinating;
pub mod drafting;
pub mod engagement;
pub mod errands;
pub mod floors;
pub mod governing;
pub mod grouping;
pub mod handing;
pub mod planning;
pub mod policy;
pub mod pressing;
pub mod preview;
pub mod raising;
pub mod recording;
pub mod requesting;
pub mod secrets;
pub mod several;
pub mod subscribing;
pub mod tasking;
