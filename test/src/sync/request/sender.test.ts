import { expect, test } from "vitest";
import { type OpenAccess, openOwnAccess } from "../../../../jobs/service-access.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { Sender } from "../../../../src/sync/request/sender.ts";
import { aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { hurriedClock, startSyncRig } from "../../../support/sync-rig.ts";

const service = () =>
  createFakeService(
    { ...emptyData(), signals: Array.from({ length: 60 }, (_, index) => aSignal(index + 1)) },
    { maxPerPage: 10 },
  );

/** The usual way, with some of its parts replaced. */
const through =
  (change: (sender: Sender) => Partial<Sender>): OpenAccess =>
  async (config, context) => {
    const alone = await openOwnAccess(config, context);
    return { ...alone, sender: { ...alone.sender, ...change(alone.sender) } };
  };

test("limits that cannot be asked for end the run with their error, and the next run goes on", async () => {
  const source = service();
  let turns = 0;
  let away = true;
  const connect = through((sender) => ({
    acquire: async (signal) => {
      turns += 1;
      if (away && turns > 4) throw new DuckmirrorError("REDIS_UNAVAILABLE", { detail: "connection refused" });
      return sender.acquire(signal);
    },
  }));
  const rig = await startSyncRig(source, {}, hurriedClock(), connect);
  const first = await rig.sync({ streams: ["signals"] });
  expect(first.error?.code).toBe("REDIS_UNAVAILABLE");
  expect(source.spent()).toBe(first.report.credits.spent);
  away = false;
  const second = await rig.sync({ streams: ["signals"] });
  expect(second.error).toBeNull();
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM signals")).toEqual([{ n: 60 }]);
  // Six pages, each paid for once.
  expect(source.spent()).toBe(6);
});

test("a request that nobody may send costs nothing and ends the run with the reason", async () => {
  const source = service();
  const error = new DuckmirrorError("QUOTA_SPENT", { until: "" });
  const rig = await startSyncRig(
    source,
    {},
    hurriedClock(),
    through(() => ({ send: async () => ({ kind: "denied", error }) })),
  );
  const { error: ended, report } = await rig.sync({ streams: ["signals"] });
  expect(ended?.code).toBe("QUOTA_SPENT");
  expect([report.status, report.requests, report.credits.spent, source.spent()]).toEqual(["stopped", 0, 0, 0]);
});
