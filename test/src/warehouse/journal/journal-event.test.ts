// Entries of the journal that no version writes are refused.
import { expect, test } from "vitest";
import { journalEventSchema } from "../../../../src/warehouse/journal/journal-event.ts";
import { aState } from "../checkpoints.ts";

const commit = (state: object) => ({
  kind: "commit",
  runId: "r",
  rows: [],
  requests: [],
  scopes: [state],
  quota: null,
});

test.each([
  ["a number that is none", { seq: 0, entry: { kind: "feed-started", after: 0, now: 1 } }],
  ["a change that nobody knows", { seq: 1, entry: { kind: "leap" } }],
  [
    "a table that does not exist",
    { seq: 1, entry: { kind: "deleted", runId: "r", table: "podcasts", gone: [], now: 1, walkId: null, scope: null } },
  ],
  ["a stream that does not exist", { seq: 1, entry: commit({ ...aState(), stream: "podcasts" }) }],
])("an entry with %s is refused", (_, event) => {
  expect(journalEventSchema.safeParse(event).success).toBe(false);
});
