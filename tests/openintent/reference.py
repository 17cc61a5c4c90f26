"""A pytest plugin that lets the reference's own HTTP tests, from its source distribution, run against a live server.

The tests make a server of the reference in their own process. This plugin replaces the modules from which they make it, and gives them a client
for the address in OPENINTENT_API_URL. Requests get a key by what they do: a person decides with the key of an operator, a gateway answers in
the name that the test gives, and everything else comes with the agent's key. The reference lets one key do all of this; this server does not.

Each test that this server refuses on purpose is in REFUSED with its reason, and must fail: if it passes, the document is wrong.
"""

import os
import sys
import types

import httpx
import pytest

BASE = os.environ["OPENINTENT_API_URL"]
# The tests expect that the name of an actor is the key that they sent. So each key here is named like a key that the tests send.
AGENTS = {"test-key": os.environ["AGENT_TEST_KEY"], "agent-1": os.environ["AGENT_1"], "dev-user-key": os.environ["AGENT_DEV_USER"]}
OPERATORS = {"dev-user-key": os.environ["OPERATOR_DEV_USER"], "admin-user": os.environ["OPERATOR_ADMIN_USER"]}
CHANNEL = os.environ["CHANNEL_KEY"]

REFUSED = {
    "test_get_governance_policy": "a policy with a quorum is refused (422): one person decides",
    "test_set_policy_valid_quorum_threshold": "a policy with a quorum is refused (422): one person decides",
    "test_get_acl_empty": "an access control list is closed: an agent that no entry names must not read",
}


class Client:
    def __init__(self, app=None, **options):
        self.client = httpx.Client(base_url=BASE, timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        pass  # Some fixtures leave the block before their test begins.

    def request(self, method, url, headers=None, **body):
        headers = dict(headers or {})
        if "X-API-Key" in headers:
            headers["X-API-Key"], body = key(url, headers["X-API-Key"], body)
        return self.client.request(method, url, headers=headers, **body)

    def __getattr__(self, name):
        if name not in ("get", "post", "put", "patch", "delete"):
            raise AttributeError(name)
        return lambda url, **options: self.request(name.upper(), url, **options)


def key(url, sent, body):
    """The key for a request, and its body."""
    if url.endswith("/suspend/respond"):
        # A channel key must name the person who answered; some of the tests name none.
        answer = dict(body.get("json") or {})
        return CHANNEL, {**body, "json": {"responded_by": "a person", **answer}}
    if url.endswith(("/approve", "/deny")):
        return OPERATORS[ACTING["operator"]], body
    return AGENTS[ACTING["agent"]] if sent else sent, body


# The names that the tests of one file use.
ACTING = {"agent": "test-key", "operator": "dev-user-key"}
NAMES = {
    "test_server_governance.py": {"agent": "agent-1", "operator": "dev-user-key"},
    "test_server.py": {"agent": "dev-user-key", "operator": "admin-user"},
}


@pytest.fixture(autouse=True)
def acting(request):
    ACTING.update(NAMES.get(request.path.name, {"agent": "test-key", "operator": "dev-user-key"}))


def pytest_collection_modifyitems(items):
    for item in items:
        reason = REFUSED.get(item.originalname or item.name)
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


class ServerConfig:
    def __init__(self, **settings):
        pass


import openintent  # noqa: E402  Its server modules are replaced below.

stand_in("fastapi")
stand_in("fastapi.testclient", TestClient=Client)
database = stand_in("openintent.server.database", _database=None, _database_url=None, Database=None)
server = stand_in("openintent.server", database=database)
stand_in("openintent.server.config", ServerConfig=ServerConfig)
stand_in("openintent.server.app", create_app=lambda config: None)
openintent.server = server
