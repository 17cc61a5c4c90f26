//! German names of days and months, because `chrono` writes dates in English, and words whose form depends on gender and number.

use chrono::{DateTime, Datelike as _, Utc, Weekday};

use super::Amount;

/// The day of the week, as it stands before a date.
pub(super) fn weekday(at: DateTime<Utc>) -> &'static str {
    match at.weekday() {
        Weekday::Mon => "Mo.",
        Weekday::Tue => "Di.",
        Weekday::Wed => "Mi.",
        Weekday::Thu => "Do.",
        Weekday::Fri => "Fr.",
        Weekday::Sat => "Sa.",
        Weekday::Sun => "So.",
    }
}

/// The day and the month: “24. Nov.”. These are the abbreviations that browsers use, so that a page's script writes the same.
pub(super) fn day_and_month(at: DateTime<Utc>) -> String {
    const MONTHS: [&str; 12] = ["Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."];
    let month = usize::try_from(at.month0()).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or_default();
    format!("{}. {month}", at.day())
}

/// How much is hidden.
pub(super) fn amount(amount: Amount) -> String {
    match amount {
        Amount::Lines(1) => "1 Zeile".to_owned(),
        Amount::Lines(count) => format!("{count} Zeilen"),
        Amount::Characters(count) => format!("{count} Zeichen"),
        Amount::Entries(1) => "1 Eintrag".to_owned(),
        Amount::Entries(count) => format!("{count} Einträge"),
    }
}

/// How much is hidden, behind the part that is shown.
pub(super) fn amount_more(amount: Amount) -> String {
    match amount {
        Amount::Lines(1) => "1 weitere Zeile".to_owned(),
        Amount::Lines(count) => format!("{count} weitere Zeilen"),
        Amount::Characters(1) => "1 weiteres Zeichen".to_owned(),
        Amount::Characters(count) => format!("{count} weitere Zeichen"),
        Amount::Entries(1) => "1 weiterer Eintrag".to_owned(),
        Amount::Entries(count) => format!("{count} weitere Einträge"),
    }
}
