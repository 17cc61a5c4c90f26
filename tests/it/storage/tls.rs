//! The connection to a PostgreSQL database over a network: encrypted, and only to the right database.

use std::sync::Arc;

use harness::postgres::{Cluster, PASSWORD, Scratch};
use store::host::account;
use store::host::clock::{SystemClock, SystemEntropy};
use store::postgres::{Address, CONNECTIONS_MIN};
use store::sqlite::Exclusive;
use store::{Database, Store, Surroundings, open};

async fn reach(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    let database = Database::Postgres { address: Box::new(Address::parse(url)?), connections: CONNECTIONS_MIN };
    open(&database, Exclusive::Serve, Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy))).await
}

/// The number of connections to a database that use, or do not use, TLS.
async fn connections(scratch: &Scratch, encrypted: bool) -> i64 {
    let count = format!(
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'placet' \
         AND datname = current_database() AND ssl = {encrypted}"
    );
    Cluster::of_this_process().number(scratch.name(), &count).await
}

/// The server accepts a certificate that the named authority made for the named host. Without the check an attacker could take
/// the database's place; with too strict a check no server could connect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_the_named_authority_for_the_named_host_is_believed() {
    let cluster = Cluster::of_this_process();
    let (scratch, authority) = (cluster.scratch().await, cluster.authority());
    let base = cluster.url_at("localhost", scratch.name());
    for (parameters, encrypted) in [
        (format!("?sslmode=verify-full&sslrootcert={}", authority.display()), true),
        (format!("?sslmode=require&sslrootcert={}", authority.display()), true),
        (format!("?sslmode=verify-ca&sslrootcert={}", authority.display()), true),
        (format!("?sslrootcert={}", authority.display()), true),
        ("?sslmode=disable".to_owned(), false),
        (String::new(), false),
    ] {
        let store = reach(&format!("{base}{parameters}")).await.unwrap();
        store.probe().await.unwrap();
        store.keys(account::principal()).await.unwrap();
        assert!(connections(&scratch, encrypted).await >= 3, "{parameters}: one that listens, one that writes, one that reads");
        assert_eq!(connections(&scratch, !encrypted).await, 0, "{parameters}");
        store.close().await;
        drop(store);
        // Connections that are closing would be counted with the next ones.
        while connections(&scratch, encrypted).await > 0 {}
    }
    scratch.forget().await;
}

/// An attacker in the database's place would get its password. Each of these connections stops before that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_cannot_prove_to_be_the_database_is_told_nothing() {
    let cluster = Cluster::of_this_process();
    let scratch = cluster.scratch().await;
    let (authority, stranger) = (cluster.authority(), cluster.stranger());
    for (host, roots, word) in [
        ("localhost", Some(stranger), "UnknownIssuer"),
        ("127.0.0.1", Some(authority), "not valid for name"),
        ("localhost", None, "UnknownIssuer"), // The system's own authorities do not know it.
    ] {
        let roots = roots.map_or_else(String::new, |file| format!("&sslrootcert={}", file.display()));
        let url = format!("{}?sslmode=verify-full{roots}", cluster.url_at(host, scratch.name()));
        let Err(refused) = reach(&url).await else { panic!("{host}{roots} was believed") };
        let refused = format!("{refused:#}");
        assert!(refused.contains(word) && refused.contains("postgres://placet@"), "{word} is missing: {refused}");
        assert!(!refused.contains(PASSWORD) && !refused.contains(&PASSWORD.replace(' ', "%20")), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    scratch.forget().await;
}
