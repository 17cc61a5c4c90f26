//! The place where the decisions of a log are replayed: was each answer allowed, in time, and one of the choices?

use domain::base::sealed::Sealed;

use crate::finding::{Findings, Place};

/// Looks at the events of an export in the order of the file, after their own checks.
///
/// Only events without a fault of their own are shown: their bytes give their hash. Faults of their links are among the findings.
pub trait Replay {
    /// Looks at an event.
    fn event(&mut self, event: &Sealed, place: Place, findings: &mut Findings);

    /// Notes that an event was erased: its place is known, and what happened is not.
    fn erased(&mut self, place: Place, findings: &mut Findings);

    /// Reports what only the end of the export shows.
    fn end(&mut self, findings: &mut Findings);
}
