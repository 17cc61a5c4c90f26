//! The properties of one seed: how large its world is, which faults happen and how often.

use crate::chance::Chance;
use crate::executor::SECOND;
use crate::routes::Lines;

/// How often each fault happens: in a hundred, unless its comment names another number. The rates are drawn so that some seeds
/// have one kind of fault often and some have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// A transaction never begins.
    pub(crate) refused: u32,
    /// A transaction breaks at one of its rows.
    pub(crate) broken: u32,
    /// A transaction is committed or not, and the caller does not learn which.
    pub(crate) unheard: u32,
    /// The store takes up to a minute.
    pub(crate) slow: u32,
    /// The store takes longer than an absence may last, in a thousand transactions.
    pub(crate) stall: u32,
    /// A process dies, in a thousand of its steps.
    pub(crate) crash: u32,
    /// A process stands still for longer than a lease, in a thousand of its steps.
    pub(crate) pause: u32,
    /// The clock jumps, in ten thousand steps of the world.
    pub(crate) jump: u32,
    pub(crate) mail: MailFaults,
    pub(crate) webhook: WebhookFaults,
}

/// The faults of a mail server.
#[derive(Clone, Debug, Default)]
pub(crate) struct MailFaults {
    pub(crate) not_now: u32,
    pub(crate) never: u32,
    /// It takes the message, and the server does not learn of it.
    pub(crate) doubtful: u32,
    pub(crate) hangs: u32,
    pub(crate) panics: u32,
    /// It accepts the message, and no person gets it.
    pub(crate) lost: u32,
    /// A person gets it twice.
    pub(crate) twice: u32,
    /// It accepts the message, and reports later that the message came back.
    pub(crate) bounces: u32,
}

/// The faults of a webhook's endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebhookFaults {
    /// It takes no messages for a while.
    pub(crate) down: u32,
    pub(crate) not_now: u32,
    pub(crate) never: u32,
    /// How often in a thousand messages it says that it will never take a message again.
    pub(crate) gone: u32,
    pub(crate) doubtful: u32,
    pub(crate) hangs: u32,
    pub(crate) panics: u32,
}

/// One seed's world.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn for itself")]
pub(crate) struct Plan {
    pub(crate) processes: usize,
    pub(crate) intents: u64,
    pub(crate) questions: u64,
    /// The seconds between attempts are drawn around this value.
    pub(crate) scale_seconds: i64,
    /// The longest sleep of the loops.
    pub(crate) poll: i64,
    pub(crate) requires_delivery: bool,
    pub(crate) operators: u64,
    pub(crate) attackers: u64,
    pub(crate) lines: Lines,
    /// Whether questions are assigned to listed people.
    pub(crate) has_people: bool,
    /// Whether agents are paused and park themselves.
    pub(crate) has_stops: bool,
    /// Whether the database is set back to a backup once.
    pub(crate) restores: bool,
    pub(crate) faults: Faults,
    /// How many steps the world may take before everything heals.
    pub(crate) chaos_steps: u64,
}

