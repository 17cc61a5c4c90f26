//! The way by which a person came to a question: the link of a message, or a session.
//!
//! Guarantee: an answer counts for one person, and never for two. Mechanism: on the page of a link it counts for the person of the link;
//! the browser's session makes the server surer of the person only if it is a session of the same one, and is left out otherwise. On the
//! page of a session it counts for the person of the session, and the form says for whom the page was shown. Failure: a form that was shown
//! to another person answers nothing, and is kept for that person.

use actix_web::HttpRequest;
use domain::base::ids::SuspensionId;
use domain::base::words::Language;
use domain::people::principal::{Principal, Role};
use domain::suspension::RequiredAssurance;
use sha2::{Digest, Sha256};
use store::link::LinkToken;
use store::{LinkView, Typist};

use super::form::Form;
use super::hands::HandButton;
use super::session::{LOGIN, Session};
use super::view::{Kept, LoginNeeded, Timeline};
use super::{Pages, drafting};
use crate::edge::shared::Shared;

/// The query of the login that names the question to which it leads back.
pub(super) const QUESTION: &str = "question";
/// The query of the login that says that only a recent login helps.
pub(super) const FRESH: &str = "fresh";

/// The way by which a person came to a question.
pub(super) enum Way {
    /// The link of a message.
    Link {
        token: LinkToken,
        /// The browser's session, if it is one of the person to whom the message went.
        session: Option<Session>,
        /// The person of the browser's session, if that is another one.
        other: Option<String>,
    },
    /// A session.
    Session {
        session: Session,
        /// The question.
        id: SuspensionId,
    },
}

/// Where the login leads back to this question.
pub(super) fn login_to(id: SuspensionId) -> String {
    format!("{LOGIN}?{QUESTION}={}", id.expose())
}

/// The page of a question for people who logged in.
pub(super) fn page_of(id: SuspensionId) -> String {
    format!("/questions/{}", id.expose())
}

impl Way {
    /// The way by a link. A session that cannot be looked up counts as none.
    pub(super) async fn by_link(
        token: LinkToken,
        link: &LinkView,
        request: &HttpRequest,
        shared: &Shared,
        pages: &Pages,
    ) -> Self {
        let found = pages.open_session(request, shared).await.ok().flatten();
        // An auditor answers no questions as a person, and may have got a link for one all the same.
        let found = found.filter(|session| matches!(session.principal.role, Role::Operator | Role::Admin));
        match found {
            Some(session) if session.principal.name.eq_ignore_ascii_case(&link.recipient) => {
                Self::Link { token, session: Some(session), other: None }
            }
            Some(session) => Self::Link { token, session: None, other: Some(session.principal.name) },
            None => Self::Link { token, session: None, other: None },
        }
    }

    /// The session that counts.
    pub(super) fn session(&self) -> Option<&Session> {
        match self {
            Self::Link { session, .. } => session.as_ref(),
            Self::Session { session, .. } => Some(session),
        }
    }

    /// The person of the browser's session, if the session does not count.
    pub(super) fn other(&self) -> Option<String> {
        match self {
            Self::Link { other, .. } => other.clone(),
            Self::Session { .. } => None,
        }
    }

    /// The caller whose answer a form is.
    pub(super) fn principal(&self, link: &LinkView) -> Principal {
        match self.session() {
            Some(session) => session.principal.clone(),
            None => Principal::link_holder(&link.recipient, link.delivery),
        }
    }

    /// Whether the person came by a session alone.
    pub(super) fn is_session(&self) -> bool {
        match self {
            Self::Link { .. } => false,
            Self::Session { .. } => true,
        }
    }

    /// Whether the page of the form was made for another person.
    pub(super) fn is_anothers(&self, form: &Form) -> bool {
        match self {
            Self::Link { .. } => false,
            Self::Session { session, .. } => !form.is_of(&session.principal.name),
        }
    }

    /// The question as it is now, if the person has claimed or released it and goes on with an answer that is typed already. Otherwise
    /// what was typed before is forgotten: it was sent now.
    pub(super) async fn still_answering(&self, link: &LinkView, form: &Form, shared: &Shared) -> Option<LinkView> {
        let stays = matches!(form.hand, Some(HandButton::Claim | HandButton::Release));
        if !stays || drafting::typed(form, link).is_empty() {
            self.forget(link, shared).await;
            return None;
        }
        let now = match self {
            Self::Link { token, .. } => shared.store.link(token.clone()).await.ok().flatten(),
            Self::Session { session, id } => shared.store.question(session.principal.clone(), *id).await.ok(),
        };
        now.filter(|now| now.is_open && now.may_answer)
    }

    /// Forgets what the person typed before the login. It was sent now.
    pub(super) async fn forget(&self, link: &LinkView, shared: &Shared) {
        let Some(session) = self.session() else { return };
        if let Err(error) = shared.store.forget_unsent(link.suspension.id, session.principal.name.clone()).await {
            tracing::debug!(error = %error, "failed to forget a form that was kept");
        }
    }

