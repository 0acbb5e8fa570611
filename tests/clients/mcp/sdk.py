"""The Python SDK: a memory's way through the tools, over each transport and under each version of the protocol.

Usage: sdk.py URL TOKEN BINARY CONFIG DATA
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import traceback

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

URL, TOKEN, BINARY, CONFIG, DATA = sys.argv[1:]
VERSIONS = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
NAME = "mcp-sdk-python"
passed = failed = 0


def check(what, holds, seen=None):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"{NAME}: failed: {what}: {str(seen)[:600]}", file=sys.stderr)


def at_the_pipes(args, env):
    return stdio_client(StdioServerParameters(command=BINARY, args=args, env={**os.environ, **env}), errlog=subprocess.DEVNULL)


@contextlib.asynccontextmanager
async def http(token=TOKEN):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as client:
        yield streamable_http_client(URL, http_client=client)


@contextlib.asynccontextmanager
async def stdio():
    yield at_the_pipes(["--config", CONFIG, "--data", DATA, "mcp"], {})


@contextlib.asynccontextmanager
async def bridge():
    yield at_the_pipes(["mcp", "--url", URL], {"RECOLLECT_TOKEN": TOKEN})


async def walk(place, client):
    async def call(name, **arguments):
        result = await client.call_tool(name, arguments)
        check(f"{place}: {name} succeeds", not result.is_error, result)
        check(f"{place}: {name} says the same twice", json.loads(result.content[0].text) == result.structured_content, result)
        return result.structured_content

    subject = f"lighthouse of {place}"
    listed = {tool.name for tool in (await client.list_tools()).tools}
    expected = {"memory_store", "memory_recall", "memory_associate", "memory_get", "memory_forget"}
    check(f"{place}: the tools are listed", expected <= listed, listed)
    cause = await call("memory_store", content=f"Lightning struck the {subject}.", title=subject, kind="episodic")
    check(f"{place}: the cause is stored", cause["outcome"] == "stored", cause)
    effect = await call("memory_store", content=f"Ships waited outside until dawn ({place}).", caused_by=[cause["id"]])
    recalled = await call("memory_recall", query=f"What struck the {subject}?", limit=3)
    check(f"{place}: the best match", recalled["items"][0]["id"] == cause["id"], recalled)
    reached = await call("memory_associate", ids=[cause["id"]], edges=["CAUSES"])
    check(f"{place}: the effect is reached", [item["id"] for item in reached["items"]] == [effect["id"]], reached)
    check(f"{place}: over the edge", reached["items"][0]["path"][0]["edge"] == "CAUSES", reached)
    read = await call("memory_get", ids=[cause["id"], effect["id"]])
    check(f"{place}: read in full", read["memories"][0]["content"] == f"Lightning struck the {subject}.", read)
    wrong = await client.call_tool("memory_recall", {"query": "x", "limit": 0})
    check(f"{place}: a wrong limit is named", wrong.is_error and wrong.content[0].text.startswith("BAD_USER_INPUT: limit"), wrong)
    try:
        check(f"{place}: an unknown tool is an error", False, await client.call_tool("memory_burn", {}))
    except MCPError as error:
        check(f"{place}: an unknown tool is an error", error.error.code == -32602, error)
    forgotten = await call("memory_forget", ids=[cause["id"], effect["id"]], reason="the walk is over")
    check(f"{place}: forgotten", forgotten["forgotten"] == 2, forgotten)
    after = await call("memory_recall", query=f"What struck the {subject}?", mode="keyword")
    check(f"{place}: nothing is left of it", cause["id"] not in [item["id"] for item in after["items"]], after)


async def main():
    for transport in (http, stdio, bridge):
        for version, mode in VERSIONS.items():
            place = f"{transport.__name__} {version}"
            try:
                async with asyncio.timeout(60), transport() as server, Client(server, mode=mode) as client:
                    check(f"{place}: the version is agreed on", client.protocol_version == version, client.protocol_version)
                    await walk(place, client)
            except Exception:
                check(f"{place}: the walk", False, traceback.format_exc()[-1500:])
    try:
        async with asyncio.timeout(60), http("rcl_wrong") as server, Client(server, mode="legacy"):
            check("http: a wrong token is refused", False, "connected")
    except Exception:
        check("http: a wrong token is refused", True)


asyncio.run(main())
print(f"{NAME}: {passed} passed, {failed} failed")
sys.exit(0 if passed and not failed else 1)
