//! The login by an issuer of identities in a real browser: the form leads to another origin, which the page's policy must allow.

use domain::people::principal::Role;
use harness::browser::{Browser, BrowserOptions};
use harness::on_one_store;

use super::looks::{fits, looks};
use crate::people::logins::{ADA, list};
use crate::people::openid::with_issuer;

async fn browser(javascript: bool) -> Browser {
    Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript }).await
}

/// Looks at the present page at each width, and takes its pictures.
async fn look(browser: &Browser, name: &str) {
    for (width, dark) in looks() {
        browser.emulate(BrowserOptions { width, height: 800, dark, javascript: true }).await;
        fits(browser, name, (width, dark)).await;
    }
}

on_one_store! {
    /// The button leads to the issuer and back to the first page behind the login, without scripts as well.
    async fn the_button_leads_to_the_issuer_and_back(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        let login = format!("{}login", app.base);
        for javascript in [true, false] {
            let browser = browser(javascript).await;
            browser.open(&login).await;
            if javascript {
                look(&browser, "login-openid").await;
            }
            browser.press("form[action='/login/openid'] button").await;
            assert_eq!(browser.url().await, format!("{}inbox", app.base), "{}", browser.text().await);
            assert!(browser.text().await.contains(ADA), "{}", browser.text().await);
            assert_eq!(browser.console_errors().await, [""; 0]);
        }
        issuer.behave(|behaviour| behaviour.error = Some("access_denied".to_owned()));
        let browser = browser(true).await;
        browser.open(&login).await;
        browser.press("form[action='/login/openid'] button").await;
        assert_eq!(browser.find_all_text("h1").await, ["You are not logged in"], "{}", browser.text().await);
        assert!(browser.text().await.contains("It says: access_denied."), "{}", browser.text().await);
        look(&browser, "login-openid-refused").await;
        browser.press("a[href='/login']").await;
        assert_eq!(browser.url().await, login);
    }
}
