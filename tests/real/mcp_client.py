"""The official Python SDK as a client of whatever program it is told to start; as mcp_client.mjs."""
import asyncio
import contextlib
import json
import os
import sys

sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # there is a mcp.py of our own beside this file

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def answer(session, given):
    tag = given.get("tag")
    try:
        result = await session.list_tools() if given.get("list") else await session.call_tool(given["name"], given["arguments"])
        said = {"tag": tag, "result": result.model_dump(mode="json", by_alias=True)}
    except Exception as error:  # noqa: BLE001: whatever it is, the test sees it
        said = {"tag": tag, "error": str(error)}
    print(json.dumps(said), flush=True)


@contextlib.asynccontextmanager
async def transport(command, arguments):
    if not command.startswith("http"):
        async with stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ))) as ends:
            yield ends
        return
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}) as web:
        async with streamable_http_client(command, http_client=web) as ends:
            yield ends


async def main():
    command, *arguments = sys.argv[1:]
    async with transport(command, arguments) as (reader, writer, *_):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            loop, tasks = asyncio.get_running_loop(), []
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                tasks.append(asyncio.create_task(answer(session, json.loads(line))))
            await asyncio.gather(*tasks)


asyncio.run(main())
