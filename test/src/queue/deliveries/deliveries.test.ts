// Deliveries that follow syncs of a worker, with and without Redis: a destination that is away holds up no sync, is tried
// again, and gets the newest snapshot in one step.

import { expect, test, vi } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { deliveryStates } from "../../../../src/deliver/delivery-results.ts";
import { deadLetters, retryDeadLetter } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { createLocalDeliveries } from "../../../../src/queue/deliveries/local.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";
import { emptyCopy, mapDestination } from "../../deliver/copies.ts";
import { aFleet, aLocalWorker, anOrg, aWorker, someTriggers, synced } from "../worker-rig.ts";

const DESTINATIONS = { DUCKMIRROR_DESTINATIONS: '[{"name":"copy","kind":"parquet","url":"somewhere"}]' };
const away = () => new DuckmirrorError("DESTINATION_AWAY", { name: "copy", detail: "no route" });
const refused = () => new DuckmirrorError("DESTINATION_OTHER_MIRROR", { name: "copy", detail: "another one" });

/** A destination that fails while `fault` says so. */
const aDestination = () => {
  const copy = emptyCopy();
  const state: { fault: (() => Error) | null; attempts: number } = { fault: null, attempts: 0 };
  const open = async () =>
    mapDestination(copy, () => {
      state.attempts += 1;
      if (state.fault !== null) throw state.fault();
    });
  return { copy, state, open };
};

const until = (met: () => void | Promise<void>) => vi.waitFor(met, { timeout: 60_000, interval: 25 });

test("without Redis: a destination that is away is tried again, later each time, and gets the newest snapshot", async () => {
  const org = await anOrg();
  const { copy, state, open } = aDestination();
  const config = org.config(null, DESTINATIONS);
  const worker = aLocalWorker([config], { open });
  expect((await synced(worker.triggers, { streams: ["accounts"] })).state).toBe("done");
  await until(() => expect(copy.position).not.toBeNull());
  expect(copy.tables.get("accounts")?.size).toBe(3);

  const logged: string[] = [];
  const clock = simulatedClock();
  const startedAt = clock.now();
  const log = (level: string, text: string) => void logged.push(`${level} ${text}`);
  const deliveries = createLocalDeliveries({ clock, log, open });
  copy.position = null;
  state.attempts = 0;
  state.fault = () => {
    if (state.attempts === 2) state.fault = null;
    else deliveries.ask(config);
    return away();
  };
  deliveries.ask(config);
  await until(() => expect(copy.position).not.toBeNull());
  expect(state.attempts).toBe(3);
  expect(clock.now() - startedAt).toBe(30_000);
  await until(() => expect(logged).toHaveLength(3));
  expect(logged.map((line) => line.split(":")[0])).toEqual([
    "warn delivery to copy",
    "warn delivery to copy",
    "info delivered to copy",
  ]);

  // What only a change of configuration mends is tried once, anything else ten times.
  for (const [fault, attempts] of [[refused, 1] as const, [away, 10] as const]) {
    state.attempts = 0;
    state.fault = fault;
    deliveries.ask(config);
    await until(() => expect(logged.at(-1)).toMatch(/^error/));
    expect(state.attempts).toBe(attempts);
    const [{ note } = { note: null }] = await deliveryStates(config);
    expect(note?.failing).toMatchObject({ code: fault().code, givenUp: true });
    logged.push("done");
    await new Promise((resolve) => setImmediate(resolve));
  }
  await deliveries.stop();
});

test("with Redis: a destination that is away holds up no sync and gets the newest snapshot when it is back", async () => {
  const { redis, profiles } = await aFleet(DESTINATIONS);
  const { copy, state, open } = aDestination();
  const worker = await aWorker(redis, profiles, { open, times: { deliveryWait: 150 } });
  state.fault = away;
  for (let sync = 0; sync < 2; sync += 1) {
    expect((await synced(worker.triggers, { streams: ["accounts"], full: true })).state).toBe("done");
  }
  const { queues } = await someTriggers(redis, profiles);
  await until(() => expect(state.attempts).toBeGreaterThan(0));
  const { waiting = 0, delayed = 0, active = 0 } = await queues.deliver.getJobCounts("waiting", "delayed", "active");
  expect(waiting + delayed + active).toBeLessThanOrEqual(2);
  state.fault = null;
  await until(() => expect(copy.tables.get("accounts")?.size).toBe(3));
  expect(await deadLetters(queues)).toEqual([]);
});

test("with Redis: a delivery that is refused is a dead letter, which can be retried", async () => {
  const { redis, org, profiles } = await aFleet(DESTINATIONS);
  const { copy, state, open } = aDestination();
  const worker = await aWorker(redis, profiles, { open });
  state.fault = refused;
  const { state: ended, runId } = await synced(worker.triggers, { streams: ["accounts"] });
  expect(ended).toBe("done");
  const { queues, triggers } = await someTriggers(redis, profiles);
  await until(async () =>
    expect(await deadLetters(queues)).toMatchObject([
      { queue: "deliver", name: "deliver", runId, problem: { code: "DESTINATION_OTHER_MIRROR" } },
    ]),
  );
  expect(state.attempts).toBe(1);
  const failing = async () => (await deliveryStates(org.config(redis, DESTINATIONS)))[0]?.note?.failing;
  expect(await failing()).toMatchObject({ code: "DESTINATION_OTHER_MIRROR", attempts: 1, givenUp: true });
  state.fault = null;
  const [letter] = await deadLetters(queues);
  expect(await retryDeadLetter(queues, triggers, letter?.id ?? "")).toBeNull();
  await until(() => expect(copy.position).not.toBeNull());
  await until(async () => expect(await failing()).toBeNull());
  expect(await deadLetters(queues)).toEqual([]);
});
