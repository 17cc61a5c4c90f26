"""Lets agents of the OpenIntent client ask people in the client's own three calls, with a key of that client and the shim of
docs/openintent-python.md alone.

OPENINTENT_API_URL is the server's address, CLIENT_KEY a key made with --client, OPENINTENT_OPERATOR_KEY that of an operator. Each value on
which an agent acts is compared with the decision on record.
"""

import asyncio
import os
import re
from datetime import datetime, timedelta, timezone

import httpx
from openintent.agents import BaseAgent, InputCancelledError
from openintent.exceptions import OpenIntentError, ValidationError
from openintent.models import EventType, HumanRetryPolicy, IntentStatus

BASE = os.environ["OPENINTENT_API_URL"]
DOCUMENT = os.path.join(os.path.dirname(__file__), "../../docs/openintent-python.md")
CHOICES = [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}]
# How long people have to answer, in seconds: the least that the server allows for a key of this client.
WINDOW = 10

shim = re.findall(r"^```python\n(.*?)^```", open(DOCUMENT, encoding="utf-8").read(), re.M | re.S)[0]
exec(compile(shim, DOCUMENT, "exec"))


class Agent(BaseAgent):
    _agent_id = "python-agent"


agent = Agent(BASE, os.environ["CLIENT_KEY"])
people = httpx.Client(base_url=BASE, headers={"X-API-Key": os.environ["OPENINTENT_OPERATOR_KEY"]})


async def begun(title):
    intent = await agent.async_client.create_intent(title, "a test")
    return intent.id


def shown(intent):
    """The question as every reader of the intent sees it."""
    return people.get(f"/api/v1/intents/{intent}").json()["state"].get("_suspension", {})


async def asked(intent):
    """Waits until the question is open, and returns it."""
    for _ in range(100):
        if shown(intent).get("resolution", "") is None:
            return shown(intent)
        await asyncio.sleep(0.1)
    raise AssertionError(f"no question is open: {shown(intent)}")


def answer(intent, named, value):
    response = people.post(f"/api/v1/intents/{intent}/suspend/respond", json={"suspension_id": named, "value": value})
    assert response.status_code == 200, response.text


async def log(intent):
    """The types of the events in the client's vocabulary, oldest first; the client fails on any other."""
    return [one.event_type for one in reversed(await agent.async_client.get_events(intent, limit=100))]


async def answered(by_own_id, **question):
    """Asks, answers, and returns the value on which the agent acts, with the question as it was asked."""
    intent = await begun("answered")
    asking = asyncio.create_task(agent.request_input(intent, "Go?", **question))
    open_question = await asked(intent)
    value = question.get("choices") and "approve" or ("yes" if question.get("response_type") == "confirm" else "a text")
    answer(intent, open_question["client_id" if by_own_id else "id"], value)
    acted_on = await asking
    assert acted_on == value == shown(intent)["response"], (acted_on, shown(intent))
    assert (await log(intent)).count(EventType.INTENT_SUSPENDED) == 1
    return open_question


async def fallback(policy):
    """No person answers: the agent acts on the recorded fallback, and the server has ended the question first."""
    intent = await begun("fallback")
    more = {"retry_policy": policy} if policy else {"timeout_seconds": WINDOW}
    acted_on = await agent.request_input(
        intent, "Go?", choices=CHOICES, fallback_policy="complete_with_fallback", fallback_value="deny", **more
    )
    assert (acted_on, shown(intent)["resolution"], shown(intent)["response"]) == ("deny", "expired", "deny"), shown(intent)
    return intent


async def refused():
    intent = await begun("refused")
    try:
        await agent.request_input(intent, "Go?", choices=[{"value": 1, "label": "One"}])
    except (OpenIntentError, ValidationError) as error:
        assert "choices[0].value" in str(error) or error.status_code == 422, error
    else:
        raise AssertionError("a choice without a string was taken")
    assert (await agent.async_client.get_intent(intent)).status == IntentStatus.DRAFT


async def restarted():
    intent = await begun("restarted")
    first = asyncio.create_task(agent.request_input(intent, "Go?", choices=CHOICES, timeout_seconds=60))
    before = await asked(intent)
    first.cancel()
    second = asyncio.create_task(agent.request_input(intent, "Go?", choices=CHOICES, timeout_seconds=60))
    await asyncio.sleep(2)
    assert shown(intent)["id"] == before["id"], "the question was asked twice"
    answer(intent, before["id"], "deny")
    assert await second == "deny"


async def withdrawn():
    intent = await begun("withdrawn")
    asking = asyncio.create_task(agent.request_input(intent, "Go?", choices=CHOICES))
    named = (await asked(intent))["id"]
    agents = httpx.Client(base_url=BASE, headers={"X-API-Key": os.environ["CLIENT_KEY"]})
    assert agents.post(f"/api/v1/suspensions/{named}/cancel", json={}).status_code == 200
    try:
        await asking
    except InputCancelledError:
        return
    raise AssertionError("a withdrawn question had an answer")


async def ended_by_portfolio():
    """The deadline of a portfolio ends the question: the client raises, and never acts on the fallback."""
    intent = await begun("ended by a portfolio")
    deadline = datetime.now(timezone.utc) + timedelta(seconds=6)
    portfolio = await agent.async_client.create_portfolio("Phases", governance_policy={"deadline": deadline.isoformat()})
    await agent.async_client.add_intent_to_portfolio(portfolio.id, intent)
    asking = agent.request_input(
        intent, "Go?", choices=CHOICES, fallback_policy="complete_with_fallback", fallback_value="approve", timeout_seconds=60
    )
    try:
        acted_on = await asking
    except InputCancelledError:
        ended = (shown(intent)["resolution"], shown(intent)["resolution_reason"], shown(intent)["response"])
        assert ended == ("cancelled", "portfolio_deadline", None), ended
        whole = await agent.async_client.get_portfolio(portfolio.id)
        assert (whole.aggregate_status.by_status["abandoned"], whole.intents[0].status) == (1, IntentStatus.ABANDONED)
        return
    raise AssertionError(f"the agent acted on {acted_on}")


async def reminded():
    policy = HumanRetryPolicy(max_attempts=2, interval_seconds=WINDOW // 2, final_fallback_policy="complete_with_fallback")
    types = await log(await fallback(policy))
    assert types.count(EventType.INTENT_SUSPENSION_RENOTIFIED) == 1, types


async def main():
    answers = [answered(own, choices=CHOICES) for own in (False, True)]
    answers += [answered(False, response_type="confirm"), answered(True, response_type="text"), answered(False)]
    questions = await asyncio.gather(*answers)
    assert questions[-1]["response_type"] == "text", "the client's default call, a choice without choices"
    await asyncio.gather(fallback(None), reminded(), refused(), restarted(), withdrawn(), ended_by_portfolio())
    print("asked in three calls: answered by either id, as choice, confirmation and text; expired, reminded, refused, adopted, withdrawn, ended by a portfolio")


asyncio.run(main())
