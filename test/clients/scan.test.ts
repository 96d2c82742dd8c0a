// An independent scanner, schemathesis, over the OpenAPI document that the built server serves: no request of the thousand
// that it makes up is a fault, and each answer is as the document says.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { startServing } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { run } from "./programs.ts";

const KEY = "0123456789abcdef0123456789abcdef";

/** All checks but these. */
const NOT_HERE = [
  // API.md has rules that OpenAPI cannot say, e.g. that `from` wants `to`, and which fields there are.
  "positive_data_acceptance",
  // Our choice (src/replica/query/params.ts): an unknown parameter is ignored, an empty one counts as absent. API.md
  // says neither.
  "negative_data_rejection",
  // It sends more wrong keys than an address may: 429. test/long/http asks without a key and with wrong ones.
  "ignored_auth",
];

test("every check of schemathesis passes", async () => {
  const folder = tempFolder();
  const keyFile = join(folder, "key");
  writeFileSync(keyFile, KEY, { mode: 0o600 });
  const env = { DUCKMIRROR_SERVER_KEY_FILE: keyFile };
  const argvOfServer = ["serve", "--json", "--data-dir", inject("mirror"), "--listen", "127.0.0.1:0"];
  const server = await startServing(argvOfServer, env);
  const argv = ["run", `${server.url}/openapi.json`, "--checks", "all", "--exclude-checks", NOT_HERE.join(",")];
  const drawing = ["--seed", "1", "--max-examples", "25", "--generation-database", "none", "--workers", "1"];
  const scan = await run(inject("scanner"), [...argv, ...drawing, "--header", `Authorization: Bearer ${KEY}`], {
    cwd: folder,
    env: { NO_COLOR: "1" },
  });
  await server.kill();
  expect(scan.code, scan.out + scan.err).toBe(0);
  expect(Number(/(\d+) generated/.exec(scan.out)?.[1])).toBeGreaterThan(500);
  expect(server.err()).not.toContain("a request failed");
});
