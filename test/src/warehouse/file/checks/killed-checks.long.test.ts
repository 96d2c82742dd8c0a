// A kill at any moment of a sync whose rows fail a check: readers keep what they had, and the failing row is named.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { afterTest } from "../../../../support/after-test.ts";
import { cli } from "../../../../support/cli.ts";
import { startFakeServer } from "../../../../support/fake-server.ts";
import { aGuarded, TOO_HIGH } from "./checks-rig.ts";

test("kill -9 at any moment of a sync that checks leaves the snapshot as it was", async () => {
  const { folder, rig, service, sync, set, scores, clock } = await aGuarded({ "too-high.sql": TOO_HIGH });
  await sync();
  set(3, { mainScore: 150 });
  const server = await startFakeServer(service);
  afterTest(() => server.close());
  const program = new URL("../../../../support/sync-child.ts", import.meta.url).pathname;
  const settings = JSON.stringify({ DUCKMIRROR_CHECKS: folder, DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "0B" });
  const start = () => spawn(process.execPath, ["--import", "tsx", program, server.url, rig.dataDir, settings]);
  // The first run reads what is new; each later one checks the same rows again, as those that are killed.
  let took = 0;
  for (const _ of ["reads", "checks"]) {
    const begun = Date.now();
    expect(await once(start(), "exit")).toEqual([0, null]);
    took = Date.now() - begun;
  }
  const shares = [0.4, 0.55, 0.65, 0.75, 0.82, 0.88, 0.94];
  let killed = 0;
  for (let nth = 0; killed < shares.length && nth < 4 * shares.length; nth++) {
    const begun = Date.now();
    const child = start();
    const timer = setTimeout(() => child.kill("SIGKILL"), took * (shares[nth % shares.length] ?? 0));
    const [, signal] = await once(child, "exit");
    clearTimeout(timer);
    if (signal === "SIGKILL") killed += 1;
    // It ended before its kill, since the machine is less busy now.
    else took = Date.now() - begun;
    expect(await scores()).toBe(12);
  }
  expect(killed).toBe(shares.length);
  const named = await cli(["check-data", "--json"], {
    env: { DUCKMIRROR_DATA_DIR: rig.dataDir, DUCKMIRROR_CHECKS: folder },
  });
  expect(JSON.parse(named.out)).toMatchObject({
    checks: [{ check: "too-high", status: "failed", failing: 1, sample: [{ id: 3, main_score: 150 }] }],
  });
  // The killed runs had the clock of the machine. Pages of the last one are believed for ten minutes, and asked for no more.
  await clock.sleep(Math.max(0, Date.now() - clock.now()) + 11 * 60_000);
  set(3, { mainScore: 98 });
  expect(await sync()).toMatchObject({ error: null, isNew: true });
  expect(await scores()).toBe(98);
});
