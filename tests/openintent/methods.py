"""Calls every method of the OpenIntent client, sync and async, on a running server, and compares each result with the expected one.

The methods come from the client's classes, so a method that a new version of the client adds fails this check until it has a line here.
The server's address and an agent's key are in OPENINTENT_API_URL and OPENINTENT_API_KEY. Prints a table as the documents show it.
"""

import asyncio
import enum
import inspect
import os
import sys
import typing
from datetime import datetime

import openintent
from openintent.exceptions import NotFoundError, OpenIntentError
from openintent.models import EventType, IntentStatus, RetryStrategy

BASE = os.environ["OPENINTENT_API_URL"]
KEY = os.environ["OPENINTENT_API_KEY"]
AGENT = "openintent-agent"
# A name in the place of ids that do not exist.
NOWHERE = "019ab0f2-0000-7000-8000-000000000000"

WORKS = "works"
LATER = "501, not in this version"
NEVER = "501, out of scope"
REFUSED = "refused on purpose"
STREAM = "501, not in this version (not called)"
ELSEWHERE = "goes to another server"
FAULT = "the client tells success whatever the answer"

LATER_METHODS = """
    create_child_intent get_children get_descendants get_ancestors get_dependencies get_dependents add_dependency remove_dependency
    get_ready_intents get_blocked_intents get_intent_graph
    set_governance_policy get_governance_policy remove_governance_policy approve_approval deny_approval
    request_arbitration escalate_to_human list_escalations resolve_escalation request_approval get_approval_status
    create_portfolio get_portfolio list_portfolios update_portfolio_status add_intent_to_portfolio remove_intent_from_portfolio
    get_portfolio_intents get_intent_portfolios
    subscribe get_subscriptions unsubscribe
    get_acl set_acl grant_access revoke_access request_access list_access_requests approve_access_request deny_access_request
    create_task get_task list_tasks update_task create_plan get_plan list_plans update_plan
    create_coordinator_lease get_coordinator_lease list_coordinator_leases coordinator_heartbeat create_decision_record list_decision_records
    verify_event_chain list_checkpoints get_checkpoint get_merkle_proof verify_consistency
""".split()

NEVER_METHODS = """
    create_vault get_vault create_credential get_credential create_tool_grant get_tool_grant list_agent_grants revoke_grant
    record_invocation list_invocations invoke_tool
    create_memory get_memory list_memory update_memory delete_memory
    register_agent get_agent_record list_agents agent_heartbeat update_agent_status
    create_trigger get_trigger list_triggers update_trigger fire_trigger delete_trigger
    register_identity complete_identity_challenge get_identity verify_signature rotate_key
    create_channel list_channels get_channel send_message reply_to list_messages get_message mark_read ask
    federation_status list_federated_agents federation_dispatch federation_receive
""".split()

# The streams are not called: the client asks again at once, without end, where there is none. `process::streams` asks for them.
NOT_CALLED = {"subscribe_sse", "subscribe_portfolio", "subscribe_agent", "create_event_queue"}

EXPECTED = (
    {name: LATER for name in LATER_METHODS}
    | {name: NEVER for name in NEVER_METHODS}
    # This server is no member of a federation, and answers 404 as the discovery of one demands.
    | {name: STREAM for name in NOT_CALLED}
    | {"federation_discover": REFUSED, "send_federation_callback": ELSEWHERE, "close_channel": FAULT}
)


