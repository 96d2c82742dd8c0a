// The cursor that a run stores: the next run resumes there, or starts anew if it cannot read it.
import { expect, test } from "vitest";
import { cursorText, storedCursor } from "../../../../../src/sync/list/ways/progress.ts";
import { startWalk } from "../../../../../src/sync/list/ways/walk.ts";
import { aCursor } from "./readings.ts";

const cursor = aCursor(startWalk({ size: 10, overlap: true, proof: "identity" }));

test("a stored cursor comes back as it was", () => {
  expect(storedCursor(cursorText(cursor))).toEqual(cursor);
});

test.each([
  ...[null, undefined, "", "{", "[]", "null", '{"progress":{},"startedAt":1}'],
  JSON.stringify({ ...cursor, progress: { ...cursor.progress, kind: "leap" } }),
  JSON.stringify({ ...cursor, progress: { ...cursor.progress, coverage: {} } }),
])("%j starts anew", (text) => {
  expect(storedCursor(text)).toBeNull();
});
