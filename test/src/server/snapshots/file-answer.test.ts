// What a request for a file gets, by its conditions and its range.
import { expect, test } from "vitest";
import { fileAnswer } from "../../../../src/server/snapshots/snapshot-routes.ts";

const FILE = { etag: '"a-1"', size: 100 };
const get = (asked: Record<string, string> = {}) => fileAnswer("GET", asked, FILE);
const WHOLE = { status: 200, start: 0, end: 100 };

test.each([
  ["bytes=0-9", 0, 10],
  ["bytes=90-", 90, 100],
  ["bytes=-10", 90, 100],
  ["bytes=-1000", 0, 100],
  ["bytes=90-1000", 90, 100],
  ["bytes=99-99", 99, 100],
])("%s is the part from %i to %i", (range, start, end) => {
  expect(get({ range })).toEqual({ status: 206, start, end });
});

test.each(["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999-"])(
  "%s is beyond the file",
  (range) => {
    expect(get({ range })).toEqual({ status: 416 });
  },
);

test.each(["bytes=0-1,5-6", "bytes=5-4", "bytes=-", "lines=1-2", "bytes=a-b", ""])(
  "the range %j is ignored, so the whole file comes",
  (range) => {
    expect(get({ range })).toEqual(WHOLE);
  },
);

test("HEAD takes no range", () => {
  expect(fileAnswer("HEAD", { range: "bytes=0-9" }, FILE)).toEqual(WHOLE);
});

test("If-Range keeps the range for the same strong tag only", () => {
  const range = "bytes=0-9";
  expect(get({ range, "if-range": '"a-1"' }).status).toBe(206);
  for (const other of ['"b"', 'W/"a-1"', "Fri, 27 Nov 2026 10:00:00 GMT"]) {
    expect(get({ range, "if-range": other })).toEqual(WHOLE);
  }
});

test("If-None-Match with the tag is 304, weak or in a list too; If-Match with another one is 412", () => {
  for (const tag of ['"a-1"', 'W/"a-1"', '"x", "a-1"', "*"]) expect(get({ "if-none-match": tag }).status).toBe(304);
  expect(get({ "if-none-match": '"x"' })).toEqual(WHOLE);
  for (const tag of ['"x"', 'W/"a-1"']) expect(get({ "if-match": tag }).status).toBe(412);
  for (const tag of ['"a-1"', '"x", "a-1"', "*"]) expect(get({ "if-match": tag })).toEqual(WHOLE);
});

test("an empty file has no part, and its whole is nothing", () => {
  expect(fileAnswer("GET", { range: "bytes=0-" }, { etag: '"e"', size: 0 })).toEqual({ status: 416 });
  expect(fileAnswer("GET", {}, { etag: '"e"', size: 0 })).toEqual({ status: 200, start: 0, end: 0 });
});