impl Plan {
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let scale_seconds = *chance.pick(&[1, 5, 60, 600, 3_600, 86_400, 604_800]);
        let faults = Faults {
            refused: rate(chance),
            broken: rate(chance),
            unheard: rate(chance),
            slow: rate(chance),
            stall: rate(chance) / 4,
            crash: rate(chance) / 2,
            pause: rate(chance) / 4,
            jump: rate(chance) / 3,
            mail: MailFaults {
                not_now: rate(chance),
                never: 2 * rate(chance),
                doubtful: rate(chance),
                hangs: rate(chance),
                panics: rate(chance) / 2,
                lost: rate(chance),
                twice: rate(chance),
                bounces: 2 * rate(chance),
            },
            webhook: WebhookFaults {
                // Some take no messages until everything heals.
                down: if chance.happens(20) { 100 } else { rate(chance) },
                not_now: rate(chance),
                never: rate(chance),
                gone: rate(chance),
                doubtful: rate(chance) / 2,
                hangs: if chance.happens(10) { 60 } else { rate(chance) / 2 },
                panics: rate(chance) / 4,
            },
        };
        Self {
            processes: if chance.happens(30) { 2 } else { 1 },
            // Now and then there are many intents, so that more messages are under way than an endpoint takes at a time.
            intents: if chance.happens(5) { 12 } else { 1 + chance.below(4) },
            questions: 1 + chance.below(3),
            scale_seconds,
            poll: poll(scale_seconds),
            requires_delivery: chance.happens(60),
            operators: chance.below(3),
            attackers: chance.below(3),
            lines: match chance.below(8) {
                0 => Lines::mail_first(),
                1 => Lines::mail_and_room(),
                2 | 3 => Lines::pager_first(),
                _ => Lines::mail(),
            },
            has_people: false,
            has_stops: false,
            restores: chance.happens(20),
            faults: if chance.happens(10) { Faults::default() } else { faults },
            chaos_steps: 200 + chance.below(1_000),
        }
    }
}

impl Plan {
    /// Makes about three worlds of a hundred crowded: twelve agents ask by an endpoint that hangs or takes no messages until
    /// everything heals. This is drawn separately, so that all other worlds stay the same.
    pub(crate) fn crowded(self, chance: &mut Chance) -> Self {
        if !chance.happens(3) {
            return self;
        }
        let scale_seconds = *chance.pick(&[5, 60]);
        let webhook = if chance.happens(50) {
            WebhookFaults { hangs: 100, ..WebhookFaults::default() }
        } else {
            WebhookFaults { down: 100, ..WebhookFaults::default() }
        };
        Self {
            intents: 12,
            operators: 0,
            attackers: 0,
            restores: false,
            // The beginnings of twelve intents take a thousand steps.
            chaos_steps: 3_000,
            scale_seconds,
            poll: poll(scale_seconds),
            lines: Lines::pager_first(),
            faults: Faults { webhook, ..self.faults },
            ..self
        }
    }

    /// Makes about one world of ten a world with people, on two servers. This is drawn separately as well.
    pub(crate) fn peopled(self, chance: &mut Chance) -> Self {
        if self.lines.0.len() > 1 || !chance.happens(20) {
            return self;
        }
        let scale_seconds = *chance.pick(&[60, 600, 3_600]);
        Self {
            processes: 2,
            intents: 3 + chance.below(3),
            operators: 0,
            has_people: true,
            // A reminder to all the people of an attempt is the answer to a restore, and the people of a question change here.
            restores: false,
            attackers: 0,
            scale_seconds,
            poll: scale_seconds * SECOND,
            chaos_steps: 1_500 + chance.below(1_500),
            ..self
        }
    }

    /// Lets agents be paused and park themselves in about a third of the worlds. This is drawn separately as well.
    pub(crate) fn stopped(self, chance: &mut Chance) -> Self {
        if self.has_people || self.intents > 4 || !chance.happens(40) {
            return self;
        }
        // The shortest time of a park is a minute.
        let scale_seconds = *chance.pick(&[5, 60, 600, 3_600]);
        let chaos_steps = 1_000 + chance.below(1_500);
        Self { has_stops: true, scale_seconds, poll: poll(scale_seconds), chaos_steps, ..self }
    }

    /// How long a process may be down: several attempts.
    pub(crate) fn outage_max(&self) -> i64 {
        4 * self.scale_seconds * SECOND
    }
}

/// The longest sleep of loops in a world of this scale.
fn poll(scale_seconds: i64) -> i64 {
    (scale_seconds * SECOND / 3).max(5 * SECOND)
}

/// Zero for one in three, high for one in eight.
fn rate(chance: &mut Chance) -> u32 {
    match chance.below(24) {
        0..8 => 0,
        8..21 => 1 + u32::try_from(chance.below(8)).unwrap(),
        _ => 10 + u32::try_from(chance.below(25)).unwrap(),
    }
}
