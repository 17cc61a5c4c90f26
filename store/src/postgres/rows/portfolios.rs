//! Portfolios, their logs, and the intents in them.

use diesel::dsl::count_star;
use diesel::prelude::*;
use domain::base::ids::{PortfolioId, SuspensionId};
use domain::intent::status::Status;
use domain::log::Sealed;
use domain::portfolio::membership::{MemberOf, Membership};
use domain::portfolio::{EVENTS_MAX, MEMBERS_MAX, Portfolio, PortfolioPolicy, PortfolioStatus};
use domain::suspension::Asker;

use super::Writing;
use crate::columns::{MemberColumns, PortfolioColumns, sealed_of};
use crate::postgres::session::Session;
use crate::rows::{
    Code, ListedPortfolios, MemberRow, PortfolioRow, ReadPortfolios, ReadPresence, RowsError, RowsResult, WritePortfolios,
};
use crate::schema::{intents, portfolio_events, portfolio_members, portfolios, suspensions};
use crate::sql::{At, Json, Key, Owned, Said, Written};

fn whole(count: i64) -> RowsResult<u64> {
    u64::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
}

impl WritePortfolios for Writing<'_> {
    fn insert_portfolio(&mut self, portfolio: &Portfolio) -> RowsResult<i64> {
        let body = &portfolio.body;
        let row = (
            portfolios::id.eq(Key(portfolio.id.0)),
            portfolios::status.eq(portfolio.status.code()),
            portfolios::creator.eq(&portfolio.created_by.name),
            portfolios::creator_owner.eq(Owned(portfolio.created_by.owner.clone())),
            portfolios::claimed_creator.eq(body.claimed_created_by.as_deref().map(Said::from)),
            portfolios::name.eq(Said::from(body.name.as_str())),
            portfolios::description.eq(body.description.as_deref().map(Said::from)),
            portfolios::metadata.eq(Written::of(&body.metadata)?),
            portfolios::governance_policy.eq(Written::of(&body.policy)?),
            portfolios::created_at.eq(At(portfolio.created_at)),
            portfolios::updated_at.eq(At(portfolio.updated_at)),
            portfolios::last_sequence.eq(0),
            portfolios::last_hash.eq(Vec::<u8>::new()),
        );
        diesel::insert_into(portfolios::table).values(row).execute(self.session.conn()?)?;
        let inserted = portfolios::table.filter(portfolios::id.eq(Key(portfolio.id.0))).select(portfolios::rid);
        Ok(inserted.first(self.session.conn()?)?)
    }

    fn hold_portfolios_of(&mut self, intent: i64) -> RowsResult<()> {
        let of_intent =
            portfolio_members::table.filter(portfolio_members::intent.eq(intent)).select(portfolio_members::portfolio);
        // Every transaction that locks several portfolios locks them in the order of `rid`. Otherwise two transactions could each
        // wait for a lock of the other.
        let held = portfolios::table.filter(portfolios::rid.eq_any(of_intent)).order(portfolios::rid).select(portfolios::rid);
        held.for_share().load::<i64>(self.session.conn()?)?;
        self.session.look_at_the_clock()
    }

    fn lock_portfolio(&mut self, id: PortfolioId) -> RowsResult<Option<PortfolioRow>> {
        let found = portfolios::table.filter(portfolios::id.eq(Key(id.0))).select(PortfolioColumns::selection());
        let found = found.for_update().first::<PortfolioColumns>(self.session.conn()?);
        let found = found.optional()?.map(PortfolioColumns::into_row).transpose()?;
        self.session.look_at_the_clock()?;
        Ok(found)
    }

    fn append_to_portfolio(&mut self, row: &PortfolioRow, event_type: &str, sealed: &Sealed) -> RowsResult<()> {
        let sequence = i64::try_from(row.last_sequence).map_err(|_| RowsError::Inconsistent("too many events"))?;
        let event = (
            portfolio_events::portfolio.eq(row.rid),
            portfolio_events::sequence.eq(sequence),
            portfolio_events::event_type.eq(event_type),
            portfolio_events::created_at.eq(At(row.portfolio.updated_at)),
            portfolio_events::bytes.eq(&sealed.bytes),
            portfolio_events::hash.eq(sealed.hash.0.to_vec()),
        );
        diesel::insert_into(portfolio_events::table).values(event).execute(self.session.conn()?)?;
        let body = &row.portfolio.body;
        let changes = (
            portfolios::status.eq(row.portfolio.status.code()),
            portfolios::name.eq(Said::from(body.name.as_str())),
            portfolios::description.eq(body.description.as_deref().map(Said::from)),
            portfolios::metadata.eq(Written::of(&body.metadata)?),
            portfolios::governance_policy.eq(Written::of(&body.policy)?),
            portfolios::updated_at.eq(At(row.portfolio.updated_at)),
            portfolios::last_sequence.eq(sequence),
            portfolios::last_hash.eq(sealed.hash.0.to_vec()),
        );
        diesel::update(portfolios::table.find(row.rid)).set(changes).execute(self.session.conn()?)?;
        Ok(())
    }

    fn save_membership(&mut self, portfolio: i64, intent: i64, membership: &Membership, event: i64) -> RowsResult<()> {
        let changing = (
            portfolio_members::role.eq(membership.role.code()),
            portfolio_members::priority.eq(membership.priority),
            portfolio_members::event.eq(event),
        );
        let row = (
            portfolio_members::portfolio.eq(portfolio),
            portfolio_members::intent.eq(intent),
            portfolio_members::id.eq(Key(membership.id.0)),
            portfolio_members::added_at.eq(At(membership.added_at)),
            changing,
        );
        let saved = diesel::insert_into(portfolio_members::table).values(row);
        let saved = saved.on_conflict((portfolio_members::portfolio, portfolio_members::intent)).do_update().set(changing);
        saved.execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_membership(&mut self, portfolio: i64, intent: i64) -> RowsResult<()> {
        diesel::delete(portfolio_members::table.find((portfolio, intent))).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadPortfolios for Session {
    fn portfolio(&mut self, id: PortfolioId) -> RowsResult<Option<PortfolioRow>> {
        let found = portfolios::table.filter(portfolios::id.eq(Key(id.0))).select(PortfolioColumns::selection());
        found.first::<PortfolioColumns>(self.conn()?).optional()?.map(PortfolioColumns::into_row).transpose()
    }

    fn portfolios(&mut self, listed: ListedPortfolios<'_>) -> RowsResult<Vec<PortfolioRow>> {
        let mut query = portfolios::table.select(PortfolioColumns::selection()).into_boxed();
        if let Some(creator) = listed.creator {
            query = query.filter(portfolios::creator.eq(creator));
        }
        if let Some(intent) = listed.intent {
            let of_intent = portfolio_members::table.filter(portfolio_members::intent.eq(intent));
            query = query.filter(portfolios::rid.eq_any(of_intent.select(portfolio_members::portfolio)));
        }
        let page = query.order(portfolios::rid.desc()).limit(i64::from(listed.limit)).offset(i64::from(listed.offset));
        page.load::<PortfolioColumns>(self.conn()?)?.into_iter().map(PortfolioColumns::into_row).collect()
    }

    fn portfolio_id(&mut self, rid: i64) -> RowsResult<PortfolioId> {
        Ok(PortfolioId(portfolios::table.find(rid).select(portfolios::id).first::<Key>(self.conn()?)?.0))
    }

    fn portfolio_events(&mut self, portfolio: i64) -> RowsResult<Vec<Sealed>> {
        let log = portfolio_events::table.filter(portfolio_events::portfolio.eq(portfolio));
        let log = log.order(portfolio_events::sequence).limit(i64::try_from(EVENTS_MAX).unwrap_or(i64::MAX));
        let log = log.select((portfolio_events::bytes, portfolio_events::hash));
        log.load(self.conn()?)?.into_iter().map(sealed_of).collect()
    }

    fn members(&mut self, portfolio: i64, offset: u32) -> RowsResult<Vec<MemberRow>> {
        let members = portfolio_members::table.filter(portfolio_members::portfolio.eq(portfolio));
        let members = members.order((portfolio_members::priority.desc(), portfolio_members::intent));
        let limit = i64::try_from(MEMBERS_MAX).unwrap_or(i64::MAX);
        let members = members.limit(limit).offset(i64::from(offset)).select(MemberColumns::selection());
        members.load::<MemberColumns>(self.conn()?)?.into_iter().map(MemberColumns::into_row).collect()
    }

    fn membership(&mut self, portfolio: i64, intent: i64) -> RowsResult<Option<Membership>> {
        let member = portfolio_members::table.find((portfolio, intent)).select(MemberColumns::selection());
        let member = member.first::<MemberColumns>(self.conn()?).optional()?.map(MemberColumns::into_row).transpose()?;
        Ok(member.map(|row| row.membership))
    }

    fn member_of(&mut self, intent: i64) -> RowsResult<Vec<(i64, MemberOf)>> {
        let of = portfolio_members::table.inner_join(portfolios::table.on(portfolios::rid.eq(portfolio_members::portfolio)));
        let of = of.filter(portfolio_members::intent.eq(intent)).filter(portfolios::status.eq(PortfolioStatus::Active.code()));
        let of = of.order(portfolio_members::portfolio).select((portfolios::rid, portfolios::id, portfolios::governance_policy));
        let found = of.load::<(i64, Key, Json<PortfolioPolicy>)>(self.conn()?)?;
        let member_of = found
            .into_iter()
            .map(|(rid, id, policy)| (rid, MemberOf { portfolio_id: PortfolioId(id.0), deadline: policy.0.deadline }));
        Ok(member_of.collect())
    }

    fn others_suspended(&mut self, portfolio: i64, intent: i64) -> RowsResult<u64> {
        let members = portfolio_members::table.inner_join(intents::table.on(intents::rid.eq(portfolio_members::intent)));
        let others = members.filter(portfolio_members::portfolio.eq(portfolio)).filter(intents::rid.ne(intent));
        let suspended = others.filter(intents::status.eq(Status::SuspendedAwaitingInput.code()));
        whole(suspended.select(count_star()).get_result(self.conn()?)?)
    }

    fn open_questions_in(&mut self, portfolio: i64) -> RowsResult<Vec<(i64, i64, SuspensionId)>> {
        let members = portfolio_members::table.inner_join(intents::table.on(intents::rid.eq(portfolio_members::intent)));
        let open = members.inner_join(suspensions::table.on(suspensions::rid.nullable().eq(intents::open_suspension)));
        let open = open.filter(portfolio_members::portfolio.eq(portfolio));
        let found = open.select((intents::rid, suspensions::rid, suspensions::id)).load::<(i64, i64, Key)>(self.conn()?)?;
        Ok(found.into_iter().map(|(intent, question, id)| (intent, question, SuspensionId(id.0))).collect())
    }

    fn creators_in(&mut self, portfolio: i64) -> RowsResult<Vec<Asker>> {
        let members = portfolio_members::table.inner_join(intents::table.on(intents::rid.eq(portfolio_members::intent)));
        let members = members.filter(portfolio_members::portfolio.eq(portfolio));
        let found =
            members.select((intents::creator, intents::creator_owner)).distinct().load::<(String, Owned)>(self.conn()?)?;
        Ok(found.into_iter().map(|(name, owner)| Asker { name, owner: owner.0 }).collect())
    }

    fn member_statuses(&mut self, portfolio: i64) -> RowsResult<Vec<(Status, u64)>> {
        let members = portfolio_members::table.inner_join(intents::table.on(intents::rid.eq(portfolio_members::intent)));
        let members = members.filter(portfolio_members::portfolio.eq(portfolio));
        let counts = members.group_by(intents::status).select((intents::status, count_star()));
        let counts = counts.load::<(i32, i64)>(self.conn()?)?;
        counts.into_iter().map(|(status, count)| Ok((Code::from_code(status)?, whole(count)?))).collect()
    }

    fn portfolios_of(&mut self, intent: i64) -> RowsResult<Vec<PortfolioId>> {
        let of = portfolio_members::table.inner_join(portfolios::table.on(portfolios::rid.eq(portfolio_members::portfolio)));
        let of = of.filter(portfolio_members::intent.eq(intent)).select(portfolios::id);
        Ok(of.load::<Key>(self.conn()?)?.into_iter().map(|id| PortfolioId(id.0)).collect())
    }
}
