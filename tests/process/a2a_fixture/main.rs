//! An agent of A2A for the protocol's public compatibility kit: the server as it is, with people around it who answer at once.
//!
//! ```text
//! a2a-fixture [--listen 127.0.0.1:9999]
//! ```
//!
//! The kit sends no credentials and expects an agent that works by the ids of messages, so this program has three parts: a whole server,
//! the people who ask and answer with its keys ([`skill`]), and a layer in front of it that adds the keys ([`front`]). docs/a2a.md tells
//! how the kit is run. It listens on this machine alone, keeps its data in a folder that goes with it, and is part of no release.
#![expect(clippy::print_stdout, reason = "the person or program that started this process waits for its address")]

mod front;
mod skill;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use actix_web::web::{self, Data};
use actix_web::{App as Web, HttpServer};
use anyhow::{Context, bail, ensure};
use clap::Parser;
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, KeyId};
use domain::people::principal::Role;
use domain::wire::CreateKeyRequest;
use placet_server::app::App;
use placet_server::config::{Config, ServeArgs, SubscriptionsConfig};
use placet_server::edge::keys::{generate, new_key};
use secrecy::ExposeSecret;
use store::host::account;
use store::host::clock::{SystemClock, SystemEntropy};
use store::host::task::spawn_named;
use store::{Database, SecretOrigin, Store};
use tokio::sync::watch;

use crate::front::Front;

/// Serves the public compatibility kit of A2A.
#[derive(Parser)]
struct Arguments {
    /// The address at which the kit calls, on this machine.
    #[arg(long, default_value = "127.0.0.1:9999")]
    listen: SocketAddr,
}

/// The hosts to which the kit has its pushes sent: a made-up one, and its own.
const PUSHED_TO: [&str; 3] = ["example.com", "localhost", "127.0.0.1"];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { listen } = Arguments::parse();
    ensure!(listen.ip().is_loopback(), "the fixture asks for no key, so it listens on this machine alone");
    // Without a provider no client can be made. If there is one already, that is fine as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    let folder = tempfile::tempdir().context("failed to make a folder for the data")?;
    let app = App::build(config(listen, folder.path())?, Arc::new(SystemClock), Arc::new(SystemEntropy)).await?;
    let front = Front::new(app.address(), key(&*app.store(), Role::Agent).await?, key(&*app.store(), Role::Operator).await?);
    let front = Data::new(front);
    let (stop, mut stopped) = watch::channel(());
    let mut server = spawn_named("server", async move {
        let ended = app.run_until(async move { drop(stopped.changed().await) }).await;
        if let Err(error) = ended {
            println!("the server has ended: {error:#}");
        }
    });
    let web = HttpServer::new(move || {
        let limit = web::PayloadConfig::new(front::BODY_BYTES_MAX);
        Web::new().app_data(front.clone()).app_data(limit).default_service(web::to(front::answer))
    });
    // It ends with an interrupt or SIGTERM, and cuts off the streams that the kit left open.
    let web = web.bind(listen).with_context(|| format!("failed to listen on {listen}"))?.shutdown_timeout(0).run();
    println!("the fixture listens on http://{listen}");
    tokio::select! {
        ended = web => ended.context("the layer in front has ended")?,
        _ = &mut server => bail!("the server has ended"),
    }
    drop(stop);
    server.await.context("the server has ended badly")
}

/// The settings of `serve --dev`, with a public URL that leads to the layer in front, and pushes allowed.
fn config(listen: SocketAddr, folder: &Path) -> anyhow::Result<Config> {
    let people = Some(vec!["person@example.com".to_owned()]);
    let mut config = Config::load(&ServeArgs {
        listen: Some("127.0.0.1:0".parse()?),
        public_url: Some(format!("http://{listen}/")),
        dev: true,
        operators: people.clone(),
        notify_allow: people,
        log_key_file: Some(folder.join("log-key")),
        ..ServeArgs::default()
    })?;
    config.database = Database::Sqlite(folder.join("placet.db"));
    config.a2a.push = SubscriptionsConfig {
        hosts: PUSHED_TO.map(str::to_owned).into(),
        allow_subnets: vec!["127.0.0.0/8".parse()?, "::1/128".parse()?],
    };
    Ok(config)
}

/// A new key.
async fn key(store: &dyn Store, role: Role) -> anyhow::Result<String> {
    let secret = generate(role, &SystemEntropy);
    let request = CreateKeyRequest {
        role,
        name: format!("fixture-{role}"),
        subject: None,
        owner: None,
        tied_to: None,
        unbound: false,
        client: None,
    };
    let id = KeyId(SystemEntropy.uuid(SystemClock.now()));
    let key = new_key(request, &secret, id, None, SecretOrigin::Drawn).map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
    store.create_key(account::principal(), Ok(key)).await?;
    Ok(secret.expose_secret().to_owned())
}
