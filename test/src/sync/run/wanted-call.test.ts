// A list's next request, and what the archive keeps of it.
import { describe, expect, test } from "vitest";
import type { StreamName } from "../../../../src/catalog/streams.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { openList } from "../../../../src/sync/list/state.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { wantedCall, whereOf } from "../../../../src/sync/run/wanted-call.ts";
import { aList } from "./a-list.ts";

const shape: ListShape = { ...initialShape(50), inDefault: ["light"], grants: ["light", "heavy"] };
const options = { view: "default", content: [], rowScope: {}, exclude: [] } as const;
const listOf = (stream: StreamName, more: Partial<Candidate> = {}) => {
  const candidate = { stream, scope: "", mode: "walk", overlap: false } as const;
  return openList({ order: { ...candidate, ...more }, before: undefined, shape, rows: 0, runId: "r", now: 0 });
};
const PAGE = { page: 2, perPage: 50, role: "cover" } as const;
const wanted = (list: ReturnType<typeof listOf>, read: typeof PAGE | null = null) =>
  wantedCall(list, read, shape, options, new Set());

describe("a request for", () => {
  test("a page names its place, and the archive keeps which one it answers", () => {
    const list = listOf("accounts");
    const { call, work, detail } = wanted(list, PAGE);
    expect(call).toMatchObject({ path: "/v1/accounts", query: { page: "2", perPage: "50" } });
    expect([work, detail]).toMatchObject(["walk", { read: PAGE, overlap: false, work: "walk" }]);
    expect(whereOf({ list: aList(), read: PAGE, wanted: wanted(list, PAGE), requests: [] })).toBe(
      "accounts (GET /v1/accounts, page 2)",
    );
  });

  test.each<[string, StreamName, Partial<Candidate>, string]>([
    ["a signal's content", "signals", { mode: "detail", scope: "detail:7" }, "/v1/signals/7"],
    ["an input", "companies", { mode: "resolve", scope: "input:a/b" }, "/v1/companies/by-input/a%2Fb"],
    ["a profile", "companies", { mode: "on-change", scope: "c_1" }, "/v1/companies/c_1"],
    ["counts", "signal_counts", { mode: "capture" }, "/v1/signals/counts"],
    ["limits", "usage", { mode: "capture", scope: "limits" }, "/v1/usage/limits"],
    ["the quota", "usage", { mode: "capture", scope: "usage" }, "/v1/usage"],
  ])("%s has a route of its own and is no page", (_, stream, candidate, path) => {
    const list = listOf(stream, candidate);
    const { call, detail } = wanted(list);
    expect(call.path).toBe(path);
    expect(detail).toMatchObject({ read: null, overlap: null, granted: [] });
    expect(whereOf({ list: aList({ ...candidate, stream }), read: null, wanted: wanted(list), requests: [] })).toBe(
      `${stream} (GET ${path})`,
    );
  });
});

test("what a list grants is archived by the form of its request", () => {
  const plain = wanted(listOf("accounts"), PAGE);
  const named = plain.call.query.onlyWithFields !== undefined;
  expect(plain.detail.granted).toEqual(named ? shape.grants : shape.inDefault);
});