class Checks:
    """The methods that work, each with a check of its result. Sync and async take different arguments."""

    def __init__(self, client, is_async, loop):
        self.client, self.is_async, self.loop = client, is_async, loop
        self.seen = {}

    def call(self, name, /, *args, **kwargs):
        result = getattr(self.client, name)(*args, **kwargs)
        return self.loop.run_until_complete(result) if inspect.isawaitable(result) else result

    def expect(self, name, holds, what):
        self.seen[name] = WORKS if holds else f"WRONG: {what!r}"

    def run(self):
        call, expect = self.call, self.expect
        expect("discover", "version" in str(call("discover")), "discover")
        intent = call("create_intent", "Refund order 12345", "a test", constraints={"rules": ["a"]}, initial_state={"a": 1})
        expect("create_intent", intent.status == IntentStatus.DRAFT and intent.state.data == {"a": 1}, intent)
        self.intent = intent.id
        got = call("get_intent", intent.id)
        expect("get_intent", (got.id, got.title, got.version) == (intent.id, intent.title, 1), got)
        expect("list_intents", intent.id in [one.id for one in call("list_intents")], "not listed")
        active = call("set_status", intent.id, 1, IntentStatus.ACTIVE)
        expect("set_status", active.status == IntentStatus.ACTIVE, active)
        patched = call("update_state", intent.id, 2, {"b": 2})
        expect("update_state", patched.state.data == {"a": 1, "b": 2}, patched)
        event = call("log_event", intent.id, EventType.COMMENT, {"text": "hello"})
        expect("log_event", (event.event_type, event.payload) == (EventType.COMMENT, {"text": "hello"}), event)
        assigned = call("assign_agent", intent.id, "helper")
        expect("assign_agent", (assigned["agent_id"], assigned["intent_id"]) == ("helper", intent.id), assigned)
        call("unassign_agent", intent.id, "helper")
        changes = [one.event_type for one in call("get_events", intent.id) if "agent" in one.event_type.value]
        expect("unassign_agent", changes == [EventType.AGENT_UNASSIGNED, EventType.AGENT_ASSIGNED], changes)
        self.leases()
        self.records()
        self.traces()
        types = [one.event_type for one in call("get_events", intent.id, limit=100)]
        expect("get_events", EventType.COMMENT in types and EventType.DECISION_RECORDED in types, types)
        if hasattr(self.client, "get_server_config"):
            config = call("get_server_config")
            expect("get_server_config", "suspension" in str(config), config)
        call("close")
        expect("close", True, None)
        return self.seen

    def leases(self):
        lease = self.call("acquire_lease", self.intent, "report")
        self.expect("acquire_lease", lease.scope == "report" and lease.is_active, lease)
        listed = self.call("get_leases", self.intent)
        self.expect("get_leases", [one.id for one in listed] == [lease.id], listed)
        renewed = self.call("renew_lease", self.intent, lease.id, 600)
        self.expect("renew_lease", renewed.id == lease.id and renewed.expires_at >= lease.expires_at, renewed)
        self.call("release_lease", self.intent, lease.id)
        self.expect("release_lease", not [one for one in self.call("get_leases", self.intent) if one.is_active], "still held")
        if hasattr(self.client, "lease"):
            with self.client.lease(self.intent, "report") as held:
                self.expect("lease", held.scope == "report", held)

    def records(self):
        call, expect, intent = self.call, self.expect, self.intent
        decision = call("record_decision", intent, "approach", "refund", "the order was late")
        expect("record_decision", (decision.outcome, decision.reasoning) == ("refund", "the order was late"), decision)
        expect("get_decisions", call("get_decisions", intent) == [decision], "decisions")
        if self.is_async:
            attachment = call("add_attachment", intent, "a.pdf", "application/pdf", "s3://b/a.pdf", 7)
        else:
            attachment = call("add_attachment", intent, "a.pdf", "application/pdf", 7, "s3://b/a.pdf", {"k": 1})
        whole = ("a.pdf", "application/pdf", 7, "s3://b/a.pdf")
        told = (attachment.filename, attachment.mime_type, attachment.size, attachment.storage_url)
        expect("add_attachment", told == whole and isinstance(attachment.created_at, datetime), attachment)
        expect("get_attachments", call("get_attachments", intent) == [attachment], "attachments")
        call("delete_attachment", intent, attachment.id)
        expect("delete_attachment", call("get_attachments", intent) == [], "still listed")
        amount = 1.5 if self.is_async else 1500
        cost = call("record_cost", intent, "tokens", amount, "tokens", provider="acme")
        expect("record_cost", (cost.amount, cost.agent_id) == (amount, AGENT) and isinstance(cost.recorded_at, datetime), cost)
        costs, summary = call("get_costs", intent)
        sums = (summary.total, summary.by_type, summary.by_agent)
        expect("get_costs", costs == [cost] and sums == (amount, {"tokens": amount}, {AGENT: amount}), (costs, summary))
        expect("get_retry_policy", call("get_retry_policy", intent) is None, "a policy that was never set")
        policy = call("set_retry_policy", intent, RetryStrategy.LINEAR, max_retries=5)
        expect("set_retry_policy", (policy.strategy, policy.max_retries) == (RetryStrategy.LINEAR, 5), policy)
        if call("get_retry_policy", intent) != policy:
            expect("get_retry_policy", False, policy)
        if self.is_async:
            failure = call("record_failure", intent, "timeout", "too slow", recoverable=False)
        else:
            failure = call("record_failure", intent, 2, error_code="E1", error_message="too slow", retry_scheduled_at=datetime(2030, 1, 1))
        told = failure.error_message == "too slow" and isinstance(failure.created_at, datetime)
        expect("record_failure", told and (self.is_async or failure.retry_scheduled_at == datetime(2030, 1, 1)), failure)
        expect("get_failures", call("get_failures", intent) == [failure], "failures")

    def traces(self):
        """The events of tools, models and streams: each is in the log under its type."""
        calls = {
            "log_tool_call_started": ("search", "t1", {"q": 1}),
            "log_tool_call_completed": ("search", "t1", {"q": 1}, {"found": 2}),
            "log_tool_call_failed": ("search", "t1", {"q": 1}, "no"),
            "log_llm_request_started": ("r1", "acme", "m", 3),
            "log_llm_request_completed": ("r1", "acme", "m", 3),
            "log_llm_request_failed": ("r1", "acme", "m", 3, "no"),
            "start_stream": ("s1", "acme", "m"),
            "log_stream_chunk": ("s1", 0),
            "complete_stream": ("s1", "acme", "m", 1, 2),
            "cancel_stream": ("s1", "acme", "m"),
        }
        types = {
            "log_tool_call_started": EventType.TOOL_CALL_STARTED,
            "log_tool_call_completed": EventType.TOOL_CALL_COMPLETED,
            "log_tool_call_failed": EventType.TOOL_CALL_FAILED,
            "log_llm_request_started": EventType.LLM_REQUEST_STARTED,
            "log_llm_request_completed": EventType.LLM_REQUEST_COMPLETED,
            "log_llm_request_failed": EventType.LLM_REQUEST_FAILED,
            "start_stream": EventType.STREAM_STARTED,
            "log_stream_chunk": EventType.STREAM_CHUNK,
            "complete_stream": EventType.STREAM_COMPLETED,
            "cancel_stream": EventType.STREAM_CANCELLED,
        }
        for name, args in calls.items():
            self.call(name, self.intent, *args)
            newest = self.call("get_events", self.intent, limit=1)[0].event_type
            self.expect(name, newest == types[name], newest)


