// `worker --role fetch`: a port only where one is named, with health and readiness, and a place in the fleet.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { readMembers } from "../../../../../src/queue/fleet/members.ts";
import { cli } from "../../../../support/cli.ts";
import { anOrg, aRedis, someTriggers } from "../../../queue/worker-rig.ts";

const PATIENCE = { timeout: 30_000 };

/** Ports that this process listens on. */
const openPorts = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap").length;

const startFetching = async (...more: string[]) => fetching({}, ...more);

const fetching = async (settings: Readonly<Record<string, string>>, ...more: string[]) => {
  const redis = await aRedis();
  const org = await anOrg();
  const config = org.config(redis);
  const { redis: client } = await someTriggers(redis, [config]);
  const env = {
    DUCKMIRROR_BASE_URL: config.baseUrl ?? "",
    DUCKMIRROR_TOKEN: "test-token",
    DUCKMIRROR_DATA_DIR: org.dataDir,
    REDIS_URL: redis.url,
    ...settings,
  };
  const before = openPorts();
  const stop = new AbortController();
  let out = "";
  const onOut = (text: string) => {
    out = text;
  };
  const argv = ["worker", "--role", "fetch", "--json", ...more];
  const ended = cli(argv, { env, cwd: org.dataDir, signal: stop.signal, onOut });
  await expect.poll(() => readMembers(client), PATIENCE).toHaveLength(1);
  const end = () => {
    stop.abort();
    return ended;
  };
  return { client, dataDir: org.dataDir, shown: () => out, openedPorts: () => openPorts() - before, end };
};

test("with --listen it answers probes, and leaves the fleet when it is stopped", async () => {
  const { client, shown, openedPorts, end } = await startFetching("--listen", "127.0.0.1:0");
  await expect.poll(shown, PATIENCE).toContain("url");
  const { url, role } = z.object({ url: z.string(), role: z.string() }).parse(JSON.parse(shown()));
  expect([role, openedPorts()]).toEqual(["fetch", 1]);
  expect(await readMembers(client)).toMatchObject([{ role: "fetch", pid: process.pid }]);
  for (const path of ["/healthz", "/readyz", "/metrics"]) {
    await expect.poll(async () => (await fetch(url + path)).status, PATIENCE).toBe(200);
  }
  const { code, err } = await end();
  expect([code, err]).toEqual([0, expect.stringContaining(`fetching at ${url} for default`)]);
  expect(await readMembers(client)).toEqual([]);
});

test("with require_key it makes a key and says where", async () => {
  const { shown, dataDir, end } = await fetching({ DUCKMIRROR_REQUIRE_KEY: "yes" }, "--listen", "127.0.0.1:0");
  await expect.poll(shown, PATIENCE).toContain("url");
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(shown()));
  const file = join(dataDir, "state", "server-key");
  const key = readFileSync(file, "utf8").trim();
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  expect((await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
  const { err } = await end();
  expect([err.includes(file), err.includes(key)]).toEqual([true, false]);
});

test("without --listen it opens no port", async () => {
  const { end, openedPorts } = await startFetching();
  expect(openedPorts()).toBe(0);
  const { code, out, err } = await end();
  expect([code, out]).toEqual([0, ""]);
  expect(err).toContain("fetching for default");
});
