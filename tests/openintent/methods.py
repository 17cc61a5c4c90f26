"""Calls every method of the OpenIntent client, sync and async, on a running server, and compares each result with the expected one.

The methods come from the client's classes, so a method that a new version of the client adds fails this check until it has a line here.
The server's address and the keys of an agent, an operator and an admin are in OPENINTENT_API_URL, OPENINTENT_API_KEY,
OPENINTENT_OPERATOR_KEY and OPENINTENT_ADMIN_KEY. Prints a table as the documents show it.
"""

import asyncio
import enum
import inspect
import json
import os
import sys
import threading
import typing
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import openintent
from openintent.exceptions import NotFoundError, OpenIntentError
from openintent.models import (
    AccessPolicy, AccessRequestStatus, CoordinatorStatus, CoordinatorType, DecisionType, EventType, Guardrails, IntentStatus, MembershipRole, Permission, PlanState, PortfolioStatus, RetryStrategy,
    TaskStatus,
)

BASE = os.environ["OPENINTENT_API_URL"]
KEY = os.environ["OPENINTENT_API_KEY"]
OPERATOR_KEY = os.environ["OPENINTENT_OPERATOR_KEY"]
ADMIN_KEY = os.environ["OPENINTENT_ADMIN_KEY"]
OPERATOR = "openintent-operator"
AGENT = "openintent-agent"
# The value for each text that a method needs: an id that nothing has.
NOWHERE = "019ab0f2-0000-7000-8000-000000000000"

WORKS = "works"
NEVER = "501, out of scope"
REFUSED = "refused on purpose"
ELSEWHERE = "goes to another server"
FAULT = "the client reports success whatever the server answers"

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

