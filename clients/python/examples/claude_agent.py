"""Claude Agent SDK: Claude Code asks Nod through `can_use_tool`. Needs an account, or ANTHROPIC_BASE_URL."""
import asyncio
from typing import Any

from claude_agent_sdk import (AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, ToolResultBlock, UserMessage,
                              create_sdk_mcp_server, tool)

from nod_gate import AsyncGate
from nod_gate.adapters.claude import ClaudeGate


@tool("send_mail", "Sends a mail.", {"to": str, "text": str})
async def send_mail(given: dict[str, Any]) -> dict[str, Any]:
    print("SENT", given["text"], flush=True)
    return {"content": [{"type": "text", "text": f"sent to {given['to']}"}]}


async def main() -> None:
    claude = ClaudeGate(AsyncGate(title="mails"))
    options = ClaudeAgentOptions(mcp_servers={"mail": create_sdk_mcp_server("mail", tools=[send_mail])},
                                 can_use_tool=claude.can_use_tool, hooks=claude.reports, setting_sources=[])
    async with ClaudeSDKClient(options) as client:
        await client.query("Send the mails one, two, three and four.")
        async for message in client.receive_response():
            blocks = message.content if isinstance(message, (AssistantMessage, UserMessage)) else []
            for block in blocks if isinstance(blocks, list) else []:
                if isinstance(block, ToolResultBlock):
                    print("HEARD", block.content, flush=True)


asyncio.run(main())
