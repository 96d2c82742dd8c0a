// pause, resume, jobs and trigger beside a Redis: what an operator sees and does at night.

import { type Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { z } from "zod";
import { pauseName, renderMembers, renderPauses, renderQueues } from "../../../../src/cli/worker/control-queues.ts";
import type { Fleet, Pause, QueueState, SeenMember } from "../../../../src/core/report/fleet.ts";
import { deadLetters } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { PREFIX } from "../../../../src/queue/redis/queues.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aFolder, cli, cliIn, startCli } from "../../../support/cli.ts";
import { FLEET_QUEUES } from "../../../support/queue-names.ts";
import { anAsk, anOrg, aRedis, aWorker, reached, someTriggers } from "../../queue/worker-rig.ts";

// Queues, members and pauses for people.

const fleet = (more: Partial<Fleet>): Fleet => ({ now: 0, queues: [], members: [], paused: [], ...more });
const queue = (more: Partial<QueueState>): QueueState => ({
  ...{ name: "sync", profile: null, waiting: 1, active: 2, delayed: 3, blocked: 4, failed: 5, paused: false },
  oldest_waiting_ms: null,
  ...more,
});
const member = (more: Partial<SeenMember>): SeenMember => ({
  ...{ id: "m", reads: 3, version: "1", host: "box", pid: 7, since: 0, seen_at: 0, in_flight: 2, unable: [] },
  silent_ms: null,
  ...more,
});

/** The lines of a table, without its head. */
const rowsOf = (table: string) =>
  table
    .split("\n")
    .filter((line) => line.startsWith("│"))
    .slice(1);

test("a pause is named with its time where it is known, and its name cannot steer the terminal", () => {
  const paused: Pause[] = [
    { kind: "fleet", name: null, since: 0 },
    { kind: "queue", name: "sync", since: null },
  ];
  expect(renderPauses(fleet({ paused }))).toBe(
    "Paused since 1970-01-01T00:00:00.000Z: the fleet\nPaused: queue sync\n",
  );
  expect(renderPauses(fleet({}))).toBe("");
  expect(pauseName({ kind: "profile", name: "a\u001b[2J" })).not.toContain("\u001b");
});

test("a queue says whether it is paused and how long its oldest job waits, a member for how long it was silent", () => {
  const queues = [queue({}), queue({ name: "deliver", paused: true, oldest_waiting_ms: 90_000 })];
  const [first, second] = rowsOf(renderQueues(fleet({ queues }), 200));
  expect(first).toMatch(/│ sync +│ +1 │ +2 │ +3 │ +5 │ +│/);
  expect(second).toMatch(/│ deliver \(paused\) │ +1 │ +2 │ +3 │ +5 │ +1m 30s │/);
  const members = [member({}), member({ pid: 8, silent_ms: 20_000 })];
  expect(rowsOf(renderMembers(fleet({ members }), 200))).toEqual([
    expect.stringMatching(/│ +7 │ +2 │.*│ now +│$/),
    expect.stringMatching(/│ +8 │ +2 │.*│ silent for 20s │$/),
  ]);
});

const PATIENCE = { timeout: 30_000 };

const aShell = async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const config = org.config(redis);
  const env = {
    DUCKMIRROR_BASE_URL: config.baseUrl ?? "",
    DUCKMIRROR_TOKEN: "test-token",
    DUCKMIRROR_DATA_DIR: org.dataDir,
    REDIS_URL: redis.url,
  };
  const { run, json } = cliIn({ env, cwd: org.dataDir });
  return { ...(await someTriggers(redis, [config])), address: redis, config, env, org, run, json };
};

/** Starts a worker that fails every job of a queue; call the result to stop it. */
const failAll = async (address: { readonly url: string }, queue: string) => {
  const connection = new Redis(address.url, { maxRetriesPerRequest: null });
  const worker = new Worker(queue, () => Promise.reject(new Error("UNEXPECTED: of a test")), {
    connection,
    prefix: PREFIX,
  });
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= worker.close(true).then(() => connection.disconnect());
    return closed;
  };
  afterTest(close);
  return close;
};

