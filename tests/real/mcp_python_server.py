"""The official Python SDK as a server on standard input and output: a tool that writes, one that reads, one that asks."""
import os
import sys

sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # there is a mcp.py of our own beside this file

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("python")


class Colour(BaseModel):
    colour: str


@server.tool()
def write(path: str, content: str) -> str:
    """Writes a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return "written"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read(about: str) -> str:
    """Reads."""
    return f"read {about}"


@server.tool()
async def form(about: str, ctx: Context) -> str:
    """Asks first."""
    answer = await ctx.elicit("Which colour?", Colour)
    return answer.data.colour if answer.action == "accept" else answer.action


server.run()
