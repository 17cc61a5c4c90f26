//! The language of a page: the first of the reader's languages in which Placet speaks.
//!
//! Guarantee: no page mixes languages. Mechanism: each template is compiled once for each language, with another folder of words, and the
//! words that Rust adds come from the same [`Language`]. Failure: a header that names no language of ours, or cannot be read, means English.

use actix_web::HttpMessage;
use actix_web::http::header::{AcceptLanguage, Header as _, Preference, Quality};
use domain::base::words::Language;

/// The language that a reader's browser asks for.
pub(super) fn wished(message: &impl HttpMessage) -> Language {
    let Ok(AcceptLanguage(mut wishes)) = AcceptLanguage::parse(message) else { return Language::English };
    wishes.retain(|wish| wish.quality > Quality::ZERO);
    // The sort is stable: of equal wishes, the first one counts.
    wishes.sort_by_key(|wish| std::cmp::Reverse(wish.quality));
    let spoken = wishes.iter().find_map(|wish| match &wish.item {
        Preference::Any => Some(Language::English),
        Preference::Specific(tag) => match tag.primary_language() {
            "de" => Some(Language::German),
            "en" => Some(Language::English),
            _ => None,
        },
    });
    spoken.unwrap_or_default()
}

/// Compiles the template of a page once for each language. `render` takes the words of the page's own language.
macro_rules! in_languages {
    ($page:ident, $path:tt, |$this:ident| $manner:expr) => {
        in_languages!(@ 'a, $page, $page, $path, |$this| $manner);
    };
    ($page:ident<'_>, $path:tt, |$this:ident| $manner:expr) => {
        in_languages!(@ 'a, $page<'_>, $page<'a>, $path, |$this| $manner);
    };
    (@ $life:lifetime, $page:ty, $inner:ty, $path:tt, |$this:ident| $manner:expr) => {
        const _: () = {
            #[derive(askama::Template)]
            #[template(path = $path, config = "askama.toml")]
            struct English<$life>(&$life $inner);

            #[derive(askama::Template)]
            #[template(path = $path, config = "german.toml")]
            struct German<$life>(&$life $inner);

            impl<$life> std::ops::Deref for English<$life> {
                type Target = $inner;

                fn deref(&self) -> &$inner {
                    self.0
                }
            }

            impl<$life> std::ops::Deref for German<$life> {
                type Target = $inner;

                fn deref(&self) -> &$inner {
                    self.0
                }
            }

            impl $page {
                /// The page in its language.
                pub(crate) fn render(&self) -> askama::Result<String> {
                    match self.language() {
                        domain::base::words::Language::English => askama::Template::render(&English(self)),
                        domain::base::words::Language::German => askama::Template::render(&German(self)),
                    }
                }

                /// The language of the page.
                fn language(&self) -> domain::base::words::Language {
                    self.manner().language
                }

                /// How the page speaks.
                fn manner(&self) -> crate::pages::view::Manner {
                    let $this = self;
                    $manner
                }
            }
        };
    };
    ($page:ident, $path:tt) => {
        in_languages!($page, $path, |this| this.page.manner);
    };
    ($page:ident<'_>, $path:tt) => {
        in_languages!($page<'_>, $path, |this| this.page.manner);
    };
}

pub(super) use in_languages;

#[cfg(test)]
mod tests {
    use actix_web::http::header::ACCEPT_LANGUAGE;
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn the_first_language_that_placet_speaks_counts() {
        let asks = |header: &str| wished(&TestRequest::default().insert_header((ACCEPT_LANGUAGE, header)).to_http_request());
        for german in ["de", "DE", "de-AT", "de-AT,de;q=0.9,en;q=0.8", "fr, de;q=0.5", "en;q=0.1, de;q=0.9", "en;q=0, de;q=0.1"] {
            assert_eq!(asks(german), Language::German, "{german}");
        }
        let nonsense = ["", ",", ";q=1", "de;q=", "de;q=2", "d e", "deutsch", "den"];
        let english = ["en", "en-GB", "fr", "*", "*, de;q=0.9", "de;q=0", "en;q=0.9,de;q=0.1", "en,de", "fr,es"];
        for english in english.into_iter().chain(nonsense) {
            assert_eq!(asks(english), Language::English, "{english}");
        }
        assert_eq!(wished(&TestRequest::default().to_http_request()), Language::English);
    }
}
