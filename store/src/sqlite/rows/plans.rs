//! Plans of intents.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::PlanId;
use domain::container::plan::{PLANS_IN_ALL_MAX, Plan, PlanBody, PlanState};

use super::Writing;
use crate::rows::{Code, ReadPlans, RowsError, RowsResult, WritePlans};
use crate::schema::plans;
use crate::sql::{Json, Key, Written};

impl WritePlans for Writing<'_> {
    fn insert_plan(&mut self, intent: i64, plan: &Plan, body: &PlanBody) -> RowsResult<()> {
        let row = (
            plans::id.eq(Key(plan.id.0)),
            plans::intent.eq(intent),
            plans::state.eq(plan.state.code()),
            plans::facts.eq(Written::of(plan)?),
            plans::body.eq(Written::of(body)?),
        );
        diesel::insert_into(plans::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn update_plan(&mut self, plan: &Plan) -> RowsResult<()> {
        let row = (plans::state.eq(plan.state.code()), plans::facts.eq(Written::of(plan)?));
        diesel::update(plans::table.filter(plans::id.eq(Key(plan.id.0)))).set(row).execute(self.conn)?;
        Ok(())
    }
}

impl ReadPlans for SqliteConnection {
    fn plan(&mut self, id: PlanId) -> RowsResult<Option<(i64, Plan)>> {
        let found = plans::table.filter(plans::id.eq(Key(id.0))).select((plans::intent, plans::facts));
        let found = found.first::<(i64, Json<Plan>)>(self).optional()?;
        Ok(found.map(|(intent, plan)| (intent, plan.0)))
    }

    fn plan_body(&mut self, id: PlanId) -> RowsResult<PlanBody> {
        let found = plans::table.filter(plans::id.eq(Key(id.0))).select(plans::body);
        Ok(found.first::<Json<PlanBody>>(self)?.0)
    }

    fn plans_at_work(&mut self, intent: i64, named: Option<PlanId>) -> RowsResult<Vec<Plan>> {
        let of_intent = plans::table.filter(plans::intent.eq(intent));
        let named = plans::id.eq_any(named.iter().map(|id| Key(id.0)).collect::<Vec<_>>());
        // The codes of the states of plans that have not ended are the lowest ones.
        let wanted = of_intent.filter(plans::state.le(PlanState::Paused.code()).or(named));
        let wanted = wanted.order(plans::rid).select(plans::facts).load::<Json<Plan>>(self)?;
        Ok(wanted.into_iter().map(|plan| plan.0).collect())
    }

    fn plan_count(&mut self, intent: i64) -> RowsResult<usize> {
        let count = plans::table.filter(plans::intent.eq(intent)).count().get_result::<i64>(self)?;
        usize::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
    }

    fn plans(&mut self, intent: i64) -> RowsResult<Vec<(Plan, PlanBody)>> {
        let limit = i64::try_from(PLANS_IN_ALL_MAX).unwrap_or(i64::MAX);
        let found = plans::table.filter(plans::intent.eq(intent)).order(plans::rid).limit(limit);
        let found = found.select((plans::facts, plans::body)).load::<(Json<Plan>, Json<PlanBody>)>(self)?;
        Ok(found.into_iter().map(|(plan, body)| (plan.0, body.0)).collect())
    }
}
