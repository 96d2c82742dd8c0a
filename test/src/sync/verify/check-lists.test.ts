// The result of a check, by what it found and by a reply that is no answer.
import { expect, test } from "vitest";
import { failing, finding } from "../../../../src/sync/verify/check-lists.ts";
import { differs } from "../../../../src/sync/verify/newer.ts";

const missing = differs("missing", { stream: "signals", scope: "" }, { key: "1" });

test("a check without a difference is equal, however many records it compared", () => {
  expect(finding(7, [])).toEqual({ status: "equal", records: 7, differences: [], note: null });
  expect(finding(0, [missing], "x")).toMatchObject({ status: "differs", note: "x" });
  expect(finding(0, [{ ...missing, verdict: "newer" }])).toMatchObject({ status: "newer" });
});

test("a reply that is no answer compares nothing, and names the reason", () => {
  expect(failing({ kind: "stopped" })).toMatchObject({ status: "stopped", records: 0, note: null });
  expect(failing({ kind: "failed", note: "no" })).toMatchObject({ status: "failed", note: "no" });
  expect(failing({ kind: "absent", doubtful: false })).toMatchObject({ status: "failed", note: "HTTP 404" });
});
