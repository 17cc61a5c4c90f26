//! A server without room.

mod refusals;
