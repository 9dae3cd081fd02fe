// The SDK for TypeScript as a client: connects as it is told, lists the tools, calls each, and prints what came as JSON.
// node client.mjs http://127.0.0.1:8765/mcp, or node client.mjs PROGRAM ARGUMENT…
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [command, ...args] = process.argv.slice(2);
const transport = command.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const calls = {};
for (const tool of tools) {
  const asked = tool.inputSchema.required.includes("messages")
    ? { messages: [{ role: "user", content: "why" }] }
    : { query: "python" };
  calls[tool.name] = await client.callTool({ name: tool.name, arguments: asked });
}
console.log(JSON.stringify({ server: client.getServerVersion(), calls }));
await client.close();
