// What a caller wants to have read.
import { expect, test } from "vitest";
import { checkedExtent, extentOf, type RequestedExtent } from "../../jobs/requested-extent.ts";

const asked = (more: Partial<RequestedExtent>): RequestedExtent => ({ streams: [], full: false, ...more });
const extent = (more: Partial<RequestedExtent>, streams: readonly string[] | null = null) =>
  extentOf({ streams }, asked(more));
const DAY = Date.UTC(2026, 10, 1);

test("without more it is what the caller named, or the configuration's streams", () => {
  expect(extent({})).toEqual({ streams: [], reset: [], since: null });
  expect(extent({ streams: ["signals"] })).toMatchObject({ streams: ["signals"] });
});

test("a scope may hold colons of its own", () => {
  expect(extent({ reset: ["filings:a:b", "signals"] })).toMatchObject({
    streams: ["filings", "signals"],
    reset: [
      { stream: "filings", scope: "a:b" },
      { stream: "signals", scope: null },
    ],
  });
});

test("a run that goes on reads anew only the lists of streams that are still open", () => {
  expect(extent({ reset: ["filings:7", "signals"], streams: ["signals"] })).toMatchObject({
    streams: ["signals"],
    reset: [{ stream: "signals", scope: null }],
  });
});

test("a day means every stream that can be read by date and is configured, or those that are named", () => {
  expect(extent({ since: "2026-11-01" })).toMatchObject({ since: DAY, streams: ["contacts", "signals"] });
  expect(extent({ since: "2026-11-01" }, ["accounts", "signals"]).streams).toEqual(["signals"]);
  expect(extent({ since: "2026-11-01", streams: ["contacts"] }, ["signals"]).streams).toEqual(["contacts"]);
});

test.each<[string, Partial<RequestedExtent>, string]>([
  ["a list of no stream", { reset: ["signal"] }, "Did you mean signals?"],
  ["a day that is none", { since: "soon" }, "is not a date like 2026-11-01"],
  ["a day with a complete walk", { since: "2026-11-01", full: true }, "cannot be combined with --full or --reset"],
  ["a day with a list anew", { since: "2026-11-01", reset: ["signals"] }, "cannot be combined with --full or --reset"],
  ["a day for a list without dates", { since: "2026-11-01", streams: ["accounts", "signals"] }, "accounts"],
])("%s is refused", (_, more, words) => {
  expect(() => extent(more)).toThrow(words);
});

test("a caller names no stream beside lists, whose streams they are; a run that goes on does", () => {
  const both = asked({ reset: ["signals"], streams: ["signals"] });
  expect(() => checkedExtent({ streams: null }, both)).toThrow("--reset already names its streams");
  expect(checkedExtent({ streams: null }, asked({ reset: ["signals"] })).streams).toEqual(["signals"]);
  expect(extentOf({ streams: null }, both).streams).toEqual(["signals"]);
});