def argument(name, kind, intent):
    """A value for a required argument of a method that is refused."""
    if name == "intent_id":
        return intent
    options = [one for one in typing.get_args(kind) if one is not type(None)] or [kind]
    kind = typing.get_origin(options[0]) or options[0]
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    values = {int: 1, float: 1.0, dict: {}, list: [], bool: True, datetime: datetime(2030, 1, 1)}
    return values.get(kind, NOWHERE)


def refusal(checks, name, intent):
    """How a method that is not supported ends."""
    method = getattr(checks.client, name)
    hints = typing.get_type_hints(method, vars(sys.modules["openintent.client"]) | {"DispatchResult": object, "FederationStatus": object,
                                                                                      "ReceiveResult": object, "SSEStream": object, "EventQueue": object})
    required = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
    values = {one.name: argument(one.name, hints.get(one.name, str), intent) for one in required}
    if name == "list_coordinator_leases":
        values["intent_id"] = intent  # Without it the client asks no server.
    try:
        told = checks.call(name, **values)
        return f"returned {told!r}"
    except NotFoundError:
        return "404"
    except OpenIntentError as error:
        code = (error.response or {}).get("code")
        return "501" if (error.status_code, code) == (501, "not_implemented") else f"{error.status_code} {error.response}"


def outcomes(kind, is_async):
    """What each public method of a client's class did."""
    loop = asyncio.new_event_loop()
    make = lambda: kind(base_url=BASE, api_key=KEY, agent_id=AGENT)
    works = Checks(make(), is_async, loop)
    seen = works.run()
    checks = Checks(make(), is_async, loop)
    names = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    for name in names:
        expected = EXPECTED.get(name, WORKS)
        if expected in (LATER, NEVER):
            told = refusal(checks, name, works.intent)
            seen[name] = expected if told == "501" else f"WRONG: {told}"
        elif expected == FAULT:
            told = refusal(checks, name, works.intent)
            seen[name] = expected if told == "returned None" else f"WRONG: {told}"
        elif expected == REFUSED:
            told = refusal(checks, name, works.intent)
            seen[name] = expected if told == "404" else f"WRONG: {told}"
        elif expected in (STREAM, ELSEWHERE):
            seen[name] = expected
    checks.call("close")
    return {name: seen.get(name, "WRONG: never called") for name in names}


def main():
    sync = outcomes(openintent.OpenIntentClient, False)
    asynchronous = outcomes(openintent.AsyncOpenIntentClient, True)
    print("| method | sync | async |\n|---|---|---|")
    for name in sorted(sync.keys() | asynchronous.keys()):
        print(f"| `{name}` | {sync.get(name, '–')} | {asynchronous.get(name, '–')} |")
    every = list(sync.values()) + list(asynchronous.values())
    for result in (WORKS, LATER, STREAM, NEVER, REFUSED, FAULT, ELSEWHERE):
        print(f"{result}: {every.count(result)} of {len(every)}")
    wrong = [one for one in every if one.startswith("WRONG")]
    print(f"wrong: {len(wrong)} of {len(every)}")
    sys.exit(1 if wrong else 0)


main()
