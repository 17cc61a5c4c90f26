//! The languages of people, and each word as a method: one list, so a word that a language does not have does not compile.

use std::fmt::Display;

use chrono::{DateTime, Offset as _, Utc};
use chrono_tz::Tz;

use super::de_grammar::day_and_month;
use super::{Amount, Stressed};

/// All words in English.
mod en {
    pub(super) use super::super::en::*;
    pub(super) use super::super::en_alerts::*;
    pub(super) use super::super::en_forms::*;
    pub(super) use super::super::en_grounds::*;
    pub(super) use super::super::en_people::*;
}

/// All words in German.
mod de {
    pub(super) use super::super::de::*;
    pub(super) use super::super::de_alerts::*;
    pub(super) use super::super::de_forms::*;
    pub(super) use super::super::de_grounds::*;
    pub(super) use super::super::de_people::*;
}

/// The short names of time zones that browsers know in British English, each with the one in German if there is one. So a page's script writes
/// the same.
const ZONES: [(&str, Option<&str>); 9] = [
    ("CET", Some("MEZ")),
    ("CEST", Some("MESZ")),
    ("EET", Some("OEZ")),
    ("EEST", Some("OESZ")),
    ("WET", Some("WEZ")),
    ("WEST", Some("WESZ")),
    ("GMT", None),
    ("BST", None),
    ("UTC", Some("UTC")),
];

/// A language in which Placet speaks to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, which every reader gets who asks for no language that Placet has.
    #[default]
    English,
    /// German, with the formal address.
    German,
}

impl Language {
    /// A day without its year, below a bar of a picture.
    #[must_use]
    pub fn day(self, at: DateTime<Utc>) -> String {
        match self {
            Self::English => at.format("%-d %b").to_string(),
            Self::German => day_and_month(at),
        }
    }

    /// The short name of a time zone at a time, as it stands behind the time.
    #[must_use]
    pub fn zone(self, zone: Tz, at: DateTime<Utc>) -> String {
        let there = at.with_timezone(&zone);
        let called = there.format("%Z").to_string();
        let known = ZONES.iter().find(|(name, _)| *name == called);
        let name = match self {
            Self::English => known.map(|(name, _)| *name),
            Self::German => known.and_then(|(_, german)| *german),
        };
        if let Some(name) = name {
            return name.to_owned();
        }
        // The other zones have a number.
        let minutes = there.offset().fix().local_minus_utc() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
        if rest == 0 { format!("GMT{sign}{hours}") } else { format!("GMT{sign}{hours}:{rest:02}") }
    }
}

/// Makes a method of every word.
macro_rules! words {
    (constants { $($constant:ident: $NAME:ident,)* } pairs { $($pair:ident: $PAIR:ident,)* } functions { $(fn $function:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }) => {
        impl Language {
            $(
                #[doc = concat!("The word `", stringify!($NAME), "`.")]
                #[must_use]
                pub const fn $constant(self) -> &'static str {
                    match self { Self::English => en::$NAME, Self::German => de::$NAME }
                }
            )*
            $(
                #[doc = concat!("The words `", stringify!($PAIR), "`.")]
                #[must_use]
                pub const fn $pair(self) -> (&'static str, &'static str) {
                    match self { Self::English => en::$PAIR, Self::German => de::$PAIR }
                }
            )*
            $(
                #[doc = concat!("The words of `", stringify!($function), "`.")]
                #[must_use]
                pub fn $function(self, $($argument: $type),*) -> $result {
                    match self { Self::English => en::$function($($argument),*), Self::German => de::$function($($argument),*) }
                }
            )*
        }
    };
}

