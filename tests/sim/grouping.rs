//! Portfolios whose deadline ends the questions of their intents: from then on no answer counts and no message goes out (RFC-0026 §3,
//! rule 5).

use std::sync::Arc;

use domain::base::ids::{Entropy, IntentId, MembershipId, PortfolioId};
use domain::base::time::from_micros;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::portfolio::membership::{Join, MembershipRole};
use domain::portfolio::{PortfolioBody, PortfolioPolicy};
use futures_util::FutureExt;
use harness::requests;
use placet_server::edge::keys::hash;
use serde_json::Map;
use store::{Idempotency, NewPortfolio, Repeatable, Request, Target};

use crate::executor::SECOND;
use crate::world::{Failed, World};

/// Sometimes puts the intent into a portfolio with a deadline that passes while questions are open.
pub(crate) async fn join(world: &Arc<World>, principal: &Principal, intent: IntentId) {
    if !world.draw(|chance| chance.happens(15)) {
        return;
    }
    let id = PortfolioId(world.entropy.uuid(world.executor.now()));
    let scale = world.plan.scale_seconds * SECOND;
    let deadline = world.clock() + world.draw(|chance| chance.within(scale / 2..=6 * scale));
    world.watch.lock().unwrap().deadlines.insert(id.to_string(), deadline);
    let body = PortfolioBody {
        name: "Phases".to_owned(),
        description: None,
        metadata: Map::new(),
        policy: PortfolioPolicy { deadline: Some(from_micros(deadline)), ..PortfolioPolicy::default() },
        claimed_created_by: None,
    };
    let key = |step: &str| Some(Idempotency { key_hash: hash(&format!("{} {step}", principal.name)), body_hash: [5; 32] });
    let write = Repeatable { idempotency: key("groups"), wanted: Ok(NewPortfolio { id, body }) };
    let by = principal.clone();
    let name = format!("{} makes a portfolio", principal.name);
    if world.call(name, |store| async move { store.create_portfolio(by, write).await }.boxed()).await.is_err() {
        return;
    }
    let membership = MembershipId(world.entropy.uuid(world.executor.now()));
    let join = Join { id: membership, portfolio_id: id, role: MembershipRole::Member, priority: 0 };
    let request = Request {
        idempotency: key("joins"),
        ..requests::write(principal, Action::JoinPortfolio, Target::Intent(intent), Ok(Command::Join(join)))
    };
    for _ in 0..3 {
        let (sent, name) = (request.clone(), format!("{} joins a portfolio", principal.name));
        match world.call(name, |store| async move { store.execute(sent).await }.boxed()).await {
            Ok(_) => return world.coverage.count("portfolio joined"),
            Err(Failed::Rejected(_)) => return,
            Err(Failed::Unknown) => world.pause().await,
        }
    }
}
