"""The official Python SDK as a client of whatever program it is told to start; as mcp_client.mjs."""
import asyncio
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


async def main():
    command, *arguments = sys.argv[1:]
    async with stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ))) as (reader, writer):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            loop, tasks = asyncio.get_running_loop(), []
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                tasks.append(asyncio.create_task(answer(session, json.loads(line))))
            await asyncio.gather(*tasks)


asyncio.run(main())
