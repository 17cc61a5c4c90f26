"""The official client of A2A from PyPI, unmodified, against a real server."""

import asyncio
import os
import uuid

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.client import ClientCallContext
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.types import a2a_pb2
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from endpoint import Endpoint
from google.protobuf.json_format import MessageToDict, ParseDict

URL = os.environ["A2A_URL"]
QUESTION = "urn:placet:a2a:question:v1"
BINDINGS = ["JSONRPC", "HTTP+JSON"]


def http(key):
    return httpx.AsyncClient(headers={"authorization": f"Bearer {os.environ[key]}"}, timeout=30)


async def client(key, binding, streaming=False):
    config = ClientConfig(httpx_client=http(key), supported_protocol_bindings=[binding], streaming=streaming)
    return await create_client(URL, config)


def message(*parts, **members):
    return Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts, **members)


def data(content):
    part = Part(media_type="application/json")
    ParseDict(content, part.data)
    return part


async def send(a2a, said):
    return [item async for item in a2a.send_message(SendMessageRequest(message=said))]


async def ask(a2a, *parts):
    [item] = await send(a2a, message(*parts))
    assert item.task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED, item
    return item.task


async def asks_waits_and_is_answered(binding):
    agent, operator = await client("AGENT_KEY", binding), await client("OPERATOR_KEY", binding)
    task = await ask(agent, Part(text="Deploy to production?"))
    assert "Deploy to production?" in task.status.message.parts[0].text
    follower = await client("AGENT_KEY", binding, streaming=True)
    following = follower.subscribe(SubscribeToTaskRequest(id=task.id))
    first = await anext(following)
    assert first.task.id == task.id and first.task.status == task.status
    [answered] = await send(operator, message(Part(text="yes"), task_id=task.id))
    assert answered.task.status.state == TaskState.TASK_STATE_COMPLETED
    told = [item async for item in following]
    assert [item.WhichOneof("payload") for item in told] == ["artifact_update", "status_update"], told
    assert told[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    done = await agent.get_task(GetTaskRequest(id=task.id))
    decision = MessageToDict(done.artifacts[0].parts[0].data)
    assert (decision["value"], decision["source"], decision["respondedBy"]) == ("yes", "human", "a2a-operator"), decision
    assert [one.role for one in done.history] == [Role.ROLE_USER, Role.ROLE_USER]


async def follows_from_the_first_message_on(binding):
    agent, operator = await client("AGENT_KEY", binding, streaming=True), await client("OPERATOR_KEY", binding)
    items = agent.send_message(SendMessageRequest(message=message(Part(text="Send the mail?"))))
    task = (await anext(items)).task
    assert task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
    await send(operator, message(data({"value": "no"}), task_id=task.id))
    told = [item async for item in items]
    assert told[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, "a no is an answer"


async def asks_in_full_and_cancels(binding):
    agent = await client("AGENT_KEY", binding)
    question = data({
        "question": "Which region?", "responseType": "choice", "timeoutSeconds": 600, "context": {"orders": 3},
        "choices": [{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}],
    })
    task = await ask(agent, question)
    assert "Which region?" in task.status.message.parts[0].text
    page = await agent.list_tasks(ListTasksRequest(page_size=1))
    assert page.tasks[0].id == task.id and page.next_page_token and page.total_size > 1
    canceled = await agent.cancel_task(CancelTaskRequest(id=task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    for refused, call in [
        (TaskNotCancelableError, agent.cancel_task(CancelTaskRequest(id=task.id))),
        (UnsupportedOperationError, send(agent, message(Part(text="eu"), task_id=task.id))),
        (TaskNotFoundError, agent.get_task(GetTaskRequest(id=str(uuid.uuid4())))),
        (TaskNotFoundError, (await client("OTHER_KEY", binding)).get_task(GetTaskRequest(id=task.id))),
    ]:
        try:
            await call
        except refused:
            continue
        raise AssertionError(f"{refused} was not raised")


async def never_answers_itself(binding):
    agent, operator = await client("AGENT_KEY", binding), await client("OPERATOR_KEY", binding)
    task = await ask(agent, Part(text="Delete the backups?"))
    for part in [Part(text="yes"), data({"value": "yes"})]:
        try:
            await send(agent, message(part, task_id=task.id))
            raise AssertionError("the asker answered itself")
        except Exception as refused:
            assert "403" in str(refused) or "agent that asked" in str(refused), refused
    assert (await agent.get_task(GetTaskRequest(id=task.id))).status.state == TaskState.TASK_STATE_AUTH_REQUIRED
    [unclear] = await send(operator, message(Part(text="yes please"), task_id=task.id))
    assert unclear.task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
    assert "no answer" in unclear.task.status.message.parts[0].text


async def knows_the_extension_when_asked(binding):
    agent, operator = await client("AGENT_KEY", binding), await client("OPERATOR_KEY", binding)
    task = await ask(agent, Part(text="Go on?"))
    assert len(task.status.message.parts) == 1 and not task.HasField("metadata"), "an extension is shown on request alone"
    context = ClientCallContext(service_parameters={"A2A-Extensions": QUESTION})
    shown = await operator.get_task(GetTaskRequest(id=task.id), context=context)
    facts = MessageToDict(shown.status.message.parts[1].data)
    assert [choice["value"] for choice in facts["choices"]] == ["yes", "no"]
    answer = message(data({"value": "yes", "suspensionId": facts["suspensionId"]}), task_id=task.id)
    [done] = await send(operator, answer)
    assert done.task.status.state == TaskState.TASK_STATE_COMPLETED


async def reads_strictly():
    """A client that activated nothing gets nothing that its types do not know."""
    async with http("AGENT_KEY") as plain:
        card = (await plain.get(f"{URL}/.well-known/agent-card.json")).json()
        ParseDict(card, a2a_pb2.AgentCard())
        plain.headers["a2a-version"] = "1.0"
        sent = {"message": {"messageId": "strict", "role": "ROLE_USER", "parts": [{"text": "May I?"}]}}
        task = (await plain.post(f"{URL}/a2a/message:send", json=sent)).json()
        ParseDict(task, a2a_pb2.SendMessageResponse())
        for shown in [{}, {"A2A-Extensions": QUESTION}]:
            listed = await plain.get(f"{URL}/a2a/tasks", params={"includeArtifacts": "true", "historyLength": 5}, headers=shown)
            ParseDict(listed.json(), a2a_pb2.ListTasksResponse())
        assert listed.headers["a2a-extensions"] == QUESTION


ENDPOINT = Endpoint()


async def is_told_by_its_endpoint(binding):
    agent, operator = await client("AGENT_KEY", binding), await client("OPERATOR_KEY", binding)
    task = await ask(agent, Part(text="Publish the report?"))
    wanted = TaskPushNotificationConfig(
        task_id=task.id, id="mine", url=ENDPOINT.url, token="token-of-the-client",
        authentication=AuthenticationInfo(scheme="Bearer", credentials="credentials-of-the-server"),
    )
    made = await agent.create_task_push_notification_config(wanted)
    assert (made.id, made.task_id, made.url, made.authentication.scheme) == ("mine", task.id, ENDPOINT.url, "Bearer"), made
    one = GetTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
    assert await agent.get_task_push_notification_config(one) == made
    listed = await agent.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    assert list(listed.configs) == [made]
    other = TaskPushNotificationConfig(task_id=task.id, id="other", url=ENDPOINT.url)
    await agent.create_task_push_notification_config(other)
    for _ in range(2):  # Twice is fine.
        await agent.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="other"))
    await send(operator, message(Part(text="yes"), task_id=task.id))
    items = []
    for _ in range(2):
        headers, body = await asyncio.to_thread(ENDPOINT.told.get, timeout=30)
        assert headers["X-A2A-Notification-Token"] == "token-of-the-client", headers
        assert headers["Authorization"] == "Bearer credentials-of-the-server", headers
        items.append(ParseDict(body, a2a_pb2.StreamResponse()))
    assert [item.WhichOneof("payload") for item in items] == ["artifact_update", "status_update"], items
    assert items[-1].status_update.task_id == task.id
    assert items[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def main():
    for binding in BINDINGS:
        card = await (await client("AGENT_KEY", binding)).get_extended_agent_card(GetExtendedAgentCardRequest())
        assert card.skills[0].id == "ask"
        for check in [
            asks_waits_and_is_answered, follows_from_the_first_message_on, asks_in_full_and_cancels, never_answers_itself,
            knows_the_extension_when_asked, is_told_by_its_endpoint,
        ]:
            await asyncio.wait_for(check(binding), 60)
            print(f"PyPI a2a-sdk, {binding}: {check.__name__.replace('_', ' ')}")
    await reads_strictly()
    print("PyPI a2a-sdk: everything is read strictly by the types of the protocol")


asyncio.run(main())
