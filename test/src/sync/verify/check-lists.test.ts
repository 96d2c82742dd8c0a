// What a comparison of a list found, as differences and as the result of its check.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { failing, finding } from "../../../../src/sync/verify/check-lists.ts";
import { comparedRecords } from "../../../../src/sync/verify/newer.ts";

const where = { stream: "signals", scope: "" } as const;

test("each field that differs and each missing record is a difference of its own", () => {
  const compared = {
    ids: ["1", "2", "3"],
    fields: [{ id: "1", field: "headline", mirror: "old", api: "new" }],
    absent: ["3"],
  };
  expect(comparedRecords(where, compared, new Set(["3"]))).toEqual([
    {
      ...where,
      kind: "field",
      key: "1",
      field: "headline",
      mirror: "old",
      api: "new",
      verdict: "wrong",
      repaired: false,
    },
    { ...where, kind: "missing", key: "3", field: null, mirror: null, api: null, verdict: "newer", repaired: false },
  ]);
});

test("a check without a difference is equal, however many records it compared", () => {
  expect(finding(7, [])).toEqual({ status: "equal", records: 7, differences: [], note: null });
  const [missing] = comparedRecords(where, { fields: [], absent: ["1"] }, new Set());
  if (missing === undefined) throw new Error("no difference");
  expect(finding(0, [missing], "x")).toMatchObject({ status: "differs", note: "x" });
  expect(finding(0, [{ ...missing, verdict: "newer" }])).toMatchObject({ status: "newer" });
});

test("a reply that is no answer compares nothing, and names the reason", () => {
  expect(failing({ kind: "stopped" })).toMatchObject({ status: "stopped", records: 0, note: null });
  const error = new DuckmirrorError("SERVICE_UNREACHABLE", { endpoint: "e", detail: "d" });
  expect(failing({ kind: "failed", error })).toMatchObject({ status: "failed", note: error.message });
  expect(failing({ kind: "refused", excerpt: "no", requests: [] })).toMatchObject({ status: "failed", note: "no" });
});
