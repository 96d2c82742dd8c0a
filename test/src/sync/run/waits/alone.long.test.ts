// Waits of a run in one process, against every end. Shows P26.
import { expect, onTestFinished, test, vi } from "vitest";
import { openOwnAccess } from "../../../../../jobs/service-access.ts";
import { syncJob } from "../../../../../jobs/sync.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import { startLocalWorker } from "../../../../../src/queue/worker/local-worker.ts";
import { openWarehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { aFolder } from "../../../../support/cli.ts";
import { standingClock } from "../../../../support/standing-clock.ts";
import {
  allIsAsked,
  alone,
  configOf,
  contextOf,
  ENDS_WITH_CREDIT,
  type Enter,
  FAST,
  refused,
  runPair,
  SHORT_MS,
  useCompleteMirror,
} from "./pair.ts";

const aMirror = useCompleteMirror();
const between = (least: number, most: number) => (ms: number) => ms >= least && ms <= most;

/** With fewer requests at once than it announces, the second one fills this window. */
const TWO_A_MINUTE = { "ratelimit-limit": "2", "ratelimit-remaining": "1", "ratelimit-reset": "60" };

const BY_CREDIT = "credits of this run";

const ENTER: Readonly<Record<string, Enter>> = {
  turn: alone({}, between(50_000, 61_000), { headers: TWO_A_MINUTE }),
  "Retry-After": alone({ ...FAST, DUCKMIRROR_CONCURRENCY: "2" }, between(1_700_000, 1_801_000), {
    others: refused(429, { "retry-after": "1800" }),
  }),
  backoff: alone({ ...FAST, DUCKMIRROR_CONCURRENCY: "2" }, between(900, 1_000), { others: refused(500) }),
  // These waits have no length.
  "first answer": async ({ clock, url, dataDir, arrived }) => ({
    clock,
    config: configOf(url, dataDir, {}),
    connect: openOwnAccess,
    waits: () => arrived.then(allIsAsked),
  }),
  [BY_CREDIT]: async ({ clock, url, dataDir, arrived, answerFirst }) => {
    answerFirst();
    const config = configOf(url, dataDir, { ...FAST, DUCKMIRROR_MAX_CREDITS: "2" });
    return { clock, config, connect: openOwnAccess, waits: () => arrived.then(allIsAsked) };
  },
};

for (const [wait, enter] of Object.entries(ENTER)) {
  for (const end of [...ENDS_WITH_CREDIT, ...(wait === BY_CREDIT ? (["budget"] as const) : [])]) {
    test(`a run that waits for ${wait} ends at once by ${end}`, async () => runPair(await aMirror(), enter, end));
  }
}

// Others may still ask: here nothing else is left to be asked.
const onTheWire: Enter = async ({ clock, url, dataDir, arrived }) => ({
  clock,
  config: configOf(url, dataDir, { ...FAST, DUCKMIRROR_CONCURRENCY: "1" }),
  connect: openOwnAccess,
  waits: () => arrived,
});

for (const end of ["stop", "signal", "time limit"] as const) {
  test(`an answer on the wire is waited for no longer than the grace after ${end}`, async () =>
    runPair(await aMirror(), onTheWire, end, true));
}

for (const end of ["stop", "signal"] as const) {
  test(`a worker that waits for the writer lock ends that by ${end}`, async () => {
    const dataDir = aFolder();
    const other = await openWarehouse({ dataDir, clock: systemClock });
    onTestFinished(() => other.close());
    const clock = standingClock(SHORT_MS);
    const config = configOf("http://127.0.0.1:9", dataDir, { ...FAST, DUCKMIRROR_SCHEDULE: "off" });
    const worker = startLocalWorker({
      profiles: [config],
      clock,
      random: () => 0.5,
      log: () => undefined,
      run: (profile, request, ends) => syncJob(profile, request, { ...contextOf(clock), ...ends }),
      emit: () => undefined,
    });
    onTestFinished(() => worker.stop());
    const ask = { streams: ["accounts"], full: false, profile: null, idempotencyKey: null };
    const { runId } = await worker.triggers.start(ask);
    await clock.stands((ms) => ms === 2_000);
    if (end === "stop") await worker.triggers.cancel(runId);
    else await worker.stop();
    await vi.waitFor(async () => expect(await worker.triggers.active()).toEqual([]), { timeout: 120_000, interval: 5 });
    expect((await worker.triggers.find(runId))?.state).toBe("cancelled");
  });
}
