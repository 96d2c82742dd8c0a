// The search for the largest page: refusals are free, and one answer ends it.
import { expect, test } from "vitest";
import {
  type Probe,
  pageShownBy,
  probeAfterRefusal,
  probeOf,
  probeQuery,
} from "../../../../src/sync/request/page-probe.ts";

/** Sizes asked for until `refuses` lets one pass, or the search gives up (null). */
const sizesAsked = (refuses: (size: number) => string | null, status = 400): readonly (number | null)[] => {
  const asked: (number | null)[] = [];
  for (let probe: Probe | null = probeOf(1000); probe !== null; ) {
    asked.push(probe.size);
    const excerpt: string | null = probe.size === null ? null : refuses(probe.size);
    probe = excerpt === null ? null : probeAfterRefusal(probe, status, excerpt);
  }
  return asked;
};

test("a refusal that names the largest page is believed at once", () => {
  expect(sizesAsked((size) => (size > 250 ? "perPage must be at most 250" : null))).toEqual([1000, 250]);
});

test("without a hint the sizes fall until one is granted", () => {
  const asked = sizesAsked((size) => (size > 100 ? "invalid request" : null));
  expect(asked.at(-1)).toBe(100);
  expect(asked).toEqual([...asked].sort((a, b) => Number(b) - Number(a)));
});

test.each<[string, number, string]>([
  ["a page that is too large to be carried", 413, ""],
  ["a failure of the service", 503, ""],
  ["a refusal of the choice of fields", 400, "unknown parameter onlyWithFields"],
])("%s ends in a request without either", (_, status, excerpt) => {
  const next = probeAfterRefusal(probeOf(1000), status, excerpt);
  expect(next).toEqual({ size: null, refusals: 1, filters: null });
  expect(next === null ? null : probeQuery(next)).toEqual({ perPage: "1" });
});

test("a service that refuses every size is asked a limited number of times", () => {
  const asked = sizesAsked(() => "invalid request");
  expect(asked.at(-1)).toBeNull();
  expect(asked.length).toBeLessThanOrEqual(13);
});

test("filters are dropped where they may be at fault, and a status that says nothing about the page ends the search", () => {
  const probe = probeOf(1000, { type: "customer" });
  expect(probeQuery(probe)).toEqual({ perPage: "1000", onlyWithFields: "id", type: "customer" });
  expect(probeAfterRefusal(probe, 400, "unknown filter type")).toEqual({ size: 1000, refusals: 1, filters: null });
  expect(probeAfterRefusal({ ...probe, size: null }, 422, "")).toEqual({ size: null, refusals: 1, filters: null });
  expect(probeAfterRefusal({ ...probe, size: null, filters: null }, 422, "")).toBeNull();
  expect(probeAfterRefusal(probe, 401, "")).toBeNull();
});

test("the rows of an answer are believed over its figures", () => {
  const page = (perPage: number | null, totalCount: number | null) => ({
    page: 1,
    perPage,
    totalCount,
    totalPages: null,
  });
  const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(1000, 5000) })).toBe(100);
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(250, 100) })).toBe(250);
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(null, null) })).toBe(1000);
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(2000, 100) })).toBe(1000);
  expect(pageShownBy({ ...probeOf(1000), size: null }, { data: rows(1), page: page(1, 9) })).toBeNull();
});
