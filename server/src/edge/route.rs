//! Routes. A route declares its surface, its methods, and the work of each method ([`Work`]). A method with a work needs a key,
//! and the work decides the class and the limits of its requests.

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, Route, guard};
use domain::base::ids::{IntentId, PortfolioId, SuspensionId};
use domain::problem::{Entry, Rejection, edge};

use super::admission::Work;
use super::auth::authenticate;
use super::held::hold;
use super::problem::{Failure, Surface};
use super::shared::Shared;

/// One method of a resource, with its handler.
pub(crate) struct Endpoint {
    method: Method,
    work: Work,
    route: Route,
}

impl Endpoint {
    fn of<F, A>(method: Method, work: Work, handler: F) -> Self
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        Self { method, work, route: web::to(handler) }
    }
}

/// A method that reads.
pub(crate) fn get<F, A>(work: Work, handler: F) -> Endpoint
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    Endpoint::of(Method::GET, work, handler)
}

/// A method that writes, or that reads what its body describes.
pub(crate) fn post<F, A>(work: Work, handler: F) -> Endpoint
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    Endpoint::of(Method::POST, work, handler)
}

/// A method that changes a part of an object.
pub(crate) fn patch<F, A>(work: Work, handler: F) -> Endpoint
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    Endpoint::of(Method::PATCH, work, handler)
}

/// A method that replaces a whole object.
pub(crate) fn put<F, A>(work: Work, handler: F) -> Endpoint
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    Endpoint::of(Method::PUT, work, handler)
}

/// A method that removes an object.
pub(crate) fn delete<F, A>(work: Work, handler: F) -> Endpoint
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    Endpoint::of(Method::DELETE, work, handler)
}

/// A route as it was declared.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) surface: Surface,
    /// Whether it needs an API key.
    pub(crate) is_keyed: bool,
}

/// The layer that lets callers with a key through. `$work` is a function that returns the work of a method, or `None` if no route
/// fits. This is a macro because the type of the layer has no name that a function could return.
macro_rules! authenticated {
    ($surface:expr, $work:expr) => {{
        let (surface, work) = ($surface, $work);
        from_fn(move |shared: Data<Shared>, request: ServiceRequest, next: Next<BoxBody>| {
            let work = work(request.method());
            authenticate(surface, work, shared, request, next)
        })
    }};
}

/// Registers routes with a server, and keeps what they declare.
pub(crate) struct Routes<'a> {
    /// Absent if the routes are only declared and not served.
    config: Option<&'a mut ServiceConfig>,
    prefix: &'static str,
    declared: Vec<Declared>,
}

impl<'a> Routes<'a> {
    /// Registers with a server.
    pub(crate) fn registered(config: &'a mut ServiceConfig) -> Self {
        Self { config: Some(config), prefix: "", declared: Vec::new() }
    }

    /// The declarations that `routes` makes.
    pub(crate) fn declared(routes: impl FnOnce(&mut Self)) -> Vec<Declared> {
        let mut declaring = Self { config: None, prefix: "", declared: Vec::new() };
        routes(&mut declaring);
        declaring.declared
    }

    /// Routes whose paths begin with `prefix`.
    pub(crate) fn under(&mut self, prefix: &'static str, routes: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.prefix, prefix);
        routes(self);
        self.prefix = before;
    }

    /// A resource that needs no key.
    pub(crate) fn open<const N: usize>(&mut self, surface: Surface, path: &str, endpoints: [(Method, Route); N]) {
        let path = format!("{}{path}", self.prefix);
        for (method, _) in &endpoints {
            self.declared.push(Declared { method: method.clone(), path: path.clone(), surface, is_keyed: false });
        }
        if let Some(config) = &mut self.config {
            config.service(allowing(&path, endpoints, without_method(surface)));
        }
    }

    /// A resource whose handler looks for the key itself, because the key may come as a bearer token.
    pub(crate) fn scraped(&mut self, path: &str, endpoint: (Method, Route)) {
        self.open(Surface::Ours, path, [endpoint]);
        self.declared.iter_mut().filter(|declared| declared.path == path).for_each(|declared| declared.is_keyed = true);
    }

