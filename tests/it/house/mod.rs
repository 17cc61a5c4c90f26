//! Rules of the repository that the compiler does not see.

mod deploy;
mod imports;
mod languages;
mod tidy;
