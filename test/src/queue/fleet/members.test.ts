// The register of the fleet: who works here, and since when a member gave no sign of life.
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { asSeen } from "../../../../src/core/report/fleet.ts";
import { joinFleet, readMembers } from "../../../../src/queue/fleet/fleet.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anAsk, anAskedFleet, aWorker, reached } from "../worker-rig.ts";

const PATIENCE = { timeout: 30_000 };
const identity = { version: "1.2.3", host: "night", pid: 42 } as const;

test("workers register with version, host and pid, and leave when they stop", async () => {
  const { address, profiles, redis: client } = await anAskedFleet();
  const worker = await aWorker(address, profiles, { identity });
  const other = await aWorker(address, profiles);
  await expect.poll(() => readMembers(client), PATIENCE).toHaveLength(2);
  const members = await readMembers(client);
  expect(members).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...identity, in_flight: 0 }),
      expect.objectContaining({ version: "0.0.0", host: "test-host", in_flight: 0 }),
    ]),
  );
  for (const { since, seen_at } of members) expect(seen_at).toBeGreaterThanOrEqual(since);
  await other.stop();
  await worker.stop();
  expect(await readMembers(client)).toEqual([]);
});

test("a worker reports how many syncs it runs", async () => {
  const { address, org, profiles, redis: client } = await anAskedFleet();
  const release = org.hold();
  const worker = await aWorker(address, profiles, { times: { memberRenewal: 50 } });
  const { runId } = await worker.triggers.start(anAsk({ streams: ["accounts"] }));
  const inFlight = async () => (await readMembers(client)).map(({ in_flight }) => in_flight);
  await expect.poll(inFlight, PATIENCE).toEqual([1]);
  release();
  await reached(worker.triggers, runId);
  await expect.poll(inFlight, PATIENCE).toEqual([0]);
});

test("a killed member keeps its last sign of life until its entry expires by itself", async () => {
  const { redis: client } = await anAskedFleet();
  const deps = { redis: client, clock: systemClock, identity, inFlight: () => 0, onError: () => undefined };
  const leaveKilled = joinFleet({ ...deps, id: "killed", renewMs: 600_000, lastsMs: 1_500 });
  const leaveLive = joinFleet({ ...deps, id: "live", renewMs: 50, lastsMs: 1_500 });
  afterTest(() => Promise.all([leaveKilled(), leaveLive()]));
  const silenceBetween = async () => {
    const members = await readMembers(client);
    const [killed, live] = ["killed", "live"].map((id) => members.find((member) => member.id === id));
    return killed === undefined || live === undefined ? null : live.seen_at - killed.seen_at;
  };
  await expect.poll(silenceBetween, PATIENCE).toBeGreaterThan(500);
  const ids = async () => (await readMembers(client)).map(({ id }) => id);
  await expect.poll(ids, PATIENCE).toEqual(["live"]);
  expect(await client.smembers("{duckmirror}:members")).toEqual(["live"]);
});

test("a member is silent after three missed renewals", () => {
  const member = { ...identity, id: "m", reads: 3, since: 0, seen_at: 1_000, in_flight: 0, unable: [] };
  expect([16_000, 16_001].map((now) => asSeen(member, now).silent_ms)).toEqual([null, 15_001]);
});

test("members register again after Redis was emptied; an entry that cannot be read is left out", async () => {
  const { address, profiles, redis: client } = await anAskedFleet();
  await aWorker(address, profiles, { identity, times: { memberRenewal: 50 } });
  await expect.poll(() => readMembers(client), PATIENCE).toHaveLength(1);
  await client.flushall();
  await client.set("{duckmirror}:member:strange", "{", "PX", 60_000);
  await client.sadd("{duckmirror}:members", "strange");
  await expect.poll(() => readMembers(client), PATIENCE).toMatchObject([identity]);
});
