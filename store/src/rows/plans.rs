//! Plans of intents.

use domain::base::ids::PlanId;
use domain::container::plan::{Plan, PlanBody};

use super::error::RowsResult;

/// Writes plans, in one transaction.
pub(crate) trait WritePlans {
    fn insert_plan(&mut self, intent: i64, plan: &Plan, body: &PlanBody) -> RowsResult<()>;
    fn update_plan(&mut self, plan: &Plan) -> RowsResult<()>;
}

/// Reads plans, inside a transaction that writes or outside.
pub(crate) trait ReadPlans {
    /// A plan, with the row of its intent.
    fn plan(&mut self, id: PlanId) -> RowsResult<Option<(i64, Plan)>>;
    fn plan_body(&mut self, id: PlanId) -> RowsResult<PlanBody>;
    /// The plans of an intent that have not ended, and the one with this id, oldest first.
    fn plans_at_work(&mut self, intent: i64, named: Option<PlanId>) -> RowsResult<Vec<Plan>>;
    /// How many plans an intent has.
    fn plan_count(&mut self, intent: i64) -> RowsResult<usize>;
    /// All plans of an intent, oldest first.
    fn plans(&mut self, intent: i64) -> RowsResult<Vec<(Plan, PlanBody)>>;
}
