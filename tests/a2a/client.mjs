// The official client of A2A from npm, unmodified, against a real server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.PACKAGES}/`);
const load = (name) => import(pathToFileURL(require.resolve(name).replace(/\.cjs$/, ".js")));
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load("@a2a-js/sdk/client");
const { Role, TaskState } = await load("@a2a-js/sdk");
const url = process.env.A2A_URL;

function withKey(key) {
  return (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("x-api-key", process.env[key]);
    return fetch(input, { ...init, headers });
  };
}

function client(key, binding) {
  const fetchImpl = withKey(key);
  const transport = binding === "JSONRPC" ? new JsonRpcTransportFactory({ fetchImpl }) : new RestTransportFactory({ fetchImpl });
  const factory = new ClientFactory({ transports: [transport], cardResolver: new DefaultAgentCardResolver({ fetchImpl }) });
  return factory.createFromUrl(url);
}

function message(text, taskId = "") {
  const part = { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
  const said = {
    messageId: randomUUID(), contextId: "", taskId, role: Role.ROLE_USER, parts: [part], metadata: undefined, extensions: [], referenceTaskIds: [],
  };
  return { tenant: "", message: said, configuration: undefined, metadata: undefined };
}

const state = (task) => task.status.state;

for (const binding of ["JSONRPC", "HTTP+JSON"]) {
  const [agent, operator] = await Promise.all([client("AGENT_KEY", binding), client("OPERATOR_KEY", binding)]);
  const task = await agent.sendMessage(message("Deploy to production?"));
  assert.equal(state(task), TaskState.TASK_STATE_AUTH_REQUIRED);
  const items = agent.resubscribeTask({ tenant: "", id: task.id });
  const first = (await items.next()).value;
  assert.equal(first.payload.$case, "task");
  assert.equal(first.payload.value.id, task.id);
  await assert.rejects(agent.sendMessage(message("yes", task.id)));
  const answered = await operator.sendMessage(message("yes", task.id));
  assert.equal(state(answered), TaskState.TASK_STATE_COMPLETED);
  const told = [];
  for await (const item of items) told.push(item.payload.$case);
  assert.deepEqual(told, ["artifactUpdate", "statusUpdate"]);
  const done = await agent.getTask({ tenant: "", id: task.id, historyLength: undefined });
  assert.equal(done.artifacts[0].parts[0].content.value.value, "yes");
  const other = await agent.sendMessage(message("Send the mail?"));
  assert.equal(state(await agent.cancelTask({ tenant: "", id: other.id, metadata: undefined })), TaskState.TASK_STATE_CANCELED);
  console.log(`npm @a2a-js/sdk, ${binding}: asks, waits, is answered, and cancels`);
}
