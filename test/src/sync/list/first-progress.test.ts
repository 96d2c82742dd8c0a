// Where a task begins: which strategy, from which change, and whether its pages share rows.
import { describe, expect, test } from "vitest";
import { type StreamName, streamSpec } from "../../../../src/catalog/streams.ts";
import { overlapMs, overlaps, startProgress } from "../../../../src/sync/list/first-progress.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { idleState } from "../plan/planning-input.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 21);
const aCandidate = (stream: StreamName, more: Partial<Candidate>): Candidate => ({
  stream,
  scope: "",
  mode: "walk",
  overlap: false,
  because: "",
  requests: null,
  worth: 0,
  ...more,
});
const begun = (
  stream: StreamName,
  more: Partial<Candidate>,
  { shape = {}, before }: { readonly shape?: Partial<ListShape>; readonly before?: Partial<ScopeState> } = {},
) =>
  startProgress(
    aCandidate(stream, more),
    streamSpec(stream),
    { ...initialShape(50), ...shape },
    before === undefined ? undefined : idleState({ stream, scope: "", at: NOW }, before),
    true,
  );

describe("changes are read again from some time before the watermark", () => {
  test("an hour where the service writes times, two days where it writes dates", () => {
    expect(overlapMs(streamSpec("accounts"))).toBe(HOUR);
    expect(overlapMs(streamSpec("signals"))).toBe(streamSpec("signals").watermark === "updatedAt" ? HOUR : 48 * HOUR);
    expect(overlapMs({ ...streamSpec("accounts"), watermark: "date" })).toBe(48 * HOUR);
  });

  test.each(["watermark", "filter"] as const)("by the strategy %s; from the beginning without one", (mode) => {
    expect(begun("accounts", { mode }, { before: { watermark: NOW } })).toMatchObject({
      kind: mode,
      since: NOW - HOUR,
    });
    expect(begun("accounts", { mode }, { before: { watermark: null } })).toMatchObject({ since: 0 });
    expect(begun("accounts", { mode })).toMatchObject({ since: 0 });
  });

  test("`--since` asks for exactly its day, and concludes nothing", () => {
    const excerpt = begun("accounts", { mode: "filter", since: 7 }, { before: { watermark: NOW } });
    expect(excerpt).toMatchObject({ since: 7, only: true });
  });
});

test("a walk relies on falling ids only where the list is asked for in their order", () => {
  const [grows] = (["accounts", "contacts", "signals"] as const).filter(
    (stream) => streamSpec(stream).walkOrder?.grows === true,
  );
  if (grows === undefined) throw new Error("no list of growing ids");
  expect(begun(grows, {})).toMatchObject({ kind: "walk", proof: "descending" });
  expect(begun(grows, {}, { shape: { sort: false } })).toMatchObject({ proof: "identity" });
  expect(begun("news_articles", {})).toMatchObject({ proof: "identity", coverage: { size: 50, overlap: true } });
});

test("a log is read to its oldest entry the first time", () => {
  expect(begun("usage", { mode: "log" })).toMatchObject({ kind: "log", first: true, since: null });
  expect(begun("usage", { mode: "log", since: 7 }, { before: {} })).toMatchObject({ first: false, since: 7 });
});

test("a single request has no progress", () => {
  for (const mode of ["on-change", "resolve", "detail", "capture"] as const)
    expect(begun("companies", { mode })).toBeNull();
});

test("pages share rows in a reconciling walk, and where rows could be deleted", () => {
  expect(overlaps(aCandidate("accounts", { overlap: true }), 0)).toBe(true);
  expect(overlaps(aCandidate("accounts", {}), 1)).toBe(true);
  expect(overlaps(aCandidate("accounts", {}), 0)).toBe(false);
});
