// Rigs whose first sync is done: it is done once, and each test gets a copy of its mirror and a service of its own that
// remembers what that sync asked for.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { seededRandom } from "./chance.ts";
import type { FakeService } from "./fake-service.ts";
import { hurriedClock, openSyncRig, type SyncRig, startSyncRig } from "./sync-rig.ts";

interface Mirrored {
  readonly dataDir: string;
  readonly log: FakeService["log"];
  /** When the first sync had ended. */
  readonly endedAt: number;
}

export interface MirroredChoice {
  readonly env?: Readonly<Record<string, string>>;
  /** The clock of a rig; `start` is when the first sync had ended, undefined for that sync itself. */
  readonly clock?: (start?: number) => Clock;
}

/**
 * Call it where a test file begins. `aService` makes the service; `log`: requests that it has answered before. Returns
 * a function that starts a rig on a copy of the mirror.
 */
export const useMirrored = (
  aService: (log?: FakeService["log"]) => FakeService,
  { env = {}, clock = () => hurriedClock() }: MirroredChoice = {},
) => {
  let made: Promise<Mirrored> | null = null;
  const syncOnce = async (): Promise<Mirrored> => {
    const service = aService();
    const ticking = clock();
    // Numbers of its own: a run of a copy that starts in the same second would have this run's id, and load nothing.
    const rig = await openSyncRig(service, env, ticking, undefined, seededRandom(2));
    try {
      const { error } = await rig.sync();
      if (error !== null) throw error;
      const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-mirrored-"));
      await cp(rig.dataDir, dataDir, { recursive: true });
      return { dataDir, log: service.log, endedAt: ticking.now() };
    } finally {
      await rig.close();
    }
  };
  afterAll(async () => {
    if (made !== null) await rm((await made).dataDir, { recursive: true, force: true });
  });
  return async (): Promise<{ readonly service: FakeService; readonly rig: SyncRig; readonly clock: Clock }> => {
    made ??= syncOnce();
    const { dataDir, log, endedAt } = await made;
    const service = aService(log);
    const ticking = clock(endedAt);
    const rig = await startSyncRig(service, env, ticking);
    await cp(dataDir, rig.dataDir, { recursive: true });
    return { service, rig, clock: ticking };
  };
};
