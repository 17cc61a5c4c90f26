//! The words of mails to admins about questions that too few people are left to answer, in English.

/// The subject of the mail.
pub const ALERT_SUBJECT: &str = "Too few people are left to answer a question";

/// The first words of the mail.
pub fn too_few_are_left(host: &str, agent: &str, question: &str, keeps_owner_out: bool) -> String {
    let why = if keeps_owner_out {
        "some of its people own the key that asked, and may not answer; others may have left, or have another role"
    } else {
        "some have left, or have another role, since it was asked"
    };
    format!(
        "A question at {host} needs more people than can answer it now: {why}. \
         The question waits until its deadline. {agent} asked it, and its id is {question}."
    )
}

/// The remedies.
pub const ALERT_REMEDY: &str = "An admin can help: assign the question to other people, list people, or put them into the group. \
                                This mail says nothing of the question itself; the page shows it after a login.";
