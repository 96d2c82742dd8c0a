// Entries of journals that older versions wrote are read, with what they could not say filled in.
import { describe, expect, test } from "vitest";
import { journalEventSchema } from "../../../../src/warehouse/journal/journal-event.ts";
import { aState } from "../checkpoints.ts";

const parsed = (entry: object) => journalEventSchema.safeParse({ seq: 1, entry });
const commit = (state: object) => ({
  kind: "commit",
  runId: "r",
  rows: [],
  requests: [],
  scopes: [state],
  quota: null,
});
const verdictOf = (state: object) => {
  const event = parsed(commit(state));
  return event.success && event.data.entry.kind === "commit" ? event.data.entry.scopes[0]?.unconfirmed : event.error;
};

describe("the verdict on a list", () => {
  const { unconfirmed: _, ...old } = aState({ status: "idle", rowsAtWalk: null, totalCount: 12 });

  test("is what the entry says", () => {
    expect(verdictOf({ ...old, unconfirmed: null })).toBeNull();
    expect(verdictOf({ ...old, unconfirmed: { rows: 2, because: "x" } })).toEqual({ rows: 2, because: "x" });
  });

  test("of an older entry follows from the missing row count", () => {
    expect(verdictOf(old)).toEqual({ rows: 0, because: "the last complete walk of 12 rows did not add up" });
    expect(verdictOf({ ...old, totalCount: null })).toMatchObject({
      because: expect.stringContaining("walk of all rows"),
    });
  });

  test("is none where rows were counted, while a list is read, and for a log, which never has a count", () => {
    expect(verdictOf({ ...old, rowsAtWalk: 12 })).toBeNull();
    expect(verdictOf({ ...old, status: "walking" })).toBeNull();
    expect(verdictOf({ ...old, stream: "usage" })).toBeNull();
  });
});

test.each<[string, object, object]>([
  [
    "a run's end has no number of a change",
    { kind: "run-finished", runId: "r", status: "done", finishedAt: 1, summary: {}, error: null },
    { changes: null },
  ],
  ["an erasure names no changes", { kind: "forgotten", hashes: ["h"], rows: 1, now: 1 }, { changes: [], deleted: [] }],
  ["keys of a walk were dropped", { kind: "walk-forgotten", walkId: "w" }, { walkId: "w" }],
])("in an older journal %s", (_, entry, more) => {
  expect(parsed(entry).data?.entry).toMatchObject(more);
});

test.each([
  ["a number that is none", { seq: 0, entry: { kind: "walk-forgotten", walkId: "w" } }],
  ["a change that nobody knows", { seq: 1, entry: { kind: "leap" } }],
  [
    "a table that does not exist",
    { seq: 1, entry: { kind: "deleted", runId: "r", table: "podcasts", gone: [], now: 1, walkId: null, scope: null } },
  ],
  ["a stream that does not exist", { seq: 1, entry: commit({ ...aState(), stream: "podcasts" }) }],
])("an entry with %s is refused", (_, event) => {
  expect(journalEventSchema.safeParse(event).success).toBe(false);
});
