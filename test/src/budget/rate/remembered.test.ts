// What one process learned of the limits, the next one knows; a fault of the file harms nothing.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recallLimiter, rememberLimiter } from "../../../../src/budget/rate/learned-limits.ts";
import { observeRate, takeSlot } from "../../../../src/budget/rate/limiter.ts";
import { startLimiter } from "../../../../src/budget/rate/limiter-state.ts";
import { startShared } from "../../../../src/budget/rate/windows.ts";
import { said } from "../../../support/rate-info.ts";
import { dirForFile } from "../../warehouse/temp-dir.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const DAY = 86_400_000;
const dir = dirForFile();

const { state, proof } = takeSlot(startLimiter(60), 0, T0);
const heard = observeRate(
  state,
  said({ limit: 60, windowMs: 60_000 }),
  0,
  T0 + 50,
  { sentAt: T0, answeredAt: T0 + 50 },
  proof,
);
const learned = { burst: 9, window: null, inFlight: 2, isNamed: true, at: T0 };
const shared = { limiter: { ...heard, learned }, flights: [{ by: "a", count: 3, at: T0 }] };

test("limits, refusals and the requests of the last minute come back; nothing is in flight, and the first goes alone", async () => {
  const file = join(dir, "one.json");
  await rememberLimiter(file, "acme", shared);
  const { limiter, flights } = await recallLimiter(file, "acme", T0 + 1_000);
  expect(limiter).toMatchObject({ learned, announced: heard.announced, counts: heard.counts, heardUpTo: -Infinity });
  expect(flights).toEqual([]);
  expect(await readdir(dir)).toEqual(["one.json"]);
});

test("another organization, a week without a request, and a damaged or missing file begin with nothing", async () => {
  const file = join(dir, "two.json");
  await rememberLimiter(file, "acme", shared);
  expect(await recallLimiter(file, "globex", T0)).toEqual(startShared());
  expect(await recallLimiter(file, "acme", T0 + 8 * DAY)).toEqual(startShared());
  await writeFile(file, "{");
  expect(await recallLimiter(file, "acme", T0)).toEqual(startShared());
  expect(await recallLimiter(join(dir, "none.json"), "acme", T0)).toEqual(startShared());
});

test("a rate that nobody names is tried anew after a week; a folder that is gone, and a limiter without a request, write nothing", async () => {
  const file = join(dir, "three.json");
  const slow = { ...shared, limiter: { ...shared.limiter, assumed: 10, steppedAt: T0 - 8 * DAY } };
  await rememberLimiter(file, "acme", slow);
  expect((await recallLimiter(file, "acme", T0)).limiter.assumed).toBe(300);
  await rememberLimiter(join(dir, "gone", "x.json"), "acme", shared);
  await rememberLimiter(join(dir, "unused.json"), "acme", startShared());
  expect(await readdir(dir)).not.toContain("unused.json");
  expect(await readFile(file, "utf8")).toContain('"organization":"acme"');
});
