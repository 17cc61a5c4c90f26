//! `placet groups set | list | remove`: groups of listed people; works beside a running server.

use anyhow::Context;
use clap::{Args, Subcommand};
use domain::people::group::{read_group, read_name};
use domain::problem::Rejection;
use domain::wire::GroupView;
use store::StoreError;
use store::host::account;

use super::beside::open_existing;
use super::people::{MANAGED, told};
use super::remote::tell;
use super::say;
use crate::config::DatabaseArgs;

#[derive(Subcommand)]
pub(super) enum GroupsCommand {
    /// Make a group of listed people, or give it these members in place of those that it has.
    Set(SetArgs),
    /// List the groups with their members.
    List(ListArgs),
    /// Remove a group; its members stay listed.
    Remove(RemoveArgs),
}

#[derive(Args)]
pub(super) struct SetArgs {
    /// The name of the group: small letters, digits and hyphens.
    name: String,
    /// The e-mail addresses of all members.
    #[arg(required = true, num_args = 1.., value_name = "ADDRESS")]
    members: Vec<String>,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct ListArgs {
    /// Print JSON, one group per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct RemoveArgs {
    /// The name of the group.
    name: String,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(command: GroupsCommand) -> anyhow::Result<()> {
    match command {
        GroupsCommand::Set(args) => set(args).await,
        GroupsCommand::List(args) => list(args).await,
        GroupsCommand::Remove(args) => remove(args).await,
    }
}

async fn set(SetArgs { name, members, database }: SetArgs) -> anyhow::Result<()> {
    let group = read_group(&name, &members).map_err(told)?;
    match open_existing(&database).await?.set_group(account::principal(), Ok(group)).await {
        Ok(group) => Ok(say(format!("The group {} has these members now: {}.", group.name, group.members.join(", ")))?),
        Err(StoreError::Rejected(rejection)) => Err(told(rejection)),
        Err(error) => Err(error).with_context(|| format!("failed to set the members of {name}")),
    }
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    let groups = open_existing(&args.database).await?.groups(account::principal()).await?;
    if groups.is_empty() && !args.json {
        tell("there are no groups; make one: placet groups set NAME ADDRESS...");
    }
    for group in groups {
        let group = GroupView::from(group);
        if args.json {
            say(serde_json::to_string(&group)?)?;
        } else {
            let members = if group.members.is_empty() { "no members".to_owned() } else { group.members.join(", ") };
            let managed = if group.managed { MANAGED } else { "" };
            say(format!("{}  {members}{managed}", group.name))?;
        }
    }
    Ok(())
}

async fn remove(RemoveArgs { name, database }: RemoveArgs) -> anyhow::Result<()> {
    let name = read_name(&name).map_err(told)?;
    match open_existing(&database).await?.remove_group(account::principal(), Ok(name.clone())).await {
        Ok(group) => Ok(say(format!("Removed the group {}; its members stay listed.", group.name))?),
        Err(StoreError::Rejected(Rejection::NotFound)) => {
            anyhow::bail!("there is no group {name}; placet groups list shows all")
        }
        Err(error) => Err(error).with_context(|| format!("failed to remove the group {name}")),
    }
}
