// What `forget` finds in, and removes from, archived bodies of records that brought contacts along.
import { expect, test } from "vitest";
import { createIdEraser, forgottenRecord } from "../../../../src/core/forgotten.ts";
import { createForgetBodies } from "../../../../src/sync/recovery/forget-bodies.ts";
import { aHeader } from "../../../support/memory-archive.ts";

const HASH = "ab".repeat(32);
const ERASED = { id: "contact_0001", email: "zoe@example.com" };
const OTHER = { id: "contact_0002", email: "max@example.com" };

const header = aHeader({
  stream: "account_insights",
  scope: "1",
  endpoint: "getAccountInsight",
  url: "/v1/account-insights?accountId=1&include=contacts",
});

const bodies = createForgetBodies({
  find: (id) => (id === ERASED.id ? HASH : null),
  eraser: createIdEraser(new Map([[ERASED.id, `forgotten:${HASH}`]])),
  holdsTrace: (text) => text.includes(ERASED.email),
});

test.each([
  ["a list", { contacts: [ERASED, OTHER] }],
  ["a list under the singular", { contact: [ERASED, OTHER] }],
  ["a map by id", { contacts: { [ERASED.id]: ERASED, [OTHER.id]: OTHER } }],
  ["a map by id of records without one", { contacts: { [ERASED.id]: { email: ERASED.email }, [OTHER.id]: OTHER } }],
])("contacts that an insight embeds as %s are found, and erased ones removed", (_, included) => {
  const meta = { requestId: "s1", apiVersion: "1", timestamp: "2026-01-01T00:00:00Z" };
  const body = Buffer.from(JSON.stringify({ status: "found", data: { profile: { accountId: 1 } }, included, meta }));
  expect(bodies.contacts(header, body).map(({ id }) => id)).toEqual([ERASED.id, OTHER.id]);
  const clean = bodies.clean(header, body)?.toString() ?? "";
  expect(clean).toContain(OTHER.email);
  expect(clean).toContain(JSON.stringify(forgottenRecord(HASH)));
  for (const trace of [ERASED.id, ERASED.email]) expect(clean).not.toContain(trace);
});

const ADA = "ada.lovelace@example.com";
const adasBodies = createForgetBodies({
  find: (id) => (id === ADA ? HASH : null),
  eraser: createIdEraser(new Map([[ADA, `forgotten:${HASH}`]])),
  holdsTrace: () => false,
});
const usageHeader = { ...header, stream: "usage_requests", endpoint: "listUsageRequests", url: "/v1/usage/requests" };

test.each(["ada.lovelace%40example.com", "ada.lovelace\\u0040example.com", ADA])(
  "an id that the service's request history writes %s is removed from its archived body",
  (form) => {
    const meta = '{"requestId":"s1","apiVersion":"1","timestamp":"2026-01-01T00:00:00Z"}';
    const body = `{"status":"found","data":[{"id":1,"endpoint":"GET \\/v1\\/contacts\\/${form}"}],"meta":${meta}}`;
    const clean = adasBodies.clean(usageHeader, Buffer.from(body))?.toString() ?? "";
    expect(clean).toContain(`"endpoint":"GET /v1/contacts/forgotten:${HASH}"`);
  },
);

test("a body that cannot be parsed is emptied if it holds an id in any form, and stays otherwise", () => {
  const page = (path: string) => Buffer.from(`<p>Cannot GET ${path}</p>`);
  expect(adasBodies.clean(usageHeader, page("/v1/contacts/ada.lovelace%40example.com"))?.toString()).toBe("{}");
  expect(adasBodies.clean(usageHeader, page("/v1/contacts/bea%40example.com"))).toBeNull();
});