/** Failed jobs in a queue. */
const someLetters = async (address: { readonly url: string }, queue: Queue, names: readonly string[]) => {
  await queue.addBulk(names.map((jobId) => ({ name: "request", data: {}, opts: { jobId } })));
  const close = await failAll(address, queue.name);
  await expect.poll(() => queue.getFailedCount(), PATIENCE).toBe(names.length);
  await close();
};

test("pause and resume say what changed, in words and as JSON", async () => {
  const { run, json } = await aShell();
  expect(await run("pause", "--fleet", "--queue", "deliver")).toMatchObject({
    code: 0,
    out: "the fleet is paused\nqueue deliver is paused\n",
  });
  expect((await run("pause", "--fleet")).out).toBe("the fleet was paused already\n");
  expect(await json("pause", "--profile", "default")).toEqual({
    pauses: [{ kind: "profile", name: "default", changed: true }],
    paused: [
      { kind: "fleet", name: null, since: expect.any(Number) },
      { kind: "profile", name: "default", since: expect.any(Number) },
      { kind: "queue", name: "deliver", since: expect.any(Number) },
    ],
    running: 0,
  });
  const { out } = await run("jobs");
  for (const what of ["the fleet", "profile default", "queue deliver"]) {
    expect(out).toMatch(new RegExp(`^Paused since \\d{4}-\\S+: ${what}$`, "m"));
  }
  expect(out).toContain("deliver (paused)");
  expect((await run("resume", "--profile", "default", "--queue", "deliver")).out).toBe(
    "profile default is resumed\nqueue deliver is resumed\n",
  );
  expect(await json("resume", "--fleet")).toMatchObject({ paused: [], resumes: [{ changed: true }] });
  expect((await run("resume", "--fleet")).out).toBe("the fleet was not paused\n");
  const actions = z.array(z.object({ action: z.string(), subject: z.string() })).parse((await json("audit")).actions);
  expect(actions).toContainEqual({ action: "pause", subject: "queue deliver" });
  expect(actions).toContainEqual({ action: "resume", subject: "profile default" });
});

test("a pause needs a target that exists, and Redis", async () => {
  const { run, org } = await aShell();
  expect((await run("pause")).err).toContain("--profile NAME, --queue NAME or --fleet");
  expect((await run("pause", "--profile", "nobody")).err).toContain("nobody");
  const wrong = await run("resume", "--queue", "fetsch");
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("Queues: sync, export")]);
  const env = { DUCKMIRROR_BASE_URL: "https://api.example", DUCKMIRROR_DATA_DIR: org.dataDir };
  const local = await cli(["pause", "--fleet"], { env });
  expect([local.code, local.err]).toEqual([2, expect.stringContaining("needs Redis (REDIS_URL)")]);
  for (const command of ["pause", "resume", "jobs"]) expect((await run(command, "--help")).out).toContain("Examples:");
});

test("without Redis `jobs --failed` says that failed jobs are not kept, and names the command that shows failures", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example", DUCKMIRROR_DATA_DIR: aFolder() };
  const { code, out } = await cli(["jobs", "--failed"], { env });
  expect([code, out]).toEqual([0, expect.stringContaining("`duckmirror status` shows the last runs")]);
});

test("jobs lists all queues, the members and what is paused; --failed stays as it was", async () => {
  const { json, run, address, config } = await aShell();
  const worker = await aWorker(address, [config]);
  expect(await json("jobs", "--failed")).toEqual({ failed: [] });
  const read = () => json("jobs");
  const members = [{ version: "0.0.0", host: "test-host", pid: 1, in_flight: 0 }];
  await expect.poll(read, PATIENCE).toMatchObject({ active: [], failed: [], members, paused: [] });
  const { queues } = await read();
  expect(queues.map(({ name }: { name: string }) => name)).toEqual(FLEET_QUEUES);
  // It does not repeat what the worker warns about.
  const { out, err } = await run("jobs");
  expect([out, err]).toEqual([expect.stringContaining("Nothing is queued or under way.\n"), ""]);
  for (const word of ["oldest waits", "deliver", "last seen", "test-host", "now"]) expect(out).toContain(word);
  // Each table ends its line.
  expect(out).toMatch(/┘\n┌[\s\S]*┘\n$/);
  await worker.stop();
  expect((await run("jobs")).out).toContain("No worker is registered.");
});