    /// The nonce of the form shown under this cookie.
    pub(super) fn nonce(&self, pages: &Pages, cookie: &str) -> String {
        match self {
            Self::Link { token, .. } => pages.nonce(cookie, token),
            Self::Session { session, id } => pages.question_nonce(cookie, *id, &session.principal.name),
        }
    }

    /// Whether the form was shown in this browser, by this way.
    pub(super) fn fits(&self, form: &Form, request: &HttpRequest, pages: &Pages) -> bool {
        let Some(cookie) = pages.brought_cookie(request) else { return false };
        match self {
            Self::Link { token, .. } => pages.nonce_fits(form.mac(), &cookie, token),
            Self::Session { session, id } => pages.question_nonce_fits(form.mac(), &cookie, *id, &session.principal.name),
        }
    }

    /// The key under which the tries to answer are counted.
    pub(super) fn tries(&self) -> [u8; 32] {
        match self {
            Self::Link { token, .. } => token.hash(),
            Self::Session { session, id } => tries_of(*id, &session.principal.name),
        }
    }

    /// The login that the person needs before an answer counts; `None` if the question needs none, or if the person has logged in.
    pub(super) fn needs_login(&self, link: &LinkView) -> Option<LoginNeeded> {
        let session = self.session();
        let (needs, fresh) = match link.question.required_assurance? {
            RequiredAssurance::Session => (session.is_none(), false),
            RequiredAssurance::RecentLogin => (session.is_none_or(|session| !session.is_recent(link.now)), true),
            // The page asks for the passkey itself.
            RequiredAssurance::Passkey => (false, false),
        };
        if !needs {
            return None;
        }
        let login = login_to(link.suspension.id);
        Some(match (link.is_listed, fresh) {
            (false, _) => LoginNeeded::Unlisted,
            (true, false) => LoginNeeded::At(login),
            (true, true) => LoginNeeded::Fresh(format!("{login}&{FRESH}=1")),
        })
    }

    /// The login that the person needs before choosing who answers; `None` if the question needs none, or if the person has logged in. A
    /// passkey does not replace it: it signs answers alone.
    pub(super) fn needs_login_for_hands(&self, link: &LinkView) -> Option<LoginNeeded> {
        if link.question.required_assurance.is_none() || self.session().is_some() {
            return None;
        }
        Some(if link.is_listed { LoginNeeded::At(login_to(link.suspension.id)) } else { LoginNeeded::Unlisted })
    }

    /// The history of the question so far, for a person who came by a session. The page is shown without it if it cannot be read.
    pub(super) async fn timeline(&self, link: &LinkView, shared: &Shared) -> Option<Box<Timeline>> {
        let Self::Session { session, id } = self else { return None };
        match shared.store.history(session.principal.clone(), *id).await {
            Ok(history) => Some(Box::new(Timeline::of(link, &history))),
            Err(error) => {
                tracing::debug!(error = %error, "failed to read what happened to a question");
                None
            }
        }
    }

    /// What the person typed before: the form that was kept over a login, or the own draft, whichever is newer; for a draft, the address of
    /// its author.
    pub(super) async fn typed_before(
        &self,
        link: &LinkView,
        (browser, language): (Typist, Language),
        shared: &Shared,
    ) -> (Form, Option<Kept>, Option<String>) {
        let (kept, own) = (self.kept(link, browser, shared).await, drafting::own(link, language));
        match (kept, own) {
            (Some((_, kept)), Some((form, draft))) if draft.at > kept.at => (form, None, Some(draft.by.clone())),
            (Some((form, kept)), _) => (form, Some(kept), None),
            (None, Some((form, draft))) => (form, None, Some(draft.by.clone())),
            (None, None) => (Form::default(), None, None),
        }
    }

    /// The form that the person sent before the login, and when.
    async fn kept(&self, link: &LinkView, browser: Typist, shared: &Shared) -> Option<(Form, Kept)> {
        let session = self.session().filter(|_| link.is_open)?;
        let unsent = match shared.store.unsent(session.principal.clone(), link.suspension.id, browser).await {
            Ok(unsent) => unsent?,
            Err(error) => {
                tracing::debug!(error = %error, "failed to read a form that was kept");
                return None;
            }
        };
        let mut form = Form::read(&unsent.form);
        // A text that another person may have typed has nothing out of sight, like a draft that is taken over.
        let is_from_elsewhere = unsent.is_from_elsewhere;
        let is_marked = is_from_elsewhere && form.mark_what_is_hidden();
        let chosen = form.chosen(link);
        Some((form, Kept { chosen, at: unsent.kept_at, is_from_elsewhere, is_marked }))
    }
}

pub(super) fn tries_of(id: SuspensionId, person: &str) -> [u8; 32] {
    Sha256::new().chain_update(b"placet.question.tries.v1\0").chain_update(id.0.as_bytes()).chain_update(person).finalize().into()
}
