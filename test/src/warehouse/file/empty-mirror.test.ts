// Mirrors that a worker has seen: one that another process made counts within a minute.
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { watchMirrors } from "../../../../src/warehouse/file/empty-mirror.ts";
import { aFolder } from "../../../support/cli.ts";

const DONE = { error: null };

test("a mirror that another process makes is seen within a minute, and missed when it is gone", async () => {
  const folder = aFolder();
  const clock = createManualClock();
  const stop = new AbortController();
  const mirrors = watchMirrors([folder], { clock, signal: stop.signal });
  mkdirSync(join(folder, "state", "archive"), { recursive: true });
  await clock.advance(60_000);
  rmSync(join(folder, "state"), { recursive: true });
  await expect(mirrors.guard(folder, async () => DONE)).rejects.toMatchObject({ code: "MIRROR_GONE", exitCode: 1 });
  mkdirSync(join(folder, "state", "archive"), { recursive: true });
  expect(await mirrors.guard(folder, async () => DONE)).toBe(DONE);
  stop.abort();
});

test("a directory in which no mirror was seen may get its first one", async () => {
  const stop = new AbortController();
  const mirrors = watchMirrors([], { clock: createManualClock(), signal: stop.signal });
  expect(await mirrors.guard(aFolder(), async () => DONE)).toBe(DONE);
  stop.abort();
});

test("a directory that the file system does not show keeps no other mirror from being watched, and is not gone", async () => {
  const [broken, whole] = [aFolder(), aFolder()];
  const clock = createManualClock();
  const stop = new AbortController();
  for (const folder of [broken, whole]) mkdirSync(join(folder, "state", "archive"), { recursive: true });
  const mirrors = watchMirrors([broken, whole], { clock, signal: stop.signal });
  rmSync(join(broken, "state"), { recursive: true });
  // As a volume that is away: it can be neither read nor called missing.
  symlinkSync(join(broken, "state"), join(broken, "state"));
  await clock.advance(60_000);
  expect(await mirrors.guard(broken, async () => DONE)).toBe(DONE);
  rmSync(join(whole, "state"), { recursive: true });
  await expect(mirrors.guard(whole, async () => DONE)).rejects.toMatchObject({ code: "MIRROR_GONE" });
  stop.abort();
});
