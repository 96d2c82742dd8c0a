// The MCP server in the official inspector (stdio) and conformance suite (HTTP), and the bundle for desktop assistants in
// the official packer.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { programOnPath } from "../support/program-on-path.ts";
import { run, runWell, start } from "./programs.ts";
import { kept } from "./python-venv.ts";

const PACKAGES = [
  "@modelcontextprotocol/inspector@2.12.0",
  "@modelcontextprotocol/conformance@0.1.16",
  "@anthropic-ai/mcpb@2.1.2",
];
/**
 * Scenarios that any server can pass. The others call tools of the specification's reference server (`test_simple_text` and
 * so on), or need what this server does not declare: logging, completion, subscriptions, sessions.
 */
const SCENARIOS = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "prompts-list",
  "dns-rebinding-protection",
];
const bundle = join(import.meta.dirname, "../../docs/integrations/mcpb");

let bin: string;
beforeAll(async () => {
  const folder = await kept("mcp-tools", PACKAGES.join(" "), (target) =>
    runWell(programOnPath("npm") ?? "npm", [
      ...["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", target],
      ...PACKAGES,
    ]),
  );
  bin = join(folder, "node_modules/.bin");
});

const inspect = async (...argv: string[]): Promise<unknown> => {
  const server = [process.execPath, inject("builtCli"), "mcp", "--data-dir", inject("mirror")];
  return JSON.parse(await runWell(join(bin, "mcp-inspector"), ["--cli", ...server, ...argv]));
};

const named = z.object({ name: z.string(), inputSchema: z.unknown() });

test("the inspector lists the tools, and an answer equals SQL with its age and completeness", async () => {
  const { tools } = z.object({ tools: z.array(named) }).parse(await inspect("--method", "tools/list"));
  const { tools: packed } = z
    .object({ tools: z.array(z.object({ name: z.string() })) })
    .parse(JSON.parse(readFileSync(join(bundle, "manifest.json"), "utf8")));
  expect(tools.map(({ name }) => name).sort()).toEqual(packed.map(({ name }) => name).sort());
  const sql = "sql=SELECT count(*) AS n FROM accounts";
  expect(await inspect("--method", "tools/call", "--tool-name", "query", "--tool-arg", sql)).toMatchObject({
    structuredContent: { rows: [[12]], as_of: expect.any(String), complete: true },
  });
});

test("the official conformance suite passes over HTTP", async () => {
  const argv = [inject("builtCli"), "mcp", "--http", "127.0.0.1:0", "--json", "--data-dir", inject("mirror")];
  const server = start(process.execPath, argv, {});
  try {
    const url = await server.seen(/"url":"([^"]+)"/);
    // The suite needs a newer Node than this program.
    const node = join(inject("nodes")["22.23.3"] ?? "", "node");
    const suite = join(bin, "../@modelcontextprotocol/conformance/dist/index.js");
    const results = await Promise.all(
      SCENARIOS.map(async (scenario) => {
        const { code, out, err } = await run(node, [suite, "server", "--url", url, "--scenario", scenario]);
        return code === 0 && /Passed: [1-9]\d*\/\d+, 0 failed/.test(out) ? scenario : out + err;
      }),
    );
    expect(results).toEqual(SCENARIOS);
  } finally {
    await server.stop();
  }
});

test("the bundle's manifest is valid, and it packs", async () => {
  const file = join(tempFolder(), "duckmirror.mcpb");
  expect(await runWell(join(bin, "mcpb"), ["validate", join(bundle, "manifest.json")])).toContain("passes");
  await runWell(join(bin, "mcpb"), ["pack", bundle, file]);
  expect(existsSync(file)).toBe(true);
});
