"""Lets an agent of the OpenIntent client work on the last of three phases, of which the second waits for a person (RFC-0024, RFC-0026).

OPENINTENT_API_URL is the server's address, CLIENT_KEY a key made with --client for the agent phases-agent, OPENINTENT_OPERATOR_KEY that of an
operator. If OPENINTENT_EXAMPLES names the folder of the reference's examples, its graph of an incident is worked through as well: once as
it is, and once while one of its intents waits for a person.
"""

import contextlib
import importlib.util
import io
import os
import threading
import time

import httpx
from openintent import OpenIntentClient
from openintent.agents import BaseAgent, on_assignment
from openintent.exceptions import OpenIntentError
from openintent.models import IntentStatus
from openintent.workflow import WorkflowSpec

BASE, KEY = os.environ["OPENINTENT_API_URL"], os.environ["CLIENT_KEY"]
PATIENCE = 20
WORKFLOW = """
openintent: "1.0"
info: {name: Report}
types:
  Verdict: {enum: [approve, deny]}
workflow:
  fetch: {title: Fetch data, assign: phases-agent, outputs: {rows: number}}
  review: {title: Compliance review, assign: phases-agent, depends_on: [fetch], inputs: {rows: fetch.rows}, outputs: {verdict: Verdict}}
  report: {title: Generate report, assign: phases-agent, depends_on: [review], inputs: {verdict: review.verdict}, outputs: {pages: number}}
"""

client = OpenIntentClient(BASE, KEY, agent_id="phases-agent")
agents = httpx.Client(base_url=BASE, headers={"X-API-Key": KEY})
people = httpx.Client(base_url=BASE, headers={"X-API-Key": os.environ["OPENINTENT_OPERATOR_KEY"]})


def until(what, holds):
    """Waits for a result that counts as true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.1)
    raise AssertionError(f"this did not happen in {PATIENCE} seconds: {what}")


def refused(code, call):
    """The body of the refusal, as the client's exception has it."""
    try:
        done = call()
    except OpenIntentError as error:
        assert error.status_code == code, (error.status_code, error.response)
        return str(error.response)
    raise AssertionError(f"this was not refused: {done}")


