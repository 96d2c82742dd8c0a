// An archived response becomes the same rows as when it was received, also if an older version archived it.
import { describe, expect, test } from "vitest";
import { archivedLoads, isEndpoint, parseArchived } from "../../../../src/sync/recovery/archived-answer.ts";
import type { ArchiveHeader } from "../../../../src/warehouse/archive/archive.ts";

const T0 = Date.UTC(2026, 0, 1);
const aHeader = (more: Partial<ArchiveHeader> = {}): ArchiveHeader => ({
  requestId: "q1",
  runId: "r",
  stream: "signals",
  scope: "",
  walkId: "w",
  endpoint: "listSignals",
  url: "/v1/signals?page=2&perPage=5",
  detail: null,
  sentAt: T0,
  receivedAt: T0 + 5,
  status: 200,
  bytes: 0,
  ...more,
});
const BODY = Buffer.from('{"data":[{"id":9007199254740993}],"meta":{}}');

describe("a response in the archive", () => {
  test("is parsed with its query and with every digit of its ids", () => {
    const answer = parseArchived(aHeader(), BODY);
    expect(answer).toMatchObject({ stream: "signals", endpoint: "listSignals", query: { page: "2", perPage: "5" } });
    expect(answer?.envelope.data).toEqual([{ id: 9007199254740993n }]);
  });

  test("says what its request was for", () => {
    const read = { page: 2, perPage: 5, role: "bridge" } as const;
    const detail = { read, overlap: true, granted: ["a"], along: ["b"], work: "walk" };
    expect(parseArchived(aHeader({ detail }), BODY)).toMatchObject(detail);
  });

  test("of an older version says nothing of what it lacks", () => {
    const unsaid = { granted: [], along: null, work: null };
    const detail = { read: null, overlap: null };
    expect(parseArchived(aHeader({ detail }), BODY)).toMatchObject({ ...detail, ...unsaid });
    expect(parseArchived(aHeader({ detail: "?" }), BODY)).toMatchObject({ read: null, overlap: null, ...unsaid });
  });

  test.each<[string, Partial<ArchiveHeader>, string]>([
    ["that is no envelope", {}, "<html>"],
    ["that is cut off", {}, '{"data":['],
    ["of a route that does not exist", { endpoint: "toString" }, BODY.toString()],
    ["of a stream that does not exist", { stream: "podcasts" }, BODY.toString()],
  ])("%s is left out", (_, header, body) => {
    expect(parseArchived(aHeader(header), Buffer.from(body))).toBeNull();
  });
});

test("a name that every object has is no endpoint", () => {
  expect(["listSignals", "constructor", ""].map(isEndpoint)).toEqual([true, false, false]);
});

test("its rows belong to the walk that the caller names, and are as old as the response", () => {
  const answer = parseArchived(aHeader(), BODY);
  if (answer === null) throw new Error("not parsed");
  expect(archivedLoads(answer, "w2")).toMatchObject([
    { table: "signals", requestId: "q1", walkId: "w2", receivedAt: T0 + 5, records: [{ id: 9007199254740993n }] },
  ]);
});
