//! Bodies of requests and responses about API keys.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::KeyId;
use crate::base::name::Owner;
use crate::people::client::Client;
use crate::people::principal::Role;

/// `POST /api/v1/keys`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKeyRequest {
    /// The purpose of the key.
    pub role: Role,
    /// Its name: the actor in the log, and for agents their identity.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
        examples("refund-agent")
    )]
    pub name: String,
    /// The person who answers with the key; the key's name by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
    )]
    pub subject: Option<String>,
    /// The owner, which groups keys that belong together; the key's name by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
    )]
    pub owner: Option<String>,
    /// For a gateway (a key of the role `channel`): the channels whose messages it passes on. It sees and answers the questions
    /// of those messages, for their recipients. The role `channel` needs either this or `unbound`; other roles take neither.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100, examples(json!(["pager"])))]
    pub tied_to: Option<Vec<String>>,
    /// Whether a gateway may see every question whose id it knows, and answer it for any person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unbound: bool,
    /// For an agent: the client program that uses the key, if the server treats requests of this program in a special way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
}

/// A key as listed: everything but the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// Its id, not a secret.
    pub id: KeyId,
    /// Its name.
    pub name: String,
    /// The purpose of the key.
    pub role: Role,
    /// The person who answers with it.
    pub subject: String,
    /// The owner of the key.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The channels a gateway is tied to; absent for an unbound one and for other roles.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub tied_to: Option<Vec<String>>,
    /// The client program that uses the key, if the server treats its requests in a special way; absent for other keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// When it was made.
    #[serde(with = "crate::base::time::z")]
    pub created_at: DateTime<Utc>,
    /// When it was revoked.
    #[serde(with = "crate::base::time::z_option")]
    pub revoked_at: Option<DateTime<Utc>>,
}

/// All keys, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyList {
    /// The keys, without their secrets.
    pub keys: Vec<KeyView>,
}

/// A new key, with its secret, which is shown only in this reply.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct CreatedKey {
    /// Its id.
    pub id: KeyId,
    /// Its name.
    pub name: String,
    /// The purpose of the key.
    pub role: Role,
    /// The secret.
    pub key: String,
}
