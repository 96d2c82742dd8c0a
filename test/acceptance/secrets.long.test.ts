// The token stands in nothing that duckmirror writes: not in files, not in output, not in arguments, whatever the service
// sends back. Files are searched byte by byte, and databases and Parquet cell by cell, for every form it may have.
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_MEMORY, memoryPlan } from "../../src/core/config/memory-plan.ts";
import { scanFor } from "../../src/warehouse/forget/scan.ts";
import { aSandbox, startBuilt } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

/** Every character that encodings change, and no one. */
const TOKEN = 'eyJhbGciOi.J9+/=~secret%7E"&<0815>';

/** The token as it may stand in a text: plain, in addresses, in JSON, in Base64 at each of the three alignments. */
const forms = (): readonly string[] => {
  const base64 = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(TOKEN)]).toString("base64");
    const stable = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + TOKEN.length) * 8) / 6));
    return [stable, stable.replaceAll("+", "-").replaceAll("/", "_")];
  });
  const url = encodeURIComponent(TOKEN);
  const lower = url.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase());
  return [...new Set([TOKEN, JSON.stringify(TOKEN).slice(1, -1), url, lower, ...base64])];
};

const found = (text: string): readonly string[] => forms().filter((form) => text.includes(form));

const sandbox = await aSandbox({ seed: 5, accounts: 3 });

/** The sandbox behind a gateway that knows another token, and repeats it wherever it can. */
const startEchoing = async () => {
  let number = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    number += 1;
    const path = request.url ?? "";
    const { authorization = "" } = request.headers;
    if (authorization !== `Bearer ${TOKEN}`) return void response.writeHead(401).end(`no: ${authorization}`);
    const echo = `you said ${authorization}, ${encodeURIComponent(authorization)}, ${Buffer.from(authorization).toString("base64")}`;
    if (number % 31 === 3) return void response.writeHead(500, { "x-echo": "1" }).end(echo);
    if (number % 31 === 12)
      return void response.writeHead(503, { "content-type": "text/html" }).end(`<title>${echo}</title>`);
    if (number % 31 === 7)
      return void response.writeHead(302, { location: `https://other.example/?t=${encodeURIComponent(TOKEN)}` }).end();
    if (number % 31 === 9) return void response.writeHead(200).end(`no JSON: ${echo}`);
    const headers = { authorization: `Bearer ${sandbox.token}` };
    const upstream = await fetch(`${sandbox.url}${path}`, { headers });
    // Valid answers repeat it too: in a field that is known, and in one that is not.
    const text = (await upstream.text()).replace(
      /"headline":"/g,
      `"echo":${JSON.stringify(echo)},"headline":"${JSON.stringify(TOKEN).slice(1, -1)} `,
    );
    response.writeHead(upstream.status, { "content-type": "application/json" }).end(text);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the gateway has no port");
  return { url: `http://127.0.0.1:${address.port}`, close: () => server.close() };
};

/** Runs the program; answers with all that others can see of the process: output, and its arguments while it runs. */
const visible = async (argv: readonly string[], env: Readonly<Record<string, string>>, cwd: string) => {
  const run = startBuilt(argv, env, cwd);
  const proc = `/proc/${run.child.pid}/cmdline`;
  const cmdline = existsSync(proc) ? readFileSync(proc, "latin1") : "";
  const { out, err, code } = await run.ended;
  return { text: `${out}\n${err}`, cmdline, code };
};

const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test("the token is in no file, no output and no argument, although the service repeats it in everything it sends", async () => {
  const gateway = await startEchoing();
  const cwd = tempFolder();
  const dataDir = join(cwd, "data");
  const tokenFile = join(tempFolder(), "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  const base = { DUCKMIRROR_BASE_URL: gateway.url, DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_LOG_LEVEL: "trace" };
  const sources = [
    { ...base, DUCKMIRROR_TOKEN: TOKEN },
    { ...base, DUCKMIRROR_TOKEN_FILE: tokenFile },
    { ...base, DUCKMIRROR_TOKEN_COMMAND: `cat '${tokenFile}'`, DUCKMIRROR_LOG_FORMAT: "json" },
  ] as const;
  const commands: readonly (readonly string[])[] = [
    ["check", "--verbose"],
    ["sync", "--verbose", "--json"],
    ["sync", "--full", "--verbose"],
    ["verify", "--verbose", "--max-credits", "5"],
    ["replay", "--verbose"],
    ["export", "--tables", "main,history,marts"],
    ["export", "--format", "csv", "--dir", join(cwd, "sheets")],
    ["export", "--format", "ndjson", "--dir", join(cwd, "lines")],
    ["query", "from sync.requests", "--format", "json"],
    ["init", "--force", "--config", join(cwd, "duckmirror.yaml"), "--base-url", gateway.url],
    ["forget", "nobody-of-that-id", "--yes", "--json"],
  ];
  let synced = 0;
  for (const [index, argv] of commands.entries()) {
    const env = sources[index % sources.length] ?? sources[0];
    const { text, cmdline } = await visible(argv, env, cwd);
    expect([argv, found(text)]).toEqual([argv, []]);
    expect([argv, found(cmdline)]).toEqual([argv, []]);
    if (argv[0] === "sync") synced += 1;
  }
  gateway.close();
  expect(synced).toBe(2);
  expect(filesIn(join(dataDir, "export")).length).toBeGreaterThan(10);
  expect(filesIn(join(dataDir, "state/archive")).length).toBeGreaterThan(4);

  const person = (kind: "id" | "name", texts: readonly string[]) => [
    { id: "", hash: "", traces: texts.map((text) => ({ kind, text })) },
  ];
  const means = { tempDir: join(cwd, "tmp"), memory: memoryPlan(DEFAULT_MEMORY, 2 ** 32) };
  const scan = await scanFor(person("id", forms()), [cwd], means);
  expect(scan.left).toEqual([]);
  expect(scan.files).toBeGreaterThan(40);
  // The search finds what is there: a name of a mirrored account stands in archive, database, Parquet and CSV.
  const known =
    /"name":"([^"]{8,})"/.exec(
      (
        await visible(
          ["query", "select name from accounts where length(name) > 8 limit 1", "--format", "ndjson"],
          sources[0],
          cwd,
        )
      ).text,
    )?.[1] ?? "";
  const control = await scanFor(person("name", [known]), [cwd], means);
  const places = control.mentions.map(({ file }) => file.replace(/^.*\.(\w+)$/, "$1"));
  expect([...new Set(places)].sort()).toEqual(expect.arrayContaining(["csv", "duckdb", "gz", "ndjson", "parquet"]));
});
