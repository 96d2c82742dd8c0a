// Commits: what is written at once, what waits for others, and how long; what can be queried while a mirror is made; a transaction that
// fails, as on a disk that is full for a moment: nothing is committed after it, and the next run takes up what was paid for.
import { expect, test } from "vitest";
import { createLedger } from "../../../../../src/budget/credits/local-ledger.ts";
import { createThrottle } from "../../../../../src/budget/rate/throttle.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { unreadState } from "../../../../../src/sync/list/stored-state.ts";
import { createLocalSender } from "../../../../../src/sync/request/turn.ts";
import { publishFirstResults } from "../../../../../src/sync/run/first-results.ts";
import { runSync } from "../../../../../src/sync/run/run-sync.ts";
import { createCommitter } from "../../../../../src/sync/run/state/committer.ts";
import { archiveStore } from "../../../../../src/warehouse/archive/read-archive.ts";
import { openWarehouse, type Warehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { createFakeClient, fullAccess, plainRun } from "../../../../support/fake-client.ts";
import { anAccount, anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../../support/fake-service.ts";
import { copyMigratedMirror } from "../../../../support/migrated-mirror.ts";
import { standingClock } from "../../../../support/standing-clock.ts";
import { simulatedClock, startSyncRig } from "../../../../support/sync-rig.ts";
import { tempDir } from "../../../warehouse/temp-dir.ts";

const LATER = { loads: [], requests: [], states: [], bytes: 10, canWait: true } as const;
const NOW = { ...LATER, canWait: false } as const;

/** A committer over a warehouse that notes the size of each transaction, in arrivals; of these, the first may fail. */
const rig = (flush: () => Promise<void> = async () => undefined, failsFirst = false) => {
  const clock = standingClock(0);
  const written: number[] = [];
  let flushes = 0;
  let left = 1;
  const committer = createCommitter({
    clock,
    warehouse: {
      commit: async ({ scopes }) => {
        if (failsFirst && left-- === 1) throw new TypeError("no memory");
        written.push(scopes.length);
        return [];
      },
    },
    archive: {
      flush: () => {
        flushes += 1;
        return flush();
      },
    },
    runId: "r1",
    takeQuota: () => null,
  });
  let scope = 0;
  const commit = (arrival: typeof LATER | typeof NOW) =>
    committer.commit({ ...arrival, states: [unreadState("filings", `c${scope++}`, "r1")] });
  return { clock, committer, written, commit, flushes: () => flushes };
};

test("without a rate limit that decides the pace, everything is written at once", async () => {
  const { written, commit } = rig();
  await commit(LATER);
  await commit(LATER);
  expect(written).toEqual([1, 1]);
});

test("while a request waits for its turn, arrivals wait for each other, and one transaction takes them after a second", async () => {
  const { clock, committer, written, commit } = rig();
  committer.setPaced(true);
  const both = Promise.all([commit(LATER), commit(LATER)]);
  await clock.stands((ms) => ms === 1000);
  expect(written).toEqual([]);
  expect(committer.waiting()).toBe(2);
  clock.pass(1000);
  await both;
  expect(written).toEqual([2]);
  expect(committer.waitingBytes()).toBe(0);
});

test("an arrival from which a request follows is written at once, with those that wait", async () => {
  const { clock, committer, written, commit } = rig();
  committer.setPaced(true);
  const first = commit(LATER);
  await Promise.all([first, commit(NOW)]);
  expect(written).toEqual([2]);
  expect(clock.standing()).toEqual([]);
});

test("when no request waits for its turn any more, what waits is written", async () => {
  const { committer, written, commit } = rig();
  committer.setPaced(true);
  const waiting = commit(LATER);
  committer.setPaced(false);
  await waiting;
  expect(written).toEqual([1]);
});

test("a full transaction does not wait", async () => {
  const { committer, written, commit } = rig();
  committer.setPaced(true);
  await Promise.all(Array.from({ length: 256 }, () => commit(LATER)));
  expect(written).toEqual([256]);
});

test("arrivals after a wait get a second of their own", async () => {
  const { clock, committer, written, commit } = rig();
  committer.setPaced(true);
  const first = commit(LATER);
  clock.pass(1000);
  await first;
  const second = commit(LATER);
  await clock.stands((ms) => ms === 1000);
  clock.pass(999);
  expect(clock.standing()).toEqual([1000]);
  clock.pass(1);
  await second;
  expect(written).toEqual([1, 1]);
});

test("an arrival that waits is made durable in the archive before it waits, and a failure of that is its own", async () => {
  const { committer, written, commit, flushes } = rig(() => Promise.reject(new TypeError("no disk")));
  committer.setPaced(true);
  const waiting = commit(LATER);
  expect(flushes()).toBe(1);
  committer.setPaced(false);
  await expect(waiting).rejects.toThrow("no disk");
  expect(written).toEqual([]);
});

test("after a transaction that failed nothing is written, because a later cursor may have passed its rows", async () => {
  const { committer, written, commit } = rig(undefined, true);
  const [failed, behind] = [commit(NOW), commit(NOW)];
  await expect(failed).rejects.toThrow("no memory");
  await expect(behind).rejects.toThrow("no memory");
  await expect(commit(NOW)).rejects.toThrow("no memory");
  expect(written).toEqual([]);
  expect([committer.waiting(), committer.waitingBytes()]).toEqual([0, 0]);
});

const TEN_A_MINUTE = { DUCKMIRROR_RATE_LIMIT: "10" };
const isNews = (event: { readonly kind: string; readonly text?: string }) =>
  event.kind === "note" && event.text?.includes("can be queried already") === true;

const rigOf = async (env: Record<string, string>) => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 3 });
  const rig = await startSyncRig(service, { ...TEN_A_MINUTE, ...env }, simulatedClock());
  return { service, rig };
};

