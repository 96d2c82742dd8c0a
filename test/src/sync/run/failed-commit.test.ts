// A transaction that fails, as on a disk that is full for a moment: the run ends, nothing is committed after it, and the
// next run takes up what was paid for.
import { expect, test } from "vitest";
import { createLedger } from "../../../../src/budget/credits/local-ledger.ts";
import { createThrottle } from "../../../../src/budget/rate/throttle.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { createLocalSender } from "../../../../src/sync/request/turn.ts";
import { runSync } from "../../../../src/sync/run/run-sync.ts";
import { archiveStore } from "../../../../src/warehouse/archive/read-archive.ts";
import { openWarehouse, type Warehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { seededRandom } from "../../../support/chance.ts";
import { createFakeClient, fullAccess, plainRun } from "../../../support/fake-client.ts";
import { anAccount } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

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
