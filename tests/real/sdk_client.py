"""An agent made with the Python Agent SDK. Its CLI is the program given; a hook and a tool of its own are in this process."""
import asyncio
import os
import sys

sys.path = [folder for folder in sys.path if os.path.abspath(folder or ".") != os.path.dirname(os.path.abspath(__file__))]  # mcp.py is a test there

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultMessage, create_sdk_mcp_server, tool  # noqa: E402

REACHED = []


@tool("greet", "Greets somebody", {"name": str})
async def greet(given):
    REACHED.append("tool")
    return {"content": [{"type": "text", "text": f"hello {given['name']}"}]}


async def before(_given, _call, _context):
    REACHED.append("hook")
    return {}


async def main():
    options = ClaudeAgentOptions(cli_path=sys.argv[1], mcp_servers={"here": create_sdk_mcp_server("here", tools=[greet])},
                                 hooks={"PreToolUse": [HookMatcher(hooks=[before])]})
    async with ClaudeSDKClient(options) as client:
        await client.query("go")
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                print("RESULT", message.result, *sorted(set(REACHED)), flush=True)


asyncio.run(main())
