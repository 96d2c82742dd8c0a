// Five hundred organizations on one worker: one huge, one whose service hangs, one broken, one without credits. All are asked
// for at once, and nobody waits for these four. Shows P37.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { type Character, startOrganizations } from "../../bench/organizations-service.ts";
import { startServing } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const COUNT = 500;
/** Ordinary organizations whose syncs are awaited: a sync takes about a second of processor time. */
const AWAITED = Number(process.env.FLEET_AWAITED ?? 20);
const MAX_SYNCS = 4;
const SPECIAL: readonly Character[] = ["hangs", "large", "broken", "poor"];
/** Requests of an ordinary sync: three pages of two lists. */
const REQUESTS = 6;

const names = Array.from({ length: COUNT }, (_, index) => index);
const tokenOf = (index: number) => `organization-${String(index).padStart(5, "0")}`;
const characterOf = (index: number) => SPECIAL[index] ?? "well";

let redis: TestRedis | null = null;
afterAll(() => redis?.kill());

const runSchema = z.object({
  state: z.string(),
  error: z.object({ code: z.string() }).nullable(),
});
const startedSchema = z.object({ syncs: z.array(z.object({ profile: z.string(), run_id: z.string() })) });

const aFleet = async () => {
  const service = await startOrganizations({
    characterOf: (token) => characterOf(Number(token.slice(-5))),
    rows: 250,
    perMinute: 300,
    latencyMs: 20,
  });
  redis = await startRedis();
  const dir = tempFolder();
  mkdirSync(dir, { recursive: true });
  const settings = [
    `base_url: ${service.url}`,
    "streams: [accounts, signals]",
    "rate_limit: pro",
    "schedule: off",
    "export_formats: none",
    `max_syncs: ${MAX_SYNCS}`,
    `redis_url: ${redis.url}`,
    `data_dir: ${join(dir, "mirrors")}`,
    "profiles:",
    ...names.map((index) => `  p${index}: { token: ${tokenOf(index)} }`),
  ];
  writeFileSync(join(dir, "duckmirror.yaml"), settings.join("\n"));
  const worker = await startServing(["worker", "--listen", "127.0.0.1:0", "--json", "--quiet"], {}, dir);
  return { service, worker, url: worker.url };
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

test(`${COUNT} syncs are asked for at once; no one waits for the huge, hanging, broken or poor one`, async () => {
  const { service, worker, url } = await aFleet();
  const startedAt = Date.now();
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/api/syncs`, { method: "POST", headers, body: '{"all_profiles":true}' });
  const askedMs = Date.now() - startedAt;
  expect(answer.status).toBe(202);
  const { syncs } = startedSchema.parse(await answer.json());
  expect(syncs.map(({ profile }) => profile)).toEqual(names.map((index) => `p${index}`));
  const ids = syncs.map(({ run_id }) => run_id);

  const ordinary = names.filter((index) => characterOf(index) === "well");
  const served = () => ordinary.filter((index) => service.served(tokenOf(index)).length >= REQUESTS);
  await expect.poll(() => served().length, { timeout: 240_000, interval: 250 }).toBeGreaterThanOrEqual(AWAITED);
  const mirroredMs = Date.now() - startedAt;
  const durations = served().map((index) => {
    const times = service.served(tokenOf(index));
    return (times.at(-1) ?? 0) - (times[0] ?? 0);
  });
  const run = async (character: Character) => {
    const answer = await fetch(`${url}/api/syncs/${ids[SPECIAL.indexOf(character)]}`);
    return runSchema.parse(await answer.json());
  };
  const slowest = Math.max(...durations);
  const figures = {
    askedMs,
    mirrored: durations.length,
    mirroredMs,
    medianMs: median(durations),
    slowestMs: slowest,
    fairness: Number((slowest / median(durations)).toFixed(1)),
    largePages: service.served(tokenOf(SPECIAL.indexOf("large"))).length,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(await run("hangs")).toMatchObject({ state: "running" });
  await expect.poll(() => run("poor")).toMatchObject({ state: "stopped", error: { code: "QUOTA_SPENT" } });
  const broken = { state: "failed", error: { code: "SERVICE_FAILING" } };
  await expect.poll(() => run("broken"), { timeout: 120_000 }).toMatchObject(broken);
  expect(figures.largePages).toBeGreaterThan(10);
  expect(service.refusals()).toBe(0);
  expect(figures.fairness).toBeLessThan(20);
  await worker.kill();
  await service.close();
}, 400_000);
