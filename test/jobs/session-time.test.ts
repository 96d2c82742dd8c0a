// Time limits of a session.
import { expect, test } from "vitest";
import { createManualClock } from "../../bench/rates/manual-clock.ts";
import { endAfter, endAtDeadline, hardAfter } from "../../jobs/session.ts";

const aSession = () => {
  const [over, ended] = [new AbortController(), new AbortController()];
  return { clock: createManualClock(0), over, ended };
};
const spent = { code: "DURATION_SPENT" };

test("a run's limit ends the session, and nothing does after its own end or without a limit", async () => {
  const { clock, over, ended } = aSession();
  endAfter(over, 1000, ended.signal, clock);
  await clock.advance(999);
  expect(over.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(over.signal.reason).toMatchObject(spent);
  const other = aSession();
  endAfter(other.over, 1000, other.ended.signal, other.clock);
  endAfter(other.over, null, other.ended.signal, other.clock);
  other.ended.abort();
  await other.clock.advance(5000);
  expect(other.over.signal.aborted).toBe(false);
});

test("unfinished requests have a grace period, unless the run ends first", async () => {
  const { clock, over, ended } = aSession();
  const hard = hardAfter(over.signal, ended.signal, 6000, clock);
  await clock.advance(10_000);
  over.abort();
  await clock.advance(5_999);
  expect(hard.aborted).toBe(false);
  await clock.advance(1);
  expect(hard.reason).toMatchObject({ code: "INTERRUPTED" });
  const other = aSession();
  const never = hardAfter(other.over.signal, other.ended.signal, 6000, other.clock);
  other.over.abort();
  other.ended.abort();
  await other.clock.advance(10_000);
  expect(never.aborted).toBe(false);
});

/** Ends at the deadline, which reads these times left, one after the other. */
const deadline = (leftMs: number | null, ...later: (number | null | "never" | "away")[]) => {
  const { clock, over, ended } = aSession();
  const readLeftMs = () => {
    const next = later.shift() ?? null;
    if (next === "away") return Promise.reject(new Error("Redis is away"));
    return next === "never" ? new Promise<never>(() => undefined) : Promise.resolve(next);
  };
  void endAtDeadline(over, { leftMs, readLeftMs }, ended.signal, clock);
  return { clock, over };
};

test("a deadline that another request extended is waited for again", async () => {
  const { clock, over } = deadline(1000, 500, 0);
  await clock.advance(1499);
  expect(over.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(over.signal.reason).toMatchObject(spent);
});

test("a deadline that was lifted ends nothing", async () => {
  const { clock, over } = deadline(1000, null);
  await clock.advance(10_000);
  expect(over.signal.aborted).toBe(false);
});

test.each(["away", "never"] as const)(
  "where the deadline cannot be read again (%s), the session ends within a second",
  async (how) => {
    const { clock, over } = deadline(1000, how);
    await clock.advance(2000);
    expect(over.signal.reason).toMatchObject(spent);
  },
);