test("trigger says that its profile is paused, with and without --wait, and the sync ends after the pause", async () => {
  const { run, env, org, address, config, triggers } = await aShell();
  await aWorker(address, [config]);
  await run("pause", "--profile", "default");
  const asked = await run("trigger", "accounts");
  expect(asked.err).toContain("waits: profile default is paused; `duckmirror resume --profile default` ends the pause");
  const waiting = startCli(["trigger", "accounts", "--wait"], { env, cwd: org.dataDir });
  await expect.poll(() => waiting.said.err, PATIENCE).toContain("is paused");
  expect(await triggers.active()).toMatchObject([{ state: "queued", paused: true }]);
  expect((await run("jobs")).out).toContain("queued, paused");
  await run("resume", "--profile", "default");
  const { code, err } = await waiting.ended;
  expect([code, err.match(/is paused/g)?.length]).toEqual([0, 1]);
  expect((await reached(triggers, asked.out.trim())).state).toBe("done");
});

test("failed jobs are dropped by id, by queue, or all", async () => {
  const { run, json, address, queues, triggers } = await aShell();
  const requests = queues.deliver;
  await someLetters(address, requests, ["r1", "r2", "r3"]);
  expect((await run("jobs", "drop", "r1")).out).toBe("r1 dropped\n");
  const unknown = await run("jobs", "drop", "r2", "r1");
  expect([unknown.code, await requests.getFailedCount()]).toEqual([2, 2]);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts", "signals"] }));
  await failAll(address, queues.sync.name);
  await expect.poll(() => queues.sync.getFailedCount(), PATIENCE).toBe(1);
  expect(await json("jobs", "drop", "--queue", "deliver")).toEqual({
    dropped: expect.arrayContaining([
      { id: "r2", queue: "deliver" },
      { id: "r3", queue: "deliver" },
    ]),
  });
  expect(await json("jobs", "drop", "--all")).toEqual({ dropped: [{ id: runId, queue: "sync" }] });
  expect(await deadLetters(queues)).toEqual([]);
});

test("failed jobs are retried by id, by queue, or all, as --retry does", async () => {
  const { run, json, address, queues } = await aShell();
  await someLetters(address, queues.schedule, ["t1", "t2", "t3", "t4"]);
  expect(await json("jobs", "--retry", "t1")).toEqual({ retried: [{ id: "t1", run_id: null }] });
  expect((await run("jobs", "retry", "t2")).out).toBe("t2 dropped\n");
  expect(await json("jobs", "retry", "--queue", "export")).toEqual({ retried: [] });
  expect((await json("jobs", "retry", "--all")).retried).toHaveLength(2);
  expect((await run("jobs", "retry", "--queue", "fetch")).err).toContain('"fetch" is no queue');
  expect((await run("jobs", "retry")).err).toContain("name failed jobs by id, or by --queue NAME, or --all");
  for (const several of [
    ["x", "--all"],
    ["x", "--queue", "export"],
    ["--all", "--queue", "export"],
  ])
    expect((await run("jobs", "retry", ...several)).err).toContain("name failed jobs by id");
  expect((await run("jobs", "again")).err).toContain('"again" is not retry or drop');
  expect((await run("jobs", "--all")).err).toContain("belong to `jobs retry` and `jobs drop`");
});

test("jobs lists a sync that is over as long as its jobs wait, and not as queued", async () => {
  const { triggers, run, json, address, config } = await aShell();
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"], timeoutMs: 1 }));
  await reached(triggers, runId);
  const shown = await run("jobs");
  expect(shown.out).not.toContain("Nothing is queued");
  expect(shown.out).toContain(`${runId} │ default │ stopped, until a worker takes its jobs │`);
  expect(shown.out).toMatch(/│ sync +│ +1 │/);
  expect(await json("jobs")).toMatchObject({ active: [{ run_id: runId, state: "stopped" }] });
  // It is joined by nobody.
  expect((await triggers.start(anAsk({ streams: ["accounts"] }))).joined).toBe(false);
  await aWorker(address, [config]);
  const open = async () => (await triggers.active()).map((sync) => sync.runId);
  await expect.poll(open, { timeout: 120_000 }).not.toContain(runId);
});