EXPECTED = (
    {name: NEVER for name in NEVER_METHODS}
    # This server is no member of a federation, so it answers 404 to the discovery of one.
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
        self.access()
        if hasattr(self.client, "create_child_intent"):
            self.graph()
        self.portfolios()
        self.tasks()
        self.coordinators()
        self.proofs()
        self.policies()
        self.requests()
        self.records()
        self.traces()
        self.streams()
        self.subscriptions()
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

    def access(self):
        """Entries by the creator; requests by the agent, decided with the key of an operator."""
        call, expect, intent = self.call, self.expect, self.intent
        acl = call("get_acl", intent)
        expect("get_acl", (acl.intent_id, acl.default_policy, acl.entries) == (intent, AccessPolicy.CLOSED, []), acl)
        until = datetime(2030, 1, 1)
        entry = call("grant_access", intent, "reader", permission=Permission.READ, reason="it checks", expires_at=until)
        told = (entry.principal_id, entry.permission, entry.granted_by, entry.reason, entry.expires_at)
        expect("grant_access", told == ("reader", Permission.READ, AGENT, "it checks", until), entry)
        acl = call("set_acl", intent, AccessPolicy.CLOSED, [one.to_dict() for one in call("get_acl", intent).entries])
        expect("set_acl", acl.entries == [entry], acl)
        call("revoke_access", intent, entry.id)
        expect("revoke_access", call("get_acl", intent).entries == [], "still listed")
        first, second = (call("request_access", intent, name, reason="r", capabilities=["c"]) for name in ("one", "two"))
        expect("request_access", (first.principal_id, first.status, first.capabilities) == ("one", AccessRequestStatus.PENDING, ["c"]), first)
        expect("list_access_requests", call("list_access_requests", intent) == [first, second], "requests")
        own, self.client = self.client, type(self.client)(base_url=BASE, api_key=OPERATOR_KEY, agent_id=AGENT)
        approved = call("approve_access_request", intent, first.id, permission=Permission.READ, expires_at=until, reason="known")
        told = (approved.status, approved.decision_reason, isinstance(approved.decided_at, datetime))
        expect("approve_access_request", told == (AccessRequestStatus.APPROVED, "known", True), approved)
        denied = call("deny_access_request", intent, second.id, reason="unknown")
        expect("deny_access_request", (denied.status, denied.decision_reason) == (AccessRequestStatus.DENIED, "unknown"), denied)
        call("close")
        self.client = own
        given = [(one.principal_id, one.permission) for one in call("get_acl", intent).entries]
        if given != [("one", Permission.READ)]:
            expect("approve_access_request", False, given)

    def graph(self):
        """A parent with three phases, of which the second waits for a person, as in the RFC's example; for the sync client alone."""
        call, expect = self.call, self.expect
        root = call("create_intent", "Quarterly report", "a test").id
        fetch = call("create_child_intent", root, "Fetch", "data", initial_state={"rows": 1})
        told = (fetch.status, fetch.parent_intent_id, fetch.state.data)
        expect("create_child_intent", told == (IntentStatus.DRAFT, root, {"rows": 1}), fetch)
        review = call("create_child_intent", root, "Review", depends_on=[fetch.id])
        report = call("create_child_intent", root, "Report")
        added = call("add_dependency", report.id, review.id, report.version)
        expect("add_dependency", added.depends_on == [review.id] and added.version > report.version, added)
        for phase in (fetch, review, report):
            call("set_status", phase.id, call("get_intent", phase.id).version, IntentStatus.ACTIVE)
        ids = lambda intents: [one.id for one in intents]
        phases = [fetch.id, review.id, report.id]
        expect("get_children", ids(call("get_children", root)) == phases, "children")
        expect("get_descendants", ids(call("get_descendants", root)) == phases, "descendants")
        expect("get_ancestors", ids(call("get_ancestors", report.id)) == [root], "ancestors")
        expect("get_dependencies", ids(call("get_dependencies", report.id)) == [review.id], "dependencies")
        expect("get_dependents", ids(call("get_dependents", fetch.id)) == [review.id], "dependents")
        expect("get_ready_intents", ids(call("get_ready_intents", root)) == [fetch.id], "ready")
        blocked = call("get_blocked_intents", root)
        expect("get_blocked_intents", [(one.id, one.status) for one in blocked] == [(one, IntentStatus.BLOCKED) for one in phases[1:]], blocked)
        call("set_status", fetch.id, call("get_intent", fetch.id).version, IntentStatus.COMPLETED)
        if call("get_intent", review.id).status != IntentStatus.ACTIVE:
            expect("add_dependency", False, "the review still waits")
        # The review waits for a person. No agent can cut the edge to it meanwhile, and the report stays blocked.
        question = {"question": "Publish?", "response_type": "confirm"}
        asked = httpx.post(f"{BASE}/api/v1/intents/{review.id}/suspend", headers={"x-api-key": KEY}, json=question).json()
        try:
            call("remove_dependency", report.id, review.id, call("get_intent", report.id).version)
            expect("remove_dependency", False, "an agent cut the edge to a suspended intent")
        except Exception as refused:
            expect("remove_dependency", "upstream_intent_suspended" in str(refused) or "waits for a person" in str(refused), refused)
        drawn = call("get_intent_graph", root)
        nodes = {node["id"]: node for node in drawn["nodes"]}
        told = (drawn["root_id"], len(nodes), nodes[report.id]["blocked_by"], drawn["aggregate_status"]["by_status"]["suspended_awaiting_input"])
        expect("get_intent_graph", told == (root, 4, [review.id], 1) and nodes[review.id]["suspension"] is not None, drawn)
        answer = {"suspension_id": asked["id"], "value": "yes"}
        answered = httpx.post(f"{BASE}/api/v1/intents/{review.id}/suspend/respond", headers={"x-api-key": OPERATOR_KEY}, json=answer)
        answered.raise_for_status()
        removed = call("remove_dependency", report.id, review.id, call("get_intent", report.id).version)
        if (removed.status, removed.depends_on) != (IntentStatus.ACTIVE, []):
            expect("remove_dependency", False, removed)

    def answer(self, intent, value):
        """Lets a person answer the open question of an intent."""
        asked = httpx.get(f"{BASE}/api/v1/intents/{intent}", headers={"x-api-key": OPERATOR_KEY}).json()["state"]["_suspension"]["id"]
        answered = httpx.post(
            f"{BASE}/api/v1/intents/{intent}/suspend/respond", headers={"x-api-key": OPERATOR_KEY},
            json={"suspension_id": asked, "value": value},
        )
        answered.raise_for_status()

    def tasks(self):
        """A plan of two tasks with a checkpoint behind the first, each read again while people are asked there."""
        call, expect = self.call, self.expect
        made = call("create_intent", "Pay an invoice", "a test")
        call("set_status", made.id, made.version, IntentStatus.ACTIVE)
        first = call("create_task", made.id, "Check it", description="All pages", input={"invoice": "INV-7"}, capabilities_required=["invoices"])
        second = call("create_task", made.id, "Pay it", depends_on=[first.id], metadata={"team": "billing"}, max_attempts=2)
        told = (first.status, first.description, first.input, first.capabilities_required, isinstance(first.created_at, datetime))
        whole = (TaskStatus.READY, "All pages", {"invoice": "INV-7"}, ["invoices"], True)
        waits = (second.status, second.depends_on, second.metadata, second.max_attempts)
        expect("create_task", told == whole and waits == (TaskStatus.PENDING, [first.id], {"team": "billing"}, 2), (first, second))
        got = call("get_task", first.id)
        expect("get_task", (got.id, got.intent_id, got.name, got.blocks) == (first.id, made.id, "Check it", [second.id]), got)
        listed = [one.id for one in call("list_tasks", made.id)]
        ready = [one.id for one in call("list_tasks", made.id, status=TaskStatus.READY, limit=5)]
        expect("list_tasks", (listed, ready) == ([first.id, second.id], [first.id]), (listed, ready))
        checkpoint = {"id": "pay", "name": "Pay the invoice", "after_task": first.id, "approvers": []}
        condition = {"id": "valid", "task_id": second.id, "when": f"tasks['{first.id}'].output.valid == true"}
        tasks = [first.id, second.id]
        plan = call("create_plan", made.id, tasks=tasks, checkpoints=[checkpoint], conditions=[condition], metadata={"a": 1})
        expect("create_plan", [one.to_dict() for one in plan.conditions] == [{**condition, "otherwise": "skip"}], plan.conditions)
        told = (plan.state, plan.tasks, [(one.id, one.status) for one in plan.checkpoints], plan.metadata, plan.on_failure.value)
        expect("create_plan", told == (PlanState.DRAFT, [first.id, second.id], [("pay", "pending")], {"a": 1}, "pause_and_escalate"), plan)
        active = call("update_plan", plan.id, plan.version, state="active")
        expect("update_plan", active.state == PlanState.ACTIVE and active.version > plan.version, active)
        running = call("update_task", first.id, call("get_task", first.id).version, status="running")
        done = call("update_task", first.id, running.version, status="completed", output={"valid": True})
        told = (running.status, running.assigned_agent, running.lease_id is not None, done.status, done.output)
        expect("update_task", told == (TaskStatus.RUNNING, AGENT, True, TaskStatus.COMPLETED, {"valid": True}), (running, done))
        # A person is asked at the checkpoint. The same reads once more, while the intent waits.
        plan = call("get_plan", plan.id)
        told = (plan.state, plan.checkpoints[0].status, call("get_task", second.id).status, call("get_intent", made.id).status)
        expect("get_plan", told == (PlanState.PAUSED, "reached", TaskStatus.PENDING, IntentStatus.SUSPENDED_AWAITING_INPUT), told)
        expect("list_plans", [one.id for one in call("list_plans", made.id)] == [plan.id], "list_plans")
        for name, args in {"update_task": (second.id, call("get_task", second.id).version, "running"), "update_plan": (plan.id, plan.version)}.items():
            try:
                call(name, *args, **({"state": "active"} if name == "update_plan" else {}))
                expect(name, False, "went on without the person")
            except OpenIntentError as error:
                if error.status_code != 409:
                    expect(name, False, error)
        self.answer(made.id, "yes")
        plan = call("get_plan", plan.id)
        told = (plan.state, plan.checkpoints[0].status, plan.checkpoints[0].approved_by, call("get_task", second.id).status)
        if told != (PlanState.ACTIVE, "approved", OPERATOR, TaskStatus.READY):
            expect("get_plan", False, told)
        # RFC-0026, rule 3: a running task waits while its intent does.
        running = call("update_task", second.id, call("get_task", second.id).version, status="running")
        asked = httpx.post(f"{BASE}/api/v1/intents/{made.id}/suspend", headers={"x-api-key": KEY}, json={"question": "Go?", "response_type": "confirm"})
        asked.raise_for_status()
        waiting = call("get_task", second.id)
        if (waiting.status, waiting.blocked_reason) != (TaskStatus.BLOCKED, "intent_suspended"):
            expect("get_task", False, waiting)
        if [one.id for one in call("list_tasks", made.id, status=TaskStatus.BLOCKED)] != [second.id]:
            expect("list_tasks", False, "the blocked task is not listed")
        self.answer(made.id, "yes")
        call("update_task", second.id, call("get_task", second.id).version, status="completed")
        if call("get_plan", plan.id).state != PlanState.COMPLETED:
            expect("get_plan", False, call("get_plan", plan.id))

    def proofs(self):
        """The proofs of the log: the client itself computes the root from the hash of each event."""
        call, expect = self.call, self.expect
        made = call("create_intent", "A log to check", "a test")
        older = self.sign()
        call("set_status", made.id, made.version, IntentStatus.ACTIVE)
        newer = self.sign()
        chain = call("verify_event_chain", made.id)
        events = call("get_events", made.id)
        expect("verify_event_chain", chain.valid and chain.event_count >= len(events) > 1 and not chain.breaks, chain)
        found = call("list_checkpoints", intent_id=made.id)
        expect("list_checkpoints", len(found) == 1 and found[0].intent_id == made.id and found[0].scope == "intent", found)
        every = [one.checkpoint_id for one in call("list_checkpoints")]
        if older not in every or newer not in every:
            expect("list_checkpoints", False, every)
        read = call("get_checkpoint", found[0].checkpoint_id)
        expect("get_checkpoint", read == found[0] and read.signature and isinstance(read.created_at, datetime), read)
        proofs = [call("get_merkle_proof", read.checkpoint_id, event.id) for event in events]
        whole = all(one.verify() and one.merkle_root == read.merkle_root for one in proofs)
        proofs[0].event_hash = proofs[1].event_hash
        expect("get_merkle_proof", whole and not proofs[0].verify(), proofs)
        proof = call("verify_consistency", older, newer)
        expect("verify_consistency", proof.consistent and (proof.from_checkpoint, proof.to_checkpoint) == (older, newer), proof)

    def sign(self):
        """Has a checkpoint signed, and returns its id."""
        signed = httpx.post(f"{BASE}/api/v1/admin/checkpoints", headers={"x-api-key": ADMIN_KEY})
        signed.raise_for_status()
        return signed.json()["checkpoint_id"]

    def coordinators(self):
        """The lease of a coordinator and its decisions, each read again while a person is asked."""
        call, expect = self.call, self.expect
        made = call("create_intent", "Direct the refunds", "a test")
        call("set_status", made.id, made.version, IntentStatus.ACTIVE)
        limits = Guardrails(max_tasks_per_plan=1, allowed_capabilities=["pay"]).to_dict()
        lease = call(
            "create_coordinator_lease", AGENT, made.id, guardrails=limits, supervisor_id="cto@example.com", suspension_policy="escalate",
            coordinator_type="human", metadata={"team": "billing"},
        )
        told = (lease.agent_id, lease.intent_id, lease.status, lease.coordinator_type, lease.supervisor_id, lease.metadata, lease.version)
        whole = (AGENT, made.id, CoordinatorStatus.ACTIVE, CoordinatorType.HUMAN, "cto@example.com", {"team": "billing"}, 1)
        rails = (lease.guardrails.max_tasks_per_plan, lease.guardrails.allowed_capabilities, lease.guardrails.max_plan_versions)
        times = isinstance(lease.granted_at, datetime) and isinstance(lease.last_heartbeat, datetime)
        expect("create_coordinator_lease", told == whole and rails == (1, ["pay"], 5) and times, lease)
        if call("create_coordinator_lease", AGENT, made.id).id != lease.id:
            expect("create_coordinator_lease", False, "the agent did not get its own lease")
        record = call(
            "create_decision_record", lease.id, made.id, DecisionType.PLAN_CREATED, "Check first", "The vendor is new",
            alternatives_considered=[{"summary": "Pay first"}], confidence=0.9,
        )
        told = [record[one] for one in ("coordinator_id", "intent_id", "decision_type", "summary", "rationale", "confidence")]
        expect("create_decision_record", told == [lease.id, made.id, "plan_created", "Check first", "The vendor is new", 0.9], record)
        # A guardrail binds the agent itself.
        tasks = [call("create_task", made.id, "Check").id, call("create_task", made.id, "Pay").id]
        try:
            call("create_plan", made.id, tasks=tasks)
            expect("create_coordinator_lease", False, "a guardrail was not enforced")
        except OpenIntentError as refused:
            if (refused.status_code, (refused.response or {}).get("code")) != (403, "guardrail_violation"):
                expect("create_coordinator_lease", False, refused)
        for waits in (False, True):
            if waits:
                asked = httpx.post(f"{BASE}/api/v1/intents/{made.id}/suspend", headers={"x-api-key": KEY}, json={"question": "Go?", "response_type": "confirm"})
                asked.raise_for_status()
                to = httpx.get(f"{BASE}/api/v1/suspensions/{asked.json()['id']}", headers={"x-api-key": OPERATOR_KEY}).json()["notify_to"]
                if "cto@example.com" not in to:
                    expect("create_coordinator_lease", False, to)
            beaten = call("coordinator_heartbeat", lease.id)
            if waits is False or self.seen["coordinator_heartbeat"] == WORKS:
                expect("coordinator_heartbeat", beaten["status"] == "ok" and datetime.fromisoformat(beaten["next_heartbeat_at"]) > lease.granted_at, beaten)
            got = call("get_coordinator_lease", lease.id)
            expect("get_coordinator_lease", (got.id, got.status, got.metadata) == (lease.id, CoordinatorStatus.ACTIVE, {"team": "billing"}), got)
            expect("list_coordinator_leases", [one.id for one in call("list_coordinator_leases", made.id)] == [lease.id], "leases")
            expect("list_decision_records", call("list_decision_records", made.id) == [record], "records")
            both = call("get_decisions", made.id)
            if [(one.decision_type, one.outcome, one.reasoning) for one in both] != [("plan_created", "Check first", "The vendor is new")]:
                expect("get_decisions", False, both)
        self.answer(made.id, "yes")

    def portfolios(self):
        """A portfolio with the intent and another one, until it is completed; `streams` follows one more."""
        call, expect, intent = self.call, self.expect, self.intent
        made = call("create_portfolio", "Refunds", "All of November", {"require_all_completed": True}, {"team": "billing"})
        told = (made.name, made.description, made.created_by, made.status, made.governance_policy, made.metadata)
        whole = ("Refunds", "All of November", AGENT, PortfolioStatus.ACTIVE, {"require_all_completed": True}, {"team": "billing"})
        expect("create_portfolio", told == whole and isinstance(made.created_at, datetime) and made.updated_at == made.created_at, made)
        self.portfolio = call("create_portfolio", "Streamed").id
        listed = [one.id for one in call("list_portfolios", created_by=AGENT)][:2]
        expect("list_portfolios", listed == [self.portfolio, made.id] and call("list_portfolios", created_by="other") == [], listed)
        other = call("create_intent", "Another", "a test").id
        first = call("add_intent_to_portfolio", made.id, intent, MembershipRole.PRIMARY, 5)
        told = (first.portfolio_id, first.intent_id, first.role, first.priority, isinstance(first.added_at, datetime))
        expect("add_intent_to_portfolio", told == (made.id, intent, MembershipRole.PRIMARY, 5, True), first)
        again = call("add_intent_to_portfolio", made.id, intent, MembershipRole.PRIMARY, 5)
        second = call("add_intent_to_portfolio", made.id, other)
        if again != first or (second.role, second.priority) != (MembershipRole.MEMBER, 0):
            expect("add_intent_to_portfolio", False, (again, second))
        got = call("get_portfolio", made.id)
        told = ([one.id for one in got.intents], got.aggregate_status.total, got.aggregate_status.by_status["active"])
        expect("get_portfolio", told == ([intent, other], 2, 1), got)
        intents, aggregate = call("get_portfolio_intents", made.id)
        told = ([(one.id, one.title) for one in intents], aggregate == got.aggregate_status, aggregate.completion_percentage)
        expect("get_portfolio_intents", told == ([(intent, "Refund order 12345"), (other, "Another")], True, 0), (intents, aggregate))
        held = call("get_intent_portfolios", other)
        expect("get_intent_portfolios", [(one.id, one.name) for one in held] == [(made.id, "Refunds")], held)
        # The same reads once more, while one of the intents waits for a person.
        call("set_status", other, call("get_intent", other).version, IntentStatus.ACTIVE)
        asked = httpx.post(f"{BASE}/api/v1/intents/{other}/suspend", headers={"x-api-key": KEY}, json={"question": "Go?", "response_type": "confirm"})
        asked.raise_for_status()
        (waiting,) = [one for one in call("get_portfolio", made.id).intents if one.id == other]
        (_, aggregate), (held,) = call("get_portfolio_intents", made.id), call("get_intent_portfolios", other)
        told = (waiting.status, aggregate.by_status["suspended_awaiting_input"], held.id)
        if told != (IntentStatus.SUSPENDED_AWAITING_INPUT, 1, made.id):
            expect("get_portfolio_intents", False, told)
        try:
            call("update_portfolio_status", made.id, PortfolioStatus.COMPLETED)
            expect("update_portfolio_status", False, "completed with open intents")
        except OpenIntentError as error:
            if error.status_code != 409:
                expect("update_portfolio_status", False, error)
        call("remove_intent_from_portfolio", made.id, intent)
        left = [one.id for one in call("get_portfolio", made.id).intents]
        types = [one.event_type for one in call("get_events", intent, limit=2)]
        told = (left, types, call("get_intent_portfolios", intent))
        expect("remove_intent_from_portfolio", told == ([other], [EventType.REMOVED_FROM_PORTFOLIO, EventType.ADDED_TO_PORTFOLIO], []), told)
        call("remove_intent_from_portfolio", made.id, other)
        done = call("update_portfolio_status", made.id, PortfolioStatus.COMPLETED)
        if "update_portfolio_status" not in self.seen:
            told = (done.id, done.status, call("get_portfolio", made.id).status)
            expect("update_portfolio_status", told == (made.id, PortfolioStatus.COMPLETED, PortfolioStatus.COMPLETED), done)
        call("add_intent_to_portfolio", self.portfolio, intent)

    def policies(self):
        """The creator makes the policy stricter; an admin removes it."""
        call, expect = self.call, self.expect
        governed = call("create_intent", "Governed", "a test").id
        call("set_status", governed, 1, IntentStatus.ACTIVE)
        policy = {"completion_mode": "require_approval", "max_cost": 5}
        told = call("set_governance_policy", governed, 2, policy)
        expect("set_governance_policy", (told.id, told.version) == (governed, 3), told)
        shown = call("get_governance_policy", governed)
        effective = shown["effective_policy"]
        expect("get_governance_policy", shown["governance_policy"] == policy and effective["write_scope"] == "any", shown)
        try:
            call("set_status", governed, 3, IntentStatus.COMPLETED)
            expect("set_governance_policy", False, "completed without an approval")
        except OpenIntentError as error:
            if error.status_code != 403:
                expect("set_governance_policy", False, error)
        own, self.client = self.client, type(self.client)(base_url=BASE, api_key=ADMIN_KEY, agent_id=AGENT)
        told = call("remove_governance_policy", governed, 3)
        call("close")
        self.client = own
        expect("remove_governance_policy", call("get_governance_policy", governed)["governance_policy"] == {}, told)

    def requests(self):
        """Approvals, escalations and arbitrations by the agent, decided with the key of an operator."""
        call, expect, intent = self.call, self.expect, self.intent
        first, second = (call("request_approval", intent, action, "it is due", {"amount": 5}) for action in ("pay", "refund"))
        told = (first.action, first.reason, first.context, first.status, first.requested_by)
        expect("request_approval", told == ("pay", "it is due", {"amount": 5}, "pending", AGENT), first)
        escalation = call("escalate_to_human", intent, "the bank refuses", priority="high")
        told = (escalation.reason, escalation.priority, escalation.urgency, escalation.escalated_by, escalation.status)
        expect("escalate_to_human", told == ("the bank refuses", "high", "medium", AGENT, "pending"), escalation)
        expect("list_escalations", call("list_escalations", intent_id=intent, status="pending") == [escalation], "escalations")
        arbitration = call("request_arbitration", intent, "two agents")
        expect("request_arbitration", (arbitration.requester_id, arbitration.status) == (AGENT, "pending"), arbitration)
        try:
            call("approve_approval", intent, first.id)
            expect("approve_approval", False, "the agent approved its own request")
        except OpenIntentError as error:
            if error.status_code != 403:
                expect("approve_approval", False, error)
        own, self.client = self.client, type(self.client)(base_url=BASE, api_key=OPERATOR_KEY, agent_id=AGENT)
        approved = call("approve_approval", intent, first.id)
        expect("approve_approval", (approved["id"], approved["status"]) == (first.id, "approved"), approved)
        denied = call("deny_approval", intent, second.id)
        expect("deny_approval", (denied["id"], denied["status"]) == (second.id, "denied"), denied)
        resolved = call("resolve_escalation", escalation.id, "use the other account", "as agreed")
        told = (resolved.status, resolved.resolution, resolved.resolution_notes)
        expect("resolve_escalation", told == ("resolved", "use the other account", "as agreed"), resolved)
        call("close")
        self.client = own
        seen = call("get_approval_status", intent, first.id)
        expect("get_approval_status", (seen.status, seen.decided_by) == ("approved", OPERATOR), seen)

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

    def streams(self):
        """Each stream begins with its place. Only the sync client has streams."""
        for name, args in {"subscribe_sse": (self.intent,), "subscribe_agent": (), "subscribe_portfolio": (self.portfolio,)}.items():
            if hasattr(self.client, name):
                stream = getattr(self.client, name)(*args)
                first = next(iter(stream))
                self.expect(name, first.type == "STATUS_CHANGED" and first.id, first)
                stream.stop()
        if hasattr(self.client, "create_event_queue"):
            with self.client.create_event_queue(intent_id=self.intent) as queue:
                first = queue.get(timeout=10)
                self.call("update_state", self.intent, self.call("get_intent", self.intent).version, {"streamed": 1})
                second = queue.get(timeout=10)
            told = (first and first.type, second and second.type, second and second.data.get("new_state"))
            self.expect("create_event_queue", told == ("STATUS_CHANGED", "STATE_CHANGED", {"streamed": 1}), told)

    def subscriptions(self):
        """An endpoint that is told of comments, and of nothing once the subscription has ended."""
        told, came = [], threading.Event()

        class Endpoint(BaseHTTPRequestHandler):
            def do_POST(self):
                told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(204)
                self.end_headers()
                came.set()

            def log_message(self, *_):
                """Nothing is written about requests."""

        endpoint = HTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{endpoint.server_port}/hook"
        # The sync client sends the time that it is given; the async client adds hours to its local time and sends it without a zone.
        until = {"expires_in_hours": 48} if self.is_async else {"expires_at": datetime.now(timezone.utc) + timedelta(hours=48)}
        made = self.call("subscribe", intent_id=self.intent, webhook_url=url, event_types=["comment"], **until)
        shown = (made.intent_id, made.subscriber_id, made.webhook_url, made.event_types, isinstance(made.created_at, datetime))
        self.expect("subscribe", shown == (self.intent, AGENT, url, ["comment"], True) and made.expires_at > made.created_at, made)
        listed = [one.id for one in self.call("get_subscriptions", intent_id=self.intent)]
        self.expect("get_subscriptions", listed == [made.id], listed)
        self.call("log_event", self.intent, EventType.COMMENT, {"text": "hello"})
        if not came.wait(15) or (told[0]["type"], told[0]["data"]["subscription_id"]) != ("comment", made.id):
            self.expect("subscribe", False, told)
        self.call("unsubscribe", made.id)
        left = self.call("get_subscriptions", intent_id=self.intent)
        self.expect("unsubscribe", left == [], left)
        endpoint.shutdown()

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
        if expected == NEVER:
            told = refusal(checks, name, works.intent)
            seen[name] = expected if told == "501" else f"WRONG: {told}"
        elif expected == FAULT:
            told = refusal(checks, name, works.intent)
            seen[name] = expected if told == "returned None" else f"WRONG: {told}"
        elif expected == REFUSED:
            told = refusal(checks, name, works.intent)
            seen[name] = expected if told == "404" else f"WRONG: {told}"
        elif expected == ELSEWHERE:
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
    for result in (WORKS, NEVER, REFUSED, FAULT, ELSEWHERE):
        print(f"{result}: {every.count(result)} of {len(every)}")
    wanted = sum(every.count(result) for result in (WORKS, NEVER, REFUSED, ELSEWHERE))
    print(f"behave as wanted: {wanted} of {len(every)}")
    wrong = [one for one in every if one.startswith("WRONG")]
    print(f"wrong: {len(wrong)} of {len(every)}")
    sys.exit(1 if wrong else 0)


main()