test("during a first mirror the snapshot holds what is there so far, and calls no list complete that is still read", async () => {
  const { service, rig } = await rigOf({});
  const seen: Record<string, unknown>[] = [];
  let hasLooked = false;
  const hold = async () => {
    if (hasLooked || !rig.events.some(isNews)) return;
    hasLooked = true;
    seen.push(
      ...(await rig.rows(
        "SELECT (SELECT count(*) FROM accounts)::INT AS rows, complete FROM marts.freshness WHERE table_name = 'contacts'",
      )),
    );
  };
  service.options = { ...service.options, hold };
  const { report } = await rig.sync({ streams: ["accounts", "contacts"] });
  expect(report.status).toBe("done");
  expect(seen).toHaveLength(1);
  expect(seen[0]?.rows).toBeGreaterThan(0);
  expect(seen[0]?.complete).toBe(false);
  // 30 s, 2, 8 and 32 minutes after its beginning, at most.
  expect(rig.events.filter(isNews).length).toBeLessThanOrEqual(4);

  const before = rig.events.length;
  await rig.sync({ streams: ["accounts"], full: true });
  expect(rig.events.slice(before).filter(isNews)).toEqual([]);
});

test("with a scope, rows outside it are known only at the end, so nothing is published before", async () => {
  const { rig } = await rigOf({ DUCKMIRROR_SCOPE: '{"signals":{"type":["funding"]}}' });
  await rig.sync({ streams: ["accounts", "signals"] });
  expect(rig.events.filter(isNews)).toEqual([]);
});

test("a publish that fails is a warning, and one that is under way is waited for", async () => {
  const clock = simulatedClock(0);
  const events: string[] = [];
  let publishes = 0;
  const committed = [{ inserted: 3, updated: 0, unchanged: 0, rejected: 0 }];
  const warehouse = {
    publish: async () => {
      publishes += 1;
      if (publishes === 1) throw new Error("the disk is full");
    },
  };
  const deps = { warehouse, clock, emit: (event: { kind: string; text?: string }) => events.push(event.text ?? "") };
  const { noteCommit, stop } = publishFirstResults(deps as never, 0);
  for (const ms of [29_000, 1_000, 60_000, 30_000, 1_000]) {
    await clock.sleep(ms);
    noteCommit(committed);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(publishes).toBe(2);
  expect(events).toEqual([
    "the rows so far could not be published: the disk is full",
    "12 rows can be queried already; lists that are still read count as incomplete",
  ]);
  await stop();
  await clock.sleep(10_000_000);
  noteCommit(committed);
  expect(publishes).toBe(2);
});

const ROWS = 30;

/** A warehouse whose `nth` transaction with rows fails. */
const failingOnce = (warehouse: Warehouse, nth: number): Warehouse => {
  let left = nth;
  return {
    ...warehouse,
    commit: async (checkpoint) => {
      if (checkpoint.loads.length > 0 && --left === 0)
        throw new DuckmirrorError("DISK_FULL", { detail: "for a moment" });
      return warehouse.commit(checkpoint);
    },
  };
};

test.each([1, 2])(
  "after transaction %i with rows failed, the next sync takes up every page that was paid for, and the list is complete",
  async (nth) => {
    const data = emptyData();
    for (let id = 1; id <= ROWS; id++) data.accounts.push(anAccount(id));
    const service = createFakeService(data, { maxPerPage: 5 });
    const dataDir = tempDir();
    await copyMigratedMirror(dataDir);
    const clock = simulatedClock();
    const opened = await openWarehouse({ dataDir, clock });
    const sync = (warehouse: Warehouse) => {
      const throttle = createThrottle({ clock, configured: 1_000_000 });
      return runSync(plainRun(["accounts"], { largestPage: 5 }), {
        warehouse,
        archive: archiveStore(opened.archiveDir),
        sender: createLocalSender({ client: createFakeClient(service, clock), throttle, credits: null }),
        tier: fullAccess,
        ledger: createLedger({ clock }),
        clock,
        random: seededRandom(1),
        emit: () => undefined,
        signal: new AbortController().signal,
      });
    };
    try {
      await expect(sync(failingOnce(opened, nth))).rejects.toMatchObject({ code: "DISK_FULL" });
      await clock.sleep(60_000);
      const { report, error } = await sync(opened);
      expect(error).toBeNull();
      expect(report.streams).toMatchObject([{ stream: "accounts", complete: true }]);
      expect(await opened.countRows("accounts")).toBe(ROWS);
      // The last page, by change date, shows that nothing changed meanwhile.
      const pages = service.log
        .filter(({ status, query }) => status === 200 && query.sortBy === "id")
        .map(({ query }) => `${query.page} of ${query.perPage} rows`);
      expect(pages.toSorted()).toEqual([...new Set(pages)].toSorted());
      // The third sync has nothing more to take up: the second one has an end.
      const spent = service.spent();
      await clock.sleep(60_000);
      expect((await sync(opened)).report.streams).toMatchObject([{ inserted: 0, updated: 0 }]);
      expect(service.spent() - spent).toBeLessThanOrEqual(1);
    } finally {
      await opened.close();
    }
  },
);
