//! The words of mails to admins about questions that too few people are left to answer, in German.

/// The subject of the mail.
pub(super) const ALERT_SUBJECT: &str = "Zu wenige Personen können eine Frage noch beantworten";

/// The first words of the mail.
pub(super) fn too_few_are_left(host: &str, agent: &str, question: &str, keeps_owner_out: bool) -> String {
    let why = if keeps_owner_out {
        "Einigen der Personen, denen die Frage gestellt ist, gehört der Schlüssel, mit dem gefragt wurde; sie dürfen nicht antworten. \
         Andere sind vielleicht gegangen oder haben eine andere Rolle"
    } else {
        "Einige sind gegangen oder haben eine andere Rolle, seit sie gestellt wurde"
    };
    format!(
        "Eine Frage bei {host} braucht mehr Personen, als sie jetzt noch beantworten können: {why}. \
         Die Frage wartet bis zu ihrer Frist. {agent} hat sie gestellt, und ihre ID ist {question}."
    )
}

/// The remedies.
pub(super) const ALERT_REMEDY: &str = "Die Administration kann helfen: die Frage anderen Personen zuweisen, Personen eintragen oder sie in die Gruppe aufnehmen. \
     Diese E-Mail sagt nichts über den Inhalt der Frage; die Seite zeigt ihn nach einer Anmeldung.";
