// The cursor that a run stores: the next run resumes there, or starts anew if it cannot read it.
import { expect, test } from "vitest";
import { cursorText, parseCursor } from "../../../../../src/sync/list/ways/progress.ts";
import { startWalk } from "../../../../../src/sync/list/ways/walk.ts";

const cursor = {
  progress: startWalk({ size: 10, overlap: true, proof: "identity" }),
  startedAt: 5,
  readAt: 6,
  newest: 7,
  firstNewest: null,
  firstMirror: true,
  rejected: 1,
  refused: 2,
  forgotten: ["forgotten:x"],
  content: ["fullContent"],
} as const;

test("a stored cursor comes back as it was", () => {
  expect(parseCursor(cursorText({ ...cursor, forgotten: [...cursor.forgotten] }))).toEqual(cursor);
});

test("one of an older version has no misfits, no erased people and no content, and was not read lately", () => {
  const { readAt: _, refused: __, forgotten: ___, content: ____, ...old } = cursor;
  const text = JSON.stringify({ ...old, progress: JSON.parse(cursorText({ ...cursor, forgotten: [] })).progress });
  expect(parseCursor(text)).toEqual({ ...cursor, readAt: 0, refused: 0, forgotten: [], content: [] });
});

test.each([null, undefined, "", "{", "[]", '{"progress":"{}","startedAt":1}'])("%j starts anew", (text) => {
  expect(parseCursor(text)).toBeNull();
});

test("so does one whose strategy is unknown", () => {
  expect(parseCursor(JSON.stringify({ ...cursor, progress: '{"kind":"leap"}' }))).toBeNull();
});