def ask(intent):
    question = {"question": "Go on?", "response_type": "choice", "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}]}
    asked = agents.post(f"/api/v1/intents/{intent}/suspend", json=question | {"timeout_seconds": 3600})
    assert asked.status_code == 200, asked.text
    return asked.json()["id"]


def answer(intent, named, value):
    answered = people.post(f"/api/v1/intents/{intent}/suspend/respond", json={"suspension_id": named, "value": value})
    assert answered.status_code == 200, answered.text


def write(intent, state, status=None):
    """Writes the state and perhaps the status, as the client's own examples do."""
    now = client.get_intent(intent)
    now = client.update_state(intent, now.version, state)
    return client.set_status(intent, now.version, status) if status else now


class Reporter(BaseAgent):
    """Takes the last phase, and writes down with which input it began."""

    _agent_id = "phases-agent"
    began = []

    @on_assignment
    async def report(self, intent):
        self.began.append((intent.id, dict(intent.ctx.input), intent.status))
        return {"pages": 3}


def phases():
    """The intents of the workflow, made from the client's own description of it."""
    made = {}
    for spec in WorkflowSpec.from_string(WORKFLOW).to_portfolio_spec().intents:
        needs = [made[title] for title in spec.depends_on or []]
        intent = client.create_intent(spec.title, spec.description or spec.title, depends_on=needs, initial_state=spec.initial_state)
        made[spec.title] = intent.id
        client.set_status(intent.id, intent.version, IntentStatus.ACTIVE)
    return made.values()


def workflow():
    fetch, review, report = phases()
    reporter = Reporter(BASE, KEY)
    threading.Thread(target=reporter.run, daemon=True).start()
    time.sleep(1)  # The client does not say when its stream is open; an agent that opens it later misses the first assignment alone.
    client.assign_agent(report, "phases-agent")
    assert client.get_intent(report).status == IntentStatus.BLOCKED
    write(fetch, {"rows": 7}, IntentStatus.COMPLETED)
    assert client.get_intent(review).status == IntentStatus.ACTIVE
    client.acquire_lease(review, "work")
    named = ask(review)
    claim = agents.post(f"/api/v1/intents/{report}/leases", json={"scope": "work"})
    detail = claim.json()["detail"]
    assert (claim.status_code, detail["rule"], detail["suspended_intent_id"]) == (422, "upstream_intent_suspended", review), claim.text
    assert detail["expected_resume_at"] and detail["phase_name"] == "Generate report", claim.text
    assert "waits for a person" in refused(422, lambda: client.acquire_lease(report, "work"))
    answer(review, named, "approve")
    assert client.get_intent(report).status == IntentStatus.BLOCKED
    assert "verdict" in refused(422, lambda: client.set_status(review, client.get_intent(review).version, IntentStatus.COMPLETED))
    write(review, {"verdict": "perhaps"})
    assert "Verdict" in refused(422, lambda: client.set_status(review, client.get_intent(review).version, IntentStatus.COMPLETED))
    assert not Reporter.began, "the agent began before its input was there"
    write(review, {"verdict": "approve"}, IntentStatus.COMPLETED)
    until("the agent began", lambda: Reporter.began)
    until("the agent wrote its output", lambda: client.get_intent(report).state.to_dict().get("pages") == 3)
    assert Reporter.began == [(report, {"verdict": "approve"}, IntentStatus.ACTIVE)], Reporter.began
    client.acquire_lease(report, "work")
    client.set_status(report, client.get_intent(report).version, IntentStatus.COMPLETED)
    reporter.stop()
    print("three phases of a workflow: the last one began when the second was completed, with its input")


class Suspending:
    """The client of the example, which asks a person before Deploy Fix is completed."""

    def __init__(self, intents):
        self.intents, self.asked = intents, False

    def __getattr__(self, name):
        return getattr(client, name)

    def set_status(self, intent, version, status):
        deploy, verify = self.intents["deploy"].id, self.intents["verify"].id
        if intent == deploy and not self.asked:
            self.asked = True
            now = client.get_intent(deploy)
            client.set_status(deploy, now.version, IntentStatus.ACTIVE) if now.status == IntentStatus.DRAFT else None
            named = ask(deploy)
            refused(409, lambda: client.set_status(verify, client.get_intent(verify).version, IntentStatus.COMPLETED))
            answer(deploy, named, "approve")
            refused(409, lambda: client.set_status(verify, client.get_intent(verify).version, IntentStatus.COMPLETED))
            assert [one.id for one in client.get_blocked_intents(self.intents["parent"].id)].count(verify) == 1
            version = client.get_intent(deploy).version
        return client.set_status(intent, version, status)


def incident(folder):
    source = importlib.util.spec_from_file_location("incident_response", os.path.join(folder, "incident_response.py"))
    example = importlib.util.module_from_spec(source)
    source.loader.exec_module(example)
    for wrap in (lambda intents: client, Suspending):
        with contextlib.redirect_stdout(io.StringIO()):
            intents = example.create_incident_response_graph_sync(client, "Resolve Production Outage: API 500 Errors")
        with contextlib.redirect_stdout(io.StringIO()):
            example.show_graph_status(client, intents["parent"].id)
            example.simulate_incident_resolution(wrap(intents), intents)
            example.show_graph_status(client, intents["parent"].id)
        graph = client.get_intent_graph(intents["parent"].id)
        assert graph["aggregate_status"]["completion_percentage"] == 100, graph
    print("the example incident_response.py ran to its last line, and again while Deploy Fix waited for a person")


workflow()
if folder := os.environ.get("OPENINTENT_EXAMPLES"):
    incident(folder)
