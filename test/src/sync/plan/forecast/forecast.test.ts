// The forecast of a plan: what is due, what follows, and how far both may be wrong.
import { describe, expect, test } from "vitest";
import { initialShape } from "../../../../../src/sync/list/form.ts";
import type { Candidate, DueOptions } from "../../../../../src/sync/plan/candidate.ts";
import { forecastJson, forecastOf, isRange } from "../../../../../src/sync/plan/forecast/forecast.ts";
import { contextOf, due } from "../planning-input.ts";

const NOW = Date.UTC(2026, 10, 21);
const aCandidate = (more: Partial<Candidate>) =>
  due("filings", "walk", { scope: "c_1", because: "never synced", ...more });
const settled = { ...initialShape(50), settled: true };
const forecast = (candidates: readonly Candidate[], options: Partial<DueOptions> = {}) =>
  forecastOf(contextOf(NOW, [], { streams: ["filings"], ...options }), candidates);
const known = { shapes: new Map([["filings", settled]] as const) };

test("requests are added up per stream, and reasons by their number", () => {
  const { streams, requests } = forecast(
    [
      aCandidate({ requests: 2 }),
      aCandidate({ scope: "c_2", because: "older than 7 days" }),
      aCandidate({ scope: "c_3" }),
      aCandidate({ stream: "companies", mode: "on-change" }),
    ],
    known,
  );
  expect(requests).toBe(5);
  expect(streams).toMatchObject([
    {
      stream: "filings",
      scopes: 3,
      lists: 3,
      due: 4,
      because: [
        { reason: "never synced", scopes: 2 },
        { reason: "older than 7 days", scopes: 1 },
      ],
    },
    { stream: "companies", lists: 0, due: 1 },
  ]);
});

describe("a forecast is a range", () => {
  test("if a list has an unknown length", () => {
    const found = forecast([aCandidate({ requests: null })], known);
    expect(found).toMatchObject({ requests: 1, atLeast: true, unknown: ["filings"] });
    expect(isRange(found)).toBe(true);
  });

  test("if no answer has shown the size of a page: by pages of twenty it may be five times as much", () => {
    const walk = aCandidate({ stream: "accounts", scope: "", requests: 2 });
    const totals = new Map([["accounts", 200]]);
    expect(forecast([walk], { streams: ["accounts"], totals })).toMatchObject({ requests: 2, most: 10 });
    const shapes = new Map([["accounts", { ...initialShape(100), settled: true }]] as const);
    expect(forecast([walk], { streams: ["accounts"], totals, shapes })).toMatchObject({ requests: 2, most: 2 });
  });

  test("else not", () => {
    expect(isRange(forecast([aCandidate({})], known))).toBe(false);
  });
});

test("nothing due is a forecast of nothing", () => {
  expect(forecast([])).toMatchObject({ streams: [], requests: 0, most: 0, atLeast: false });
});

test("it is stored with what the run is expected to spend within its allowance", () => {
  const found = forecast([aCandidate({ requests: 9 })], known);
  expect(forecastJson(found, 5)).toMatchObject({ credits: 5, requests: 9, atLeast: false, days: {} });
  expect(forecastJson(found, null)).toMatchObject({ credits: 9 });
});
