// Requests as the configuration shapes them: view, filters of the scope, excluded fields.
import { expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { type CallOptions, companyCall, detailCall, listCall } from "../../../../src/sync/request/calls.ts";

const options: CallOptions = { content: [], view: "default", rowScope: {} };
const shape = initialShape(100);
const read = { page: 1, perPage: 100, role: "cover" } as const;
const list = (stream: Parameters<typeof streamSpec>[0], more: Partial<CallOptions>) =>
  listCall(streamSpec(stream), "c", read, { kind: "walk" }, shape, { ...options, ...more }).query;

test("the view is named where the route offers one, and only if it is not the default", () => {
  expect(list("accounts", { view: "export" }).view).toBe("export");
  expect(list("filings", { view: "export" }).view).toBe("export");
  expect(list("contacts", { view: "export" }).view).toBeUndefined();
  expect(list("accounts", {}).view).toBeUndefined();
  for (const kind of ["id", "input"] as const) {
    const call = companyCall({ kind, value: "c" }, shape, streamSpec("companies"), { ...options, view: "export" });
    expect(call.query).toMatchObject({ view: "export", include: "latestEarningsCall,latestEarningsCallAnalysis" });
  }
});

test("filters that take one value are sent with one value, and not with several", () => {
  const one = { accounts: { owner_id: ["u_1"], priority: ["1"] }, contacts: { change_type: ["departure"] } };
  expect(list("accounts", { rowScope: one })).toMatchObject({ ownerId: "u_1", priority: "1" });
  expect(list("contacts", { rowScope: one })).toMatchObject({ changeType: "departure" });
  const two = { accounts: { owner_id: ["u_1", "u_2"] }, contacts: { change_type: ["departure", "promotion"] } };
  expect(list("accounts", { rowScope: two }).ownerId).toBeUndefined();
  expect(list("contacts", { rowScope: two }).changeType).toBeUndefined();
});

test("requests for single records name the fields that are not excluded", () => {
  const excludeFields = ["accounts.summary", "contacts.phone", "signals.relevance"];
  for (const [stream, excluded] of [
    ["accounts", "summary"],
    ["contacts", "phone"],
    ["signals", "relevance"],
  ] as const) {
    const { onlyWithFields } = detailCall(streamSpec(stream), "1", { excludeFields }).query;
    expect(onlyWithFields?.split(",")).toEqual(expect.arrayContaining(["id"]));
    expect(onlyWithFields?.split(",")).not.toContain(excluded);
    expect(detailCall(streamSpec(stream), "1", {}).query).toEqual({});
  }
});
