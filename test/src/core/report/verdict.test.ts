// The verdict: the first sentence says what matters most, its level never hides a failure, and the step says what to do.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Judged, type JudgedStream, verdictOf } from "../../../../src/core/report/verdict.ts";

const NOW = Date.UTC(2026, 10, 27, 14, 10);
const RESET = Date.UTC(2026, 11, 1);
const aStream = (stream: string, more: Partial<JudgedStream> = {}): JudgedStream => ({
  stream,
  complete: true,
  failed: 0,
  oldestCheckAt: NOW - 300_000,
  dueAt: NOW + 3_600_000,
  ...more,
});
const judge = (more: Partial<Judged> = {}) =>
  verdictOf({
    streams: [aStream("accounts"), aStream("contacts")],
    credits: { remaining: 99_822, resetsAt: RESET, emptyOn: null },
    lastRun: { status: "done", error: null },
    nextSyncAt: null,
    now: NOW,
    ...more,
  });

test("complete, current, credits last: good, with the time, the next sync and the credits", () => {
  expect(judge({ nextSyncAt: Date.UTC(2026, 10, 27, 17, 17) })).toEqual({
    level: "good",
    text: "Complete and current as of 2026-11-27 14:05 UTC. Next sync 2026-11-27 17:17 UTC. Credits last until the reset on 2026-12-01 00:00 UTC (99,822 left).",
    step: null,
  });
});

test("out of credits with unread lists: never green, and it says until when and what is missing", () => {
  const streams = [
    aStream("accounts"),
    aStream("contacts", { complete: false }),
    aStream("signals", { complete: false, oldestCheckAt: null }),
  ];
  expect(judge({ streams, credits: { remaining: 0, resetsAt: RESET, emptyOn: "2026-11-27" } })).toEqual({
    level: "warning",
    text: "Out of credits until 2026-12-01 00:00 UTC. 2 of 3 lists are incomplete: contacts, signals.",
    step: "After the reset, the next sync goes on where it stopped; `duckmirror plan` shows what is missing.",
  });
});

test("failures and a failed run are bad; credits that end, old lists and open ones are a warning; nothing yet is none", () => {
  expect(judge({ streams: [aStream("accounts", { failed: 2 })] }).level).toBe("bad");
  expect(judge({ lastRun: { status: "failed", error: "UNAUTHORIZED" } })).toMatchObject({
    level: "bad",
    text: expect.stringMatching(/^The last run failed \(UNAUTHORIZED\)\. Complete/),
  });
  expect(judge({ credits: { remaining: 5, resetsAt: RESET, emptyOn: "2026-11-28" } })).toMatchObject({
    level: "warning",
    text: expect.stringContaining("At this pace the credits end on 2026-11-28 (5 left)."),
  });
  expect(judge({ streams: [aStream("accounts", { dueAt: NOW - 1 })] })).toMatchObject({
    level: "warning",
    text: expect.stringContaining("but older than configured: accounts."),
  });
  expect(judge({ streams: [aStream("accounts", { oldestCheckAt: null, complete: false })], lastRun: null }).level).toBe(
    "none",
  );
});

test("a reset that has passed makes old figures of credits no reason for anything", () => {
  expect(judge({ credits: { remaining: 0, resetsAt: NOW - 1, emptyOn: null } })).toMatchObject({ level: "good" });
});

test("green is only said where every list is complete and in time, nothing failed and credits are left", () => {
  const stream = fc.record({
    stream: fc.constantFrom("accounts", "signals"),
    complete: fc.boolean(),
    failed: fc.constantFrom(0, 0, 1),
    oldestCheckAt: fc.constantFrom(null, NOW - 1),
    dueAt: fc.constantFrom(null, NOW - 1, NOW + 1),
  });
  const credits = fc.option(
    fc.record({
      remaining: fc.constantFrom(0, 5),
      resetsAt: fc.constantFrom(null, RESET),
      emptyOn: fc.constantFrom(null, "x"),
    }),
  );
  const lastRun = fc.option(
    fc.record({ status: fc.constantFrom("done", "failed", "stopped"), error: fc.constant(null) }),
  );
  fc.assert(
    fc.property(fc.array(stream, { maxLength: 4 }), credits, lastRun, (streams, creditsNow, run) => {
      const { level, text, step } = judge({ streams, credits: creditsNow, lastRun: run });
      const isFine =
        streams.every((one) => one.complete && one.failed === 0 && (one.dueAt === null || one.dueAt >= NOW)) &&
        run?.status !== "failed" &&
        (creditsNow === null || (creditsNow.remaining > 0 && creditsNow.emptyOn === null));
      expect(level === "good").toBe(isFine && level !== "none");
      expect(text).toMatch(/\.$/);
      if (level === "bad" || level === "none") expect(step).not.toBeNull();
    }),
  );
});

test("a verification that found differences is a warning with their number, and the step corrects them", () => {
  const lastRun = { status: "done", error: "VERIFY_DIFFERS", differences: 291 };
  expect(judge({ lastRun })).toMatchObject({
    level: "warning",
    text: expect.stringMatching(/^The last verification found 291 differences\. Complete/),
    step: "`duckmirror verify --repair` corrects them.",
  });
  expect(judge({ lastRun: { status: "done", error: "VERIFY_DIFFERS" } }).text).toMatch(/found differences\./);
});
