//! Receipts of answers: issued, used and revoked.

use domain::base::ids::ReceiptId;
use domain::intent::event::Event;
use domain::intent::receipt::{Consumed, Issued, ReceiptEvent, Revoked};
use domain::log::Hash;
use uuid::Uuid;

use super::{asked_id, key};

pub(super) fn events() -> Vec<Event> {
    let (receipt_id, suspension_id, credential) = (ReceiptId(Uuid::from_u128(70)), asked_id(), Some(key()));
    let issued = Issued { receipt_id, suspension_id, statement_hash: Hash([9; 32]), credential };
    let (action_digest, consumed_by) = (Hash([7; 32]), "payments".to_owned());
    let consumed = Consumed { receipt_id, suspension_id, action_digest, consumed_by, credential };
    let (reason, revoked_by) = (Some("a second thought".to_owned()), "alice".to_owned());
    let revoked = Revoked { receipt_id, suspension_id, reason, revoked_by, credential };
    let event = |event| Event::Receipt(Box::new(event));
    vec![
        event(ReceiptEvent::Issued(issued)),
        event(ReceiptEvent::Consumed(consumed)),
        event(ReceiptEvent::Revoked(revoked.clone())),
        event(ReceiptEvent::Revoked(Revoked { reason: None, credential: None, ..revoked })),
    ]
}