words! {
    constants {
        language: LANGUAGE,
        words_may_mislead: WORDS_MAY_MISLEAD,
        edit_has_no_base: EDIT_HAS_NO_BASE,
        fields_may_be_mistaken: FIELDS_MAY_BE_MISTAKEN,
        two_fields_look_alike: TWO_FIELDS_LOOK_ALIKE,
        may_not_be_edited: MAY_NOT_BE_EDITED,
        says_one_thing_and_sends_another: SAYS_ONE_THING_AND_SENDS_ANOTHER,
        two_answers_look_alike: TWO_ANSWERS_LOOK_ALIKE,
        a_word_mixes_alphabets: A_WORD_MIXES_ALPHABETS,
        sends: SENDS,
        go_by_what_it_sends: GO_BY_WHAT_IT_SENDS,
        subject_prefix: SUBJECT_PREFIX,
        subject_prefix_escalated: SUBJECT_PREFIX_ESCALATED,
        reminder_on_request: REMINDER_ON_REQUEST,
        still_open: STILL_OPEN,
        escalated: ESCALATED,
        question_is_longer: QUESTION_IS_LONGER,
        question_has_no_deadline: QUESTION_HAS_NO_DEADLINE,
        read_and_answer: READ_AND_ANSWER,
        link_only_opens: LINK_ONLY_OPENS,
        button_only_opens: BUTTON_ONLY_OPENS,
        possible_answers: POSSIBLE_ANSWERS,
        answer_in_own_words: ANSWER_IN_OWN_WORDS,
        answer_is_a_form: ANSWER_IS_A_FORM,
        if_no_person_answers: IF_NO_PERSON_ANSWERS,
        you_get_a_reminder: YOU_GET_A_REMINDER,
        approve: APPROVE,
        deny: DENY,
        failed_task_question: FAILED_TASK_QUESTION,
        plan_review_question: PLAN_REVIEW_QUESTION,
        closes_without_a_decision: CLOSES_WITHOUT_A_DECISION,
        closes_without_agreement: CLOSES_WITHOUT_AGREEMENT,
        fails_for_the_asker: FAILS_FOR_THE_ASKER,
        stays_open_for_the_asker: STAYS_OPEN_FOR_THE_ASKER,
        the_values_it_named: THE_VALUES_IT_NAMED,
        if_the_button_fails: IF_THE_BUTTON_FAILS,
        other_work: OTHER_WORK,
        answer_needs_login: ANSWER_NEEDS_LOGIN,
        refusal_needs_comment: REFUSAL_NEEDS_COMMENT,
        because_the_agent_asked: BECAUSE_THE_AGENT_ASKED,
        because_you_operate: BECAUSE_YOU_OPERATE,
        link_is_yours: LINK_IS_YOURS,
        replies_are_not_read: REPLIES_ARE_NOT_READ,
        login_subject: LOGIN_SUBJECT,
        alert_subject: ALERT_SUBJECT,
        alert_remedy: ALERT_REMEDY,
        login_heading: LOGIN_HEADING,
        to_the_login: TO_THE_LOGIN,
        keep_the_checkpoint: KEEP_THE_CHECKPOINT,
        not_an_address: NOT_AN_ADDRESS,
        login_was_not_you: LOGIN_WAS_NOT_YOU,
        yes: YES,
        no: NO,
        nothing: NOTHING,
        empty: EMPTY,
        erased: ERASED,
        context: CONTEXT,
        your_answer: YOUR_ANSWER,
        comment: COMMENT,
        text_of_your_answer: TEXT_OF_YOUR_ANSWER,
        you: YOU,
        is_still_empty: IS_STILL_EMPTY,
        must_be_a_number: MUST_BE_A_NUMBER,
        must_be_a_date: MUST_BE_A_DATE,
        must_be_an_option: MUST_BE_AN_OPTION,
        must_be_shorter: MUST_BE_SHORTER,
        comment_must_be_shorter: COMMENT_MUST_BE_SHORTER,
        page_was_open_too_long: PAGE_WAS_OPEN_TOO_LONG,
        cannot_save: CANNOT_SAVE,
        not_confirmed: NOT_CONFIRMED,
        login_needed_first: LOGIN_NEEDED_FIRST,
        page_of_another_person: PAGE_OF_ANOTHER_PERSON,
        no_such_question: NO_SUCH_QUESTION,
        no_passkey_signed: NO_PASSKEY_SIGNED,
        passkey_not_accepted: PASSKEY_NOT_ACCEPTED,
        others_have_answered: OTHERS_HAVE_ANSWERED,
        not_assigned_to_you: NOT_ASSIGNED_TO_YOU,
        you_own_the_asker: YOU_OWN_THE_ASKER,
        place_was_not_handed_on: PLACE_WAS_NOT_HANDED_ON,
        question_was_not_reassigned: QUESTION_WAS_NOT_REASSIGNED,
        all_operators: ALL_OPERATORS,
        all_admins: ALL_ADMINS,
        not_one_of_the_choices: NOT_ONE_OF_THE_CHOICES,
        too_many_tries: TOO_MANY_TRIES,
        cannot_show: CANNOT_SHOW,
        not_from_our_page: NOT_FROM_OUR_PAGE,
        form_not_from_our_page: FORM_NOT_FROM_OUR_PAGE,
        opened_under_another_name: OPENED_UNDER_ANOTHER_NAME,
        not_done_here: NOT_DONE_HERE,
        no_such_page: NO_SUCH_PAGE,
        could_not_be_read: COULD_NOT_BE_READ,
        server_failed: SERVER_FAILED,
        answered_by_you: ANSWERED_BY_YOU,
        answered_by_another: ANSWERED_BY_ANOTHER,
        closed_unanswered: CLOSED_UNANSWERED,
        withdrawn: WITHDRAWN,
        superseded: SUPERSEDED,
        closed_time_lost: CLOSED_TIME_LOST,
        closed_too_few_agreed: CLOSED_TOO_FEW_AGREED,
        closed_undelivered: CLOSED_UNDELIVERED,
        title: TITLE,
        question: QUESTION,
        a_key: A_KEY,
        answer: ANSWER,
        what_the_agent_sent: WHAT_THE_AGENT_SENT,
        confidence: CONFIDENCE,
        decision_record: DECISION_RECORD,
        room_has_no_link: ROOM_HAS_NO_LINK,
        try_question: TRY_QUESTION,
        not_sent_yet: NOT_SENT_YET,
        counts_as_lost: COUNTS_AS_LOST,
        came_back: CAME_BACK,
        never_sent: NEVER_SENT,
        waits: WAITS,
        deadline_has_passed: DEADLINE_HAS_PASSED,
        no_person_answered: NO_PERSON_ANSWERED,
        was_replaced: WAS_REPLACED,
        reached_no_person: REACHED_NO_PERSON,
        was_withdrawn: WAS_WITHDRAWN,
        too_few_agreed: TOO_FEW_AGREED,
        lost_time: LOST_TIME,
        not_a_date: NOT_A_DATE,
        no_such_outcome: NO_SUCH_OUTCOME,
        not_an_intent_id: NOT_AN_INTENT_ID,
        could_not_be_exported: COULD_NOT_BE_EXPORTED,
        reason_for_a_no: REASON_FOR_A_NO,
        goes_with_a_no: GOES_WITH_A_NO,
        form_as_a_schema: FORM_AS_A_SCHEMA,
        proposed_action: PROPOSED_ACTION,
        changes_of_the_action: CHANGES_OF_THE_ACTION,
        action_was_changed: ACTION_WAS_CHANGED,
        look_at_the_changes: LOOK_AT_THE_CHANGES,
        proposal_has_changed: PROPOSAL_HAS_CHANGED,
        draft_is_not_saved: DRAFT_IS_NOT_SAVED,
        draft_is_gone: DRAFT_IS_GONE,
        field_came_twice: FIELD_CAME_TWICE,
        is_missing: IS_MISSING,
        is_not_accepted: IS_NOT_ACCEPTED,
        number_needed: NUMBER_NEEDED,
        whole_number_needed: WHOLE_NUMBER_NEEDED,
        a_number_needed: A_NUMBER_NEEDED,
        a_text_needed: A_TEXT_NEEDED,
        a_boolean_needed: A_BOOLEAN_NEEDED,
        a_list_needed: A_LIST_NEEDED,
        an_object_needed: AN_OBJECT_NEEDED,
        another_kind: ANOTHER_KIND,
        option_needed: OPTION_NEEDED,
        once_each: ONCE_EACH,
        no_such_field: NO_SUCH_FIELD,
        what_happens: WHAT_HAPPENS,
        why: WHY,
        impact: IMPACT,
        rollback: ROLLBACK,
        links_not_linked: LINKS_NOT_LINKED,
        evidence: EVIDENCE,
        kind_of_question: KIND_OF_QUESTION,
        can_it_be_taken_back: CAN_IT_BE_TAKEN_BACK,
        reversible: REVERSIBLE,
        hard_to_reverse: HARD_TO_REVERSE,
        irreversible: IRREVERSIBLE,
        says_reversible: SAYS_REVERSIBLE,
        says_hard_to_reverse: SAYS_HARD_TO_REVERSE,
        says_irreversible: SAYS_IRREVERSIBLE,
        says_low_risk: SAYS_LOW_RISK,
        says_medium_risk: SAYS_MEDIUM_RISK,
        says_high_risk: SAYS_HIGH_RISK,
        says_critical_risk: SAYS_CRITICAL_RISK,
        the_page_explains: THE_PAGE_EXPLAINS,
        the_page_has_earlier_decisions: THE_PAGE_HAS_EARLIER_DECISIONS,
        earlier_decisions: EARLIER_DECISIONS,
        no_earlier_decision: NO_EARLIER_DECISION,
        content_was_erased: CONTENT_WAS_ERASED,
        earlier_answered: EARLIER_ANSWERED,
        earlier_unanswered: EARLIER_UNANSWERED,
        earlier_too_few: EARLIER_TOO_FEW,
        earlier_withdrawn: EARLIER_WITHDRAWN,
    }
    pairs {
        an_email: AN_EMAIL,
        a_uri: A_URI,
        a_date: A_DATE,
        a_date_time: A_DATE_TIME,
    }
    functions {
        fn number_is_written(number: &str) -> String;
        fn whole_number_is_written(number: &str) -> String;
        fn number_is_ambiguous(large: &str, small: &str) -> String;
        fn seconds(count: impl Display) -> String;
        fn minutes(count: impl Display) -> String;
        fn hours(count: impl Display) -> String;
        fn days(count: impl Display) -> String;
        fn clock(at: DateTime<Utc>) -> String;
        fn date_and_clock(at: DateTime<Utc>, year_is_named: bool) -> String;
        fn date_and_second(at: DateTime<Utc>) -> String;
        fn and_in_zone(utc: &str, in_zone: impl Display) -> String;
        fn in_utc(time: &str) -> String;
        fn seconds_later(seconds: i64) -> String;
        fn received_on(moment: &str) -> String;
        fn asks(agent: &str) -> Stressed;
        fn preview(deadline: &str) -> String;
        fn preview_of_the_end(what: &str) -> String;
        fn reminder(attempt: impl Display, attempts: impl Display) -> String;
        fn reminder_in_text(reminder: &str, left: Option<&str>) -> String;
        fn still_open_until(left: &str, deadline: &str) -> Stressed;
        fn was_asked_at(moment: &str) -> String;
        fn nobody_has_answered_since(moment: &str) -> String;
        fn asked_before_you(people: &[String], more: usize) -> String;
        fn no_answer_yet(person: &str) -> String;
        fn please_answer_by_in_text(deadline: &str) -> String;
        fn please_answer_by(deadline: &str, left: &str) -> Stressed;
        fn more_on_the_page(count: impl Display) -> String;
        fn more_steps(count: usize) -> String;
        fn will_be_asked(people: &[&str]) -> String;
        fn approval_question(action: &str, reason: &str) -> String;
        fn checkpoint_question(name: &str) -> String;
        fn escalation_question(reason: &str) -> String;
        fn arbitration_question(reason: &str) -> String;
        fn closes_with_fallback(fallback: &str) -> String;
        fn falls_back_for_the_asker(fallback: &str, requires_delivery: bool) -> String;
        fn sent_to(recipient: &str, why: &str) -> String;
        fn because_in_place_of(person: &str) -> String;
        fn others_wait(count: u32) -> Option<String>;
        fn people_must_agree(count: u32) -> String;
        fn a_login_was_asked_for(host: &str) -> String;
        fn too_few_are_left(host: &str, agent: &str, question: &str, keeps_owner_out: bool) -> String;
        fn login_link_lasts(minutes: i64) -> String;
        fn checkpoint_subject(size: u64, origin: &str) -> String;
        fn checkpoint_covers(size: u64, origin: &str) -> String;
        fn amount(amount: Amount) -> String;
        fn amount_more(amount: Amount) -> String;
        fn people(named: &[String], more: usize) -> String;
        fn as_a_reminder(people: &str) -> String;
        fn as_an_escalation(people: &str) -> String;
        fn the_group(name: &str) -> String;
        fn answers_need_a_change(count: usize) -> String;
        fn attached_to(choice: &str) -> String;
        fn choice_without_button(choice: &str) -> String;
        fn more_about_a_field(field: &str) -> String;
        fn room_is_asked(agent: &str) -> String;
        fn room_until(moment: &str) -> String;
        fn room_answers_at(link: &str) -> String;
        fn waits_for(left: &str) -> String;
        fn was_answered(answer: &str, person: &str) -> String;
        fn must_match(pattern: &str) -> String;
        fn must_be_like(what: &str, example: &str) -> String;
        fn at_least(limit: &str) -> String;
        fn at_most(limit: &str) -> String;
        fn more_than(limit: &str) -> String;
        fn less_than(limit: &str) -> String;
        fn multiple_of(step: &str) -> String;
        fn at_least_characters(least: u64) -> String;
        fn at_most_characters(most: u64) -> String;
        fn at_least_options(least: u64) -> String;
        fn at_most_options(most: u64) -> String;
        fn hint(rules: &[String]) -> String;
        fn draft_is_too_long(kibibytes: usize) -> String;
        fn draft_has_too_many_fields(most: usize) -> String;
        fn too_many_drafts(most: usize) -> String;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page tells each time with one name of its zone, whether the server or the script of the page has written it. The names are those of
    /// ICU 78 for en-GB and de-GB.
    #[test]
    fn zones_have_the_names_that_browsers_use() {
        let [winter, summer] = ["2026-01-15T12:00:00Z", "2026-07-15T12:00:00Z"].map(|text| text.parse().unwrap());
        for (zone, at, english, german) in [
            (Tz::Europe__Berlin, winter, "CET", "MEZ"),
            (Tz::Europe__Berlin, summer, "CEST", "MESZ"),
            (Tz::Europe__Athens, winter, "EET", "OEZ"),
            (Tz::Europe__Athens, summer, "EEST", "OESZ"),
            (Tz::Europe__Lisbon, winter, "WET", "WEZ"),
            (Tz::Europe__Lisbon, summer, "WEST", "WESZ"),
            (Tz::Europe__London, winter, "GMT", "GMT+0"),
            (Tz::Europe__London, summer, "BST", "GMT+1"),
            (Tz::UTC, winter, "UTC", "UTC"),
            (Tz::Atlantic__Azores, summer, "GMT+0", "GMT+0"),
            (Tz::Asia__Kolkata, winter, "GMT+5:30", "GMT+5:30"),
            (Tz::America__St_Johns, winter, "GMT-3:30", "GMT-3:30"),
            (Tz::America__Anchorage, winter, "GMT-9", "GMT-9"),
            (Tz::America__Anchorage, summer, "GMT-8", "GMT-8"),
        ] {
            let told = (Language::English.zone(zone, at), Language::German.zone(zone, at));
            assert_eq!(told, (english.to_owned(), german.to_owned()), "{zone}");
        }
    }
}
