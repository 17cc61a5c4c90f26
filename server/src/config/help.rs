//! The part of `--help` about settings that have no flag.

/// The part of `--help` about settings that have no flag. Settings that hold secrets have none, because other users can read
/// command lines.
pub const WITHOUT_FLAGS: &str = "\
Environment only:
  PLACET_SMTP_URL               The mail server: smtps://user:password@mail.example.com, or smtp://host?tls=required
  PLACET_WEBHOOK_NAME_SECRET    The secret of the webhook NAME: whsec_ and base64
  PLACET_LOG_WEBHOOK_SECRET     The secret of the auditor's endpoint for checkpoints of the log, likewise
  PLACET_OPENID_CLIENT_SECRET   The secret that the issuer of [login.openid] has given to the server
  PLACET_SMTP_URL_FILE, PLACET_DATABASE_URL_FILE, PLACET_WEBHOOK_NAME_SECRET_FILE, PLACET_LOG_WEBHOOK_SECRET_FILE,
  PLACET_OPENID_CLIENT_SECRET_FILE
                                A file that holds the value instead
  OTEL_EXPORTER_OTLP_HEADERS    Credentials for the collector; OTEL_RESOURCE_ATTRIBUTES describes this server to it
  RUST_LOG                      The filter of the log on standard error [default: info]
A variable with an empty value counts as not set.

In the file (--config), in TOML: the flags above but --config, --dev and --after-restore, as listen, database_url and so on; smtp_url; and
  [suspension.default_retry_policy]  max_attempts, interval_seconds, strategy, escalation_ladder, final_fallback_policy
  [fallback]            allowed, min_window_seconds, requires_delivery, client_guard_seconds
  [channels]            unknown = \"warn\" or \"reject\", default
  [[channels.webhook]]  name, url, secret, secret_file, previous_secret, previous_secret_file, allow_subnets, recipient, links, template
  [questions]           secrets = \"warn\" or \"refuse\", min_distance_seconds, asks_per_hour, min_interval_seconds
  [subscriptions]       hosts, allow_subnets
  [agent_to_agent]      enabled = true or false
  [agent_to_agent.push] allow, allow_subnets
  [[wake.webhook]]      url, secret, secret_file, allow_subnets, agents, include_value = true or false,
                        types = [\"suspension.ended\", \"suspension.resumed\"]
  [[events.webhook]]    name, secret, secret_file, previous_secret, previous_secret_file
  [retention]           days
  [inbox]               reasons = [\"Out of budget\", …]
  [[inbox.together]]    agent, response_type = \"confirm\" or \"choice\"
  [limits]              concurrent_requests, connections, key_requests_per_minute, agent_bytes_per_day, reserve_bytes,
                        handoff_seconds
  [login.openid]        issuer, client_id, client_secret, client_secret_file, domains, scopes,
                        recent_login_seconds, groups_claim, groups
  [[log.witness]]       url, key, allow_subnets
  [log.mail]            to, hours
  [log.webhook]         url, secret, secret_file, allow_subnets
  [[people]]            address, role = \"auditor\", \"operator\" or \"admin\"; time_zone, locale
  [groups]              NAME = [\"ada@example.com\", …]
  [[agents]]            name, assurance = \"session\", \"recent_login\" or \"passkey\"; separation = \"owner\"
  [floors]              groups.NAME and risks.LEVEL = \"session\", \"recent_login\" or \"passkey\"; LEVEL is low, medium, high or critical

docs/operating.md explains each of them";
