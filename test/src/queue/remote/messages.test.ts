// A request to a fetcher: endpoint and parameters, nothing else.
import { expect, test } from "vitest";
import type { ApiCall } from "../../../../src/api/outcome.ts";
import { pathOf } from "../../../../src/catalog/endpoints.ts";
import { callOf, requestOf } from "../../../../src/queue/remote/messages.ts";
import { aParcel } from "./remote-rig.ts";

const parcel = aParcel("r-1", "r");
test("a request travels as endpoint and parameters; what the catalog does not know does not travel", () => {
  const call: ApiCall = {
    endpoint: "resolveCompany",
    path: pathOf("resolveCompany", { input: "https://a.b/ c" }),
    query: {},
  };
  const sent = requestOf({ ...parcel, call });
  expect(sent).toMatchObject({ endpoint: "resolveCompany", params: { input: "https://a.b/ c" } });
  expect(callOf(JSON.parse(JSON.stringify(sent)))).toEqual(call);
  expect(() => requestOf({ ...parcel, call: { ...call, path: "/internal/admin/users" } })).toThrow(TypeError);
  expect(() => requestOf({ ...parcel, call: { ...call, query: { admin: "1" } } })).toThrow(TypeError);
  const feedback: ApiCall = { endpoint: "sendFeedback", path: "/v1/feedback", query: {}, body: {} };
  expect(() => requestOf({ ...parcel, call: feedback })).toThrow(TypeError);
});