    /// A `POST` to a resource by a request that has a signature and no key: the handler checks the signature. The resource itself is declared
    /// after it, and takes every other request.
    pub(crate) fn signed<F, A>(&mut self, path: &str, handler: F)
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let path = format!("{}{path}", self.prefix);
        let Some(config) = &mut self.config else { return };
        let is_signed = guard::fn_guard(|context| {
            let has = |name: &str| context.head().headers().contains_key(name);
            has("webhook-signature") && !has("x-api-key")
        });
        config.service(web::resource(&path).guard(guard::All(guard::Post()).and(is_signed)).to(handler));
    }

    /// A resource that needs an API key.
    pub(crate) fn keyed<const N: usize>(&mut self, surface: Surface, path: &str, endpoints: [Endpoint; N]) {
        let path = format!("{}{path}", self.prefix);
        let works = endpoints.each_ref().map(|endpoint| (endpoint.method.clone(), endpoint.work));
        for (method, _) in &works {
            self.declared.push(Declared { method: method.clone(), path: path.clone(), surface, is_keyed: true });
        }
        let Some(config) = &mut self.config else { return };
        let routes = endpoints.map(|endpoint| (endpoint.method, endpoint.route));
        let keyed = authenticated!(surface, move |asked: &Method| {
            works.iter().find(|(method, _)| method == asked).map(|(_, work)| *work)
        });
        config.service(allowing(&path, routes, without_method(surface)).wrap(keyed));
    }

    /// A stream of the OpenIntent client: a resource that needs an API key and whose refusals are held back ([`hold`]).
    pub(crate) fn stream(&mut self, path: &str, endpoint: Endpoint) {
        let surface = Surface::OpenIntent;
        let path = format!("{}{path}", self.prefix);
        let Endpoint { method, work, route } = endpoint;
        self.declared.push(Declared { method: method.clone(), path: path.clone(), surface, is_keyed: true });
        let Some(config) = &mut self.config else { return };
        // The client writes the name of an agent into the path as it is, and a name may hold a slash.
        let pattern = path.replace("{agent_id}", "{agent_id:.+}");
        let resource = allowing(&pattern, [(method.clone(), route)], without_method(surface));
        let keyed = authenticated!(surface, move |asked: &Method| (*asked == method).then_some(work));
        config.service(resource.wrap(keyed).wrap(from_fn(hold)));
    }

    /// Registers a resource of OpenIntent that this server does not have. Every method is refused as not implemented, for the
    /// reason `why`.
    pub(crate) fn unsupported(&mut self, path: &str, why: &'static str) {
        let Some(config) = &mut self.config else { return };
        config.service(unsupported(self.prefix, path, why));
    }

    /// Registers all other paths under `path` as not existing. A caller without a valid key gets a 401 there, as everywhere.
    pub(crate) fn nothing_under(&mut self, surface: Surface, path: &str) {
        let Some(config) = &mut self.config else { return };
        let nothing = refuse(surface, edge::NO_ROUTE, "not found");
        let scope = web::scope(&format!("{}{path}", self.prefix)).wrap(authenticated!(surface, |_: &Method| None));
        config.service(scope.default_service(nothing));
    }
}

/// The methods of a resource, as its 405 names them (RFC 9110 §15.5.6).
pub(crate) struct Allow(String);

impl Allow {
    /// The methods of the requested resource.
    pub(crate) fn of(request: &HttpRequest) -> Option<HeaderValue> {
        HeaderValue::from_str(&request.app_data::<Self>()?.0).ok()
    }
}

/// A resource that answers unknown methods with `no_method`, which can name the known methods.
pub(crate) fn allowing<const N: usize>(path: &str, routes: [(Method, Route); N], no_method: Route) -> Resource {
    let methods: Vec<&str> = routes.iter().map(|(method, _)| method.as_str()).collect();
    let resource = web::resource(path).app_data(Allow(methods.join(", "))).default_service(no_method);
    routes.into_iter().fold(resource, |resource, (method, route)| resource.route(route.method(method)))
}

/// A resource of OpenIntent that this server does not have.
fn unsupported(
    prefix: &str,
    path: &str,
    why: &'static str,
) -> Resource<
    impl ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse<BoxBody>, Error = actix_web::Error, InitError = ()>
    + use<>,
> {
    let refusal = refuse(Surface::OpenIntent, edge::NOT_IMPLEMENTED, why);
    let resource = web::resource(format!("{prefix}{path}")).wrap(authenticated!(Surface::OpenIntent, |_: &Method| None));
    resource.default_service(refusal)
}

/// Refuses every request in the same way.
fn refuse(surface: Surface, entry: Entry, why: &'static str) -> Route {
    web::to(move || async move { surface.error(Failure::edge(entry, why)).error_response() })
}

/// Answers with the methods of a resource, in the form of its surface.
fn without_method(surface: Surface) -> Route {
    web::to(move |request: HttpRequest| async move {
        let methods = Allow::of(&request);
        let known = methods.as_ref().and_then(|methods| methods.to_str().ok()).unwrap_or_default();
        let failure = Failure::edge(edge::NO_METHOD, format!("this route knows these methods: {known}"));
        let mut response = surface.error(failure).error_response();
        if let Some(methods) = methods {
            response.headers_mut().insert(ALLOW, methods);
        }
        response
    })
}

/// Answers a program at a path that no route matches.
pub(crate) async fn no_route() -> Result<HttpResponse, actix_web::Error> {
    Err(Surface::Ours.error(Failure::edge(edge::NO_ROUTE, "not found")))
}

/// The intent in the path; a text that is no UUID is refused as not found.
pub(crate) fn intent_id(request: &HttpRequest) -> Result<IntentId, Rejection> {
    request.match_info().get("intent_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// The dependency in the path; a text that is no UUID is refused as not found.
pub(crate) fn dependency_id(request: &HttpRequest) -> Result<IntentId, Rejection> {
    request.match_info().get("dependency_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// The portfolio in the path; a text that is no UUID is refused as not found.
pub(crate) fn portfolio_id(request: &HttpRequest) -> Result<PortfolioId, Rejection> {
    request.match_info().get("portfolio_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// The suspension in the path; a text that is not in the form of our ids is refused as not found.
pub(crate) fn suspension_id(request: &HttpRequest) -> Result<SuspensionId, Rejection> {
    let id = request.match_info().get("suspension_id").and_then(SuspensionId::parse);
    id.ok_or(Rejection::NotFound)
}
