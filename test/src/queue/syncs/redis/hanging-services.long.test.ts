// Organizations whose services hang, against a real Redis: nobody waits for them. Shows P37.
import { expect, test } from "vitest";
import { anAsk, anOrg, aRedis, aWorker, reached } from "../../worker-rig.ts";

const ONE_PLACE = { DUCKMIRROR_MAX_SYNCS: "1", DUCKMIRROR_HEADERS_TIMEOUT: "10m", DUCKMIRROR_REQUEST_TIMEOUT: "10m" };

test("two syncs that hang keep neither the only place nor the jobs that a worker may take", async () => {
  const redis = await aRedis();
  const hanging = [await anOrg("hangs"), await anOrg("hangs-too")];
  const well = [await anOrg("first"), await anOrg("second")];
  const releases = hanging.map((org) => org.hold());
  const profiles = [...hanging, ...well].map((org) => org.config(redis, ONE_PLACE));
  const { triggers } = await aWorker(redis, profiles);
  const ask = async (profile: string) => (await triggers.start(anAsk({ profile }))).runId;
  const stuck = [await ask("hangs"), await ask("hangs-too")];
  const others = [await ask("first"), await ask("second")];
  for (const runId of others) expect((await reached(triggers, runId)).state).toBe("done");
  for (const runId of stuck) expect((await triggers.find(runId))?.state).toBe("running");
  for (const release of releases) release();
  for (const runId of stuck) expect((await reached(triggers, runId)).state).toBe("done");
});
