//! The words of mails to admins about questions that too few people are left to answer, in German.

/// The subject of the mail.
pub(super) const ALERT_SUBJECT: &str = "Zu wenige Personen können eine Frage noch beantworten";

/// The first words of the mail.
pub(super) fn too_few_are_left(host: &str, agent: &str, question: &str) -> String {
    format!(
        "Auf eine Frage bei {host} müssen mehr Personen dieselbe Antwort geben, als sie jetzt beantworten können: Einige sind seitdem \
         gegangen oder haben eine andere Rolle. Die Frage wartet bis zu ihrer Frist. {agent} hat sie gestellt, und ihre ID ist {question}."
    )
}

/// The remedies.
pub(super) const ALERT_REMEDY: &str = "Die Administration kann helfen: die Frage anderen Personen zuweisen, Personen eintragen oder sie in die Gruppe aufnehmen. \
     Diese E-Mail sagt nichts über den Inhalt der Frage; die Seite zeigt ihn nach einer Anmeldung.";
