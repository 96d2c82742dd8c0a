// What `worker` checks before it says that it is ready, without a request and without a credit.

import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { afterTest } from "../../../../support/after-test.ts";
import { aFolder, cli, startCli } from "../../../../support/cli.ts";
import { aRedis } from "../../../queue/worker-rig.ts";

const PATIENCE = { timeout: 30_000 };

/** A service that counts what it is asked. */
const aService = async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.writeHead(401).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterTest(async () => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return { url: `http://127.0.0.1:${address.port}`, requests: () => requests };
};

const settings = (folder: string, more: Readonly<Record<string, string>> = {}) => ({
  DUCKMIRROR_BASE_URL: "https://api.example",
  DUCKMIRROR_TOKEN: "test-token",
  DUCKMIRROR_DATA_DIR: join(folder, "data"),
  DUCKMIRROR_SCHEDULE: "off",
  ...more,
});

/** A worker that would be ready for ever ends with what is wrong. */
const refused = async (env: Readonly<Record<string, string>>, ...more: string[]) =>
  cli(["worker", "--listen", "127.0.0.1:0", ...more], { env });

test.each([
  ["a token file that is missing", "TOKEN_FILE_UNREADABLE", { DUCKMIRROR_TOKEN: "", DUCKMIRROR_TOKEN_FILE: "/none" }],
  ["no token", "TOKEN_MISSING", { DUCKMIRROR_TOKEN: "" }],
  ["a token command that fails", "TOKEN_COMMAND_FAILED", { DUCKMIRROR_TOKEN: "", DUCKMIRROR_TOKEN_COMMAND: "exit 3" }],
  ["an address without encryption", "TOKEN_OVER_PLAIN_HTTP", { DUCKMIRROR_BASE_URL: "http://api.example" }],
  ["a data directory that cannot be written", "DATA_DIR_UNWRITABLE", { DUCKMIRROR_DATA_DIR: "/dev/null/data" }],
  ["a key of hashed fields that is missing", "CONFIG_INVALID", { DUCKMIRROR_HASH_FIELDS: "contacts.email" }],
])("with %s it ends with %s before it is ready", async (_, code, more) => {
  const run = await refused(settings(aFolder(), more));
  expect([run.code, run.err]).toEqual([2, expect.stringContaining(`error ${code}:`)]);
  expect(run.err).not.toContain("ready");
});

test.each(["fetch", "load", "all"])("--role %s is refused, with what to do instead", async (role) => {
  const run = await refused(settings(aFolder()), "--role", role);
  expect([run.code, run.err]).toEqual([2, expect.stringContaining(`error ROLE_REMOVED: --role ${role}:`)]);
  expect(run.err).toContain("without --role");
  expect((await cli(["worker", "--help"], {})).out).not.toContain("--role");
});

const readySchema = z.object({ url: z.string() });

/** A worker for the profile `good` and the profile `broken`, whose token file is missing, once it is ready. */
const withBroken = async (redis?: { readonly url: string }) => {
  const folder = aFolder();
  const service = await aService();
  const config = join(folder, "duckmirror.yaml");
  const profile = (name: string) => `  ${name}:\n    token_file: ${join(folder, `${name}.token`)}\n`;
  writeFileSync(join(folder, "good.token"), "test-token");
  writeFileSync(config, `base_url: ${service.url}\nschedule: off\nprofiles:\n${profile("broken")}${profile("good")}`);
  mkdirSync(join(folder, "data"));
  const env = {
    DUCKMIRROR_DATA_DIR: join(folder, "data"),
    DUCKMIRROR_CONFIG: config,
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  };
  const { said } = startCli(["worker", "--listen", "127.0.0.1:0", "--json"], { env });
  await expect.poll(() => said.err, PATIENCE).toContain("worker ready");
  const { url } = readySchema.parse(JSON.parse(said.out));
  const asking = { ...env, DUCKMIRROR_LISTEN: new URL(url).host };
  return { url, asking, service, err: () => said.err };
};

test.each([["without Redis"], ["with Redis"]])("%s: one broken profile of two keeps the other running", async (how) => {
  const worker = await withBroken(how === "with Redis" ? await aRedis() : undefined);
  expect(worker.err()).toMatch(/ERROR.*profile broken cannot sync: TOKEN_FILE_UNREADABLE: /);
  expect(worker.err()).toMatch(/worker ready at \S+ for good$/m);
  expect(worker.service.requests()).toBe(0);
  expect(await (await fetch(`${worker.url}/readyz`)).json()).toMatchObject({ unable: 1 });
  const { profiles } = z
    .object({ profiles: z.array(z.object({ name: z.string(), problem: z.object({ code: z.string() }).nullable() })) })
    .parse(await (await fetch(`${worker.url}/api/profiles`)).json());
  expect(profiles.map(({ name, problem }) => [name, problem?.code])).toEqual([
    ["broken", "TOKEN_FILE_UNREADABLE"],
    ["good", undefined],
  ]);
  const metrics = await (await fetch(`${worker.url}/metrics`)).text();
  expect(metrics).toContain('duckmirror_profile_able{profile="broken"} 0');
  expect(metrics).toContain('duckmirror_profile_able{profile="good"} 1');
  const shown = await cli(["jobs"], { env: worker.asking });
  expect(shown.out).toMatch(/^Profile broken cannot sync.*: TOKEN_FILE_UNREADABLE: /m);
  const json = z.object({ unable: z.array(z.object({ profile: z.string(), code: z.string() })) });
  const { unable } = json.parse(JSON.parse((await cli(["jobs", "--json"], { env: worker.asking })).out));
  expect(unable).toMatchObject([{ profile: "broken", code: "TOKEN_FILE_UNREADABLE" }]);
});
