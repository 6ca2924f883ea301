// Asks every tool through the SDK, which validates what comes against the protocol's schemas. Arguments: "stdio" and a command line, or "http", an address and a token.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, target, ...rest] = process.argv.slice(2);
const transport = kind === "stdio"
  ? new StdioClientTransport({ command: target, args: rest, stderr: "inherit" })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } });
const client = new Client({ name: "test", version: "1" });
const given = { why_program: { for: "marker-shell" }, process: { for: "marker-shell" }, compare: { a: "-20s", b: "-5s" }, waits_by: { by: "program" },
  incident: { id: 1 }, incident_inspections: { id: 1 }, inspect: { who: "marker-shell", seconds: "1s" }, spans_compare: { baseline: "1", candidate: "2" },
  fleet_rank: { from: "2026-01-01T01:00Z", to: "2026-01-01T01:20Z" }, fleet_correlate: { symptom: "cpu@c" } };
const mayBeEmpty = /^(spans_|profile|inspect|incident_inspections|history)/; // nothing was traced, kept or inspected here, and no minute has passed

await client.connect(transport);
assert.equal(client.getServerVersion().name, "whyslow");
const { tools } = await client.listTools();
const names = tools.map(t => t.name);
for (const name of ["why", "why_program", "waits", "history", "incidents", "incident", "compare", "inspect", "fleet_why", "spans_why"])
  assert.ok(names.includes(name), `there is no tool ${name}`);
for (const tool of tools) {
  assert.equal(tool.annotations.readOnlyHint, true);
  const said = await client.callTool({ name: tool.name, arguments: given[tool.name] ?? {} });
  const text = said.content.map(c => c.text).join("");
  assert.ok(text.length > 0 && text.length < 70000, `${tool.name}: ${text.length} bytes`);
  assert.ok(!said.isError || mayBeEmpty.test(tool.name), `${tool.name}: ${text}`);
  if (!said.isError)
    assert.doesNotMatch(text, /^\{/, `${tool.name}: JSON was not asked for`);
}
const structured = await client.callTool({ name: "why", arguments: { json: true } });
assert.match(structured.structuredContent.schema, /^whyslow\.why\//);
assert.ok(!structured.content[0].text.includes("\n"), "a document has blanks that its size does not allow on a busy machine");
const incidents = await client.callTool({ name: "incidents", arguments: {} });
assert.match(incidents.content[0].text, /the one mark/);
await assert.rejects(client.callTool({ name: "mark", arguments: { note: "x" } }), /no such tool/);
await assert.rejects(client.callTool({ name: "why", arguments: { when: "now" } }), /no value 'when'/);
await assert.rejects(client.callTool({ name: "why_program", arguments: {} }), /for is required/);
await assert.rejects(client.callTool({ name: "history", arguments: { top: "many" } }), /expected a whole number/);
const wrong = await client.callTool({ name: "why", arguments: { at: "--store=/etc/passwd" } });
assert.ok(wrong.isError);
const fleet = await client.callTool({ name: "fleet_why", arguments: {} });
assert.match(fleet.content[0].text, /\bc\b/);
await client.close();
