// duckmirror trigger: what it refuses before it asks a worker, a worker that refuses it, and several profiles: one that is
// named, or all; never silently the first.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { readTrail } from "../../../../../src/warehouse/audit/read-trail.ts";
import { aFolder, cli, startCli } from "../../../../support/cli.ts";
import { anOrg, aRedis, aWorker, someTriggers } from "../../../queue/worker-rig.ts";

test("--timeout wants a duration", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example" };
  expect((await cli(["trigger", "--timeout", "0s"], { env })).err).toContain('"0s" is not a duration');
  expect((await cli(["trigger", "--wait", "--timeout", "soon"], { env })).err).toContain('"soon" is not a duration');
});

test("a stream that does not exist is refused although no worker is there to ask", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example", DUCKMIRROR_LISTEN: "127.0.0.1:1" };
  const { code, err } = await cli(["trigger", "signal"], { env });
  expect([code, err]).toEqual([2, expect.stringContaining("signal is not a stream. Did you mean signals?")]);
});

test("a wrong server key ends with exit code 3 and says which setting to correct", async () => {
  const server = createServer((_, response) => void response.end('{"salt":"a","proofs":[]}'));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    if (address === null || typeof address === "string") throw new TypeError("no port");
    const listen = `127.0.0.1:${address.port}`;
    const env = {
      DUCKMIRROR_BASE_URL: "https://api.example",
      DUCKMIRROR_LISTEN: listen,
      DUCKMIRROR_SERVER_KEY: "a-key-that-is-not-the-one-of-the-worker",
    };
    const { code, err } = await cli(["trigger"], { env });
    expect(code).toBe(3);
    expect(err).toContain(`The worker at ${listen} refuses the server key: what listens there did not prove`);
    expect(err).toContain("DUCKMIRROR_SERVER_KEY_FILE");
    expect(err).toContain("`trigger` and `jobs --cancel` the role operate");
  } finally {
    server.close();
  }
});

const PATIENCE = { timeout: 60_000 };

/** A configuration of two organizations, and a worker that syncs them. */
const twoProfiles = async (redis: { readonly url: string } | null) => {
  const folder = aFolder();
  const orgs = { acme: await anOrg("acme", 1), bolt: await anOrg("bolt", 2) };
  const file = join(folder, "duckmirror.yaml");
  const text = Object.entries(orgs).map(([name, org]) => {
    const { baseUrl, dataDir } = org.config(null);
    return `  ${name}: { base_url: "${baseUrl}", data_dir: "${dataDir}", token: test-token, streams: [accounts] }\n`;
  });
  writeFileSync(file, `schedule: off\nexport_formats: none\nrate_limit: 100000\nprofiles:\n${text.join("")}`);
  const env = { DUCKMIRROR_CONFIG: file, ...(redis === null ? {} : { REDIS_URL: redis.url }) };
  const { said } = startCli(["worker", "--listen", "127.0.0.1:0", "--json", "--quiet"], { env });
  await expect.poll(() => said.out, PATIENCE).toContain("url");
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(said.out));
  return { orgs, env: { ...env, DUCKMIRROR_LISTEN: new URL(url).host } };
};

const syncsSchema = z.object({
  syncs: z.array(z.object({ profile: z.string(), run_id: z.string(), state: z.string(), error: z.null() })),
});

test.each([["Redis"], ["HTTP"]])("over %s, none named is refused by name; --all-profiles syncs each", async (way) => {
  const { env, orgs } = await twoProfiles(way === "Redis" ? await aRedis() : null);
  const none = await cli(["trigger"], { env });
  expect([none.code, none.err]).toEqual([2, expect.stringContaining("error PROFILE_UNKNOWN:")]);
  expect(none.err).toContain("the profiles acme, bolt; none was named");
  expect(none.err).toContain("--all-profiles");
  const both = await cli(["trigger", "--all-profiles", "--profile", "acme"], { env });
  expect([both.code, both.err]).toEqual([2, expect.stringContaining("error USAGE:")]);

  const asked = await cli(["trigger", "--all-profiles", "--wait", "--json"], { env });
  expect(asked.code, asked.err).toBe(0);
  const { syncs } = syncsSchema.parse(JSON.parse(asked.out));
  expect(syncs.map(({ profile, state }) => [profile, state])).toEqual([
    ["acme", "done"],
    ["bolt", "done"],
  ]);
  for (const [nth, name] of (["acme", "bolt"] as const).entries()) {
    const { lines } = await readTrail(orgs[name].dataDir, 0, Date.now());
    const own = lines.filter(({ action, outcome }) => action === "sync" && outcome === "ok");
    expect(own.map(({ run_id }) => run_id)).toEqual([syncs[nth]?.run_id]);
  }
  const named = await cli(["trigger", "filings", "--with-parents", "--quiet"], {
    env: { ...env, DUCKMIRROR_PROFILE: "bolt" },
  });
  expect([named.code, named.err]).toEqual([0, ""]);
});

test("trigger --wait says that Redis lost its sync, and ends with the one that it asked for again", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const config = org.config(redis, { DUCKMIRROR_STREAMS: "accounts" });
  const { redis: client } = await someTriggers(redis, [config]);
  const env = {
    DUCKMIRROR_BASE_URL: config.baseUrl ?? "",
    DUCKMIRROR_TOKEN: "test-token",
    DUCKMIRROR_DATA_DIR: org.dataDir,
    DUCKMIRROR_RATE_LIMIT: "100000",
    REDIS_URL: redis.url,
  };
  const waiting = startCli(["trigger", "accounts", "--wait", "--json"], { env });
  const { said } = waiting;
  await expect.poll(() => said.err, PATIENCE).toContain(": asked for");
  const first = /^(\S+): asked for$/m.exec(said.err)?.[1];
  await client.flushall();
  await expect.poll(() => said.err, PATIENCE).toContain(`${first} is lost: Redis was emptied`);
  const again = /asked for again as (\S+)$/m.exec(said.err)?.[1];
  expect(again).not.toBe(first);
  await aWorker(redis, [config]);
  const { code, out } = await waiting.ended;
  expect([code, z.object({ run_id: z.string() }).parse(JSON.parse(out)).run_id]).toEqual([0, again]);
  const { lines } = await readTrail(org.dataDir, 0, Date.now());
  expect(lines.filter(({ outcome }) => outcome === "ok").map(({ run_id }) => run_id)).toEqual([first, again]);
});
