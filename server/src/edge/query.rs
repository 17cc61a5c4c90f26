//! Query strings. A handler reads each parameter by its name and checks it, and decides whether it refuses unknown parameters.

use std::collections::BTreeMap;

use domain::base::field::FieldError;
use domain::problem::Rejection;

/// The most entries on one page of any list.
pub(crate) const PAGE_MAX: u32 = 1_000;
/// The entries on one page of any list, unless the request says otherwise.
pub(crate) const PAGE_DEFAULT: u32 = 100;
/// The furthest offset from which a list can be read.
pub(crate) const OFFSET_MAX: u32 = 100_000;

/// The parameters of one request.
pub(crate) struct Query {
    values: BTreeMap<String, String>,
    errors: Vec<FieldError>,
}

impl Query {
    /// Parses a query string; a parameter that comes twice is refused.
    pub(crate) fn new(text: &str) -> Self {
        let mut query = Self { values: BTreeMap::new(), errors: Vec::new() };
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            if query.values.insert(name.to_string(), value.into_owned()).is_some() {
                query.errors.push(FieldError::new(name, "unique", "must be given only once"));
            }
        }
        query
    }

    /// A number within bounds, or the default.
    pub(crate) fn number(&mut self, name: &str, bounds: std::ops::RangeInclusive<u32>, default: u32) -> u32 {
        let Some(text) = self.values.remove(name) else { return default };
        match text.parse() {
            Ok(number) if bounds.contains(&number) => number,
            _ => {
                self.errors.push(FieldError::new(
                    name,
                    "range",
                    format!("must be a number from {} to {}", bounds.start(), bounds.end()),
                ));
                default
            }
        }
    }

    /// A text, parsed by `parse`; an absent or empty one gives `None`.
    pub(crate) fn parsed<T>(&mut self, name: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.values.remove(name).filter(|text| !text.is_empty())?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.errors.push(FieldError::new(name, "type", format!("must be {expected}")));
        }
        parsed
    }

    /// The filter, or the errors in the parameters; with `refuse_unknown` an unknown parameter is an error.
    pub(crate) fn wanted<F>(self, refuse_unknown: bool, filter: F) -> Result<F, Rejection> {
        self.finish(refuse_unknown).map(|()| filter)
    }

    /// Refuses wrong parameters, and with `refuse_unknown` also unknown ones.
    pub(crate) fn finish(mut self, refuse_unknown: bool) -> Result<(), Rejection> {
        if refuse_unknown {
            let unknown = self.values.keys().map(|name| FieldError::new(name, "unknown", "is no parameter of this route"));
            self.errors.extend(unknown);
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Rejection::Invalid { errors: self.errors }) }
    }
}
