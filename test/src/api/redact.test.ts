import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OkOutcome } from "../../../src/api/outcome.ts";
import { createRedactor, type Redaction, redactOutcome } from "../../../src/api/redact.ts";
import { fieldPath } from "../../../src/catalog/field-rules.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { ok as anOk } from "../sync/request/outcomes.ts";

const hashOf = (text: string) => createHmac("sha256", "a key of some length").update(text).digest("hex");
const hashed = (text: string) => `hmac-sha256:${hashOf(text)}`;
const paths = (names: readonly string[]) => names.flatMap((name) => fieldPath(name) ?? []);

const redactorFor = (rules: {
  readonly exclude?: readonly string[];
  readonly hash?: readonly string[];
  readonly forgotten?: Readonly<Record<string, string>>;
}) => {
  const forgotten: Redaction["forgotten"] = (id) => rules.forgotten?.[id] ?? null;
  const anyForgotten = rules.forgotten !== undefined;
  const redact = createRedactor({
    exclude: paths(rules.exclude ?? []),
    hash: paths(rules.hash ?? []),
    hashOf,
    forgotten,
    anyForgotten,
  });
  if (redact === null) throw new TypeError("nothing to redact");
  return redact;
};

const contacts: JsonObject = {
  data: [
    { id: "p1", email: "a@x.example", phone: "1", personInsights: { hobbies: ["chess"], home: "Bern" } },
    { id: "p2", email: null },
  ],
  meta: { totalCount: 2 },
};

describe("fields", () => {
  test("an excluded field is cut out of every record, also deep inside one, and nothing else changes", () => {
    const redact = redactorFor({ exclude: ["contacts.phone", "contacts.personInsights.home"] });
    expect(redact(contacts, "listContacts")).toEqual({
      data: [
        { id: "p1", email: "a@x.example", personInsights: { hobbies: ["chess"] } },
        { id: "p2", email: null },
      ],
      meta: { totalCount: 2 },
    });
  });

  test("a hashed field holds the same hash for the same value, null stays null, and hashing twice is hashing once", () => {
    const redact = redactorFor({ hash: ["contacts.email", "contacts.personInsights.hobbies"] });
    const once = redact(contacts, "listContacts");
    expect(once.data).toEqual([
      {
        id: "p1",
        email: hashed("a@x.example"),
        phone: "1",
        personInsights: { hobbies: [hashed("chess")], home: "Bern" },
      },
      { id: "p2", email: null },
    ]);
    expect(redact(once, "listContacts")).toBe(once);
  });

  test("nothing is kept of a record that is no JSON, wherever it is embedded", () => {
    const redact = redactorFor({ exclude: ["companies.name"] });
    const broken = '{"name":"Acme",}';
    for (const included of [
      { companies: [broken] },
      { company: broken },
      { companies: { c1: broken } },
      { latestEarningsCallAnalysis: broken },
    ])
      expect(JSON.stringify(redact({ data: [], included }, "listAccounts"))).not.toContain("Acme");
  });

  test("rules apply to embedded records in any of their shapes, and to owners by what they hold", () => {
    const redact = redactorFor({ exclude: ["companies.name", "owners.email"] });
    const company = { id: "c1", name: "Acme", domain: "acme.example" };
    const owner = { id: "u1", email: "o@x.example", name: "Olga" };
    for (const included of [
      { companies: [company], owners: { u1: owner } },
      { company, owner },
      { companies: { c1: { name: "Acme", domain: "acme.example" } } },
    ]) {
      const text = JSON.stringify(redact({ data: [{ id: 1, name: "Acme account" }], included }, "listAccounts"));
      expect(text).not.toContain('"Acme"');
      expect(text).not.toContain("o@x.example");
      expect(text).toContain("acme.example");
      expect(text).toContain("Acme account");
    }
    const onlyIds = redactorFor({ exclude: ["owners.data"] });
    expect(onlyIds({ data: [], included: { owners: [owner] } }, "listAccounts").included).toEqual({
      owners: [{ id: "u1" }],
    });
  });

  test("what the rules do not concern is the very same object", () => {
    const redact = redactorFor({ exclude: ["contacts.phone"], hash: ["contacts.email"], forgotten: { p9: "f" } });
    const signals: JsonObject = { data: [{ id: 1, phone: "1" }], meta: {} };
    expect(redact(signals, "listSignals")).toBe(signals);
    const others: JsonObject = { data: [{ id: "p3" }] };
    expect(redact(others, "listContacts")).toBe(others);
  });

  test("no excluded value is found anywhere in what is left, whatever the record (seed printed on failure)", () => {
    const redact = redactorFor({ exclude: ["contacts.email"], hash: ["contacts.phone"] });
    const secret = "excluded-value-0815";
    const record = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((rest) => ({ ...rest, id: "p", email: secret, phone: secret }));
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), (data) => {
        const parsed: JsonObject = JSON.parse(JSON.stringify({ data, meta: {} }));
        expect(JSON.stringify(redact(parsed, "listContacts"))).not.toContain(secret);
      }),
      { numRuns: 200 },
    );
  });
});

describe("forgotten people", () => {
  const redact = redactorFor({ forgotten: { p1: "aa", "p/4": "bb" } });

  test("stand as a record that says nothing but a hash, so that counts and places stay", () => {
    expect(redact(contacts, "listContacts").data).toEqual([{ $forgotten: "aa" }, { id: "p2", email: null }]);
    expect(redact({ data: { id: "p1", email: "a" } }, "getContact").data).toEqual({ $forgotten: "aa" });
    expect(redact({ data: {}, included: { contacts: { p1: { email: "a" } } } }, "getAccount").included).toEqual({
      contacts: { "forgotten:aa": { $forgotten: "aa" } },
    });
  });

  test("are taken out of the service's own log of requests", () => {
    const log = {
      data: [{ id: 1, endpoint: "/v1/contacts/p1", input: { contactId: "p1", path: "/v1/contacts/p%2F4?x=1" } }],
    };
    expect(redact(log, "listUsageRequests").data).toEqual([
      {
        id: 1,
        endpoint: "/v1/contacts/forgotten:aa",
        input: { contactId: "forgotten:aa", path: "/v1/contacts/forgotten:bb?x=1" },
      },
    ]);
  });
});

test("an outcome is redacted with its body; a body that cannot be read is not kept", () => {
  const redact = redactorFor({ exclude: ["contacts.phone"] });
  const call = { endpoint: "listContacts", path: "/v1/contacts", query: {} } as const;
  const wire = { bytes: Buffer.from(JSON.stringify(contacts)), encoding: "identity" } as const;
  const ok: OkOutcome = { ...anOk, call, data: contacts.data ?? null, envelope: contacts, wire };
  const clean = redactOutcome(ok, redact);
  expect(clean.kind === "ok" && JSON.parse(clean.wire.bytes.toString())).toEqual(redact(contacts, "listContacts"));
  expect(clean).toMatchObject({ data: redact(contacts, "listContacts").data });
  const { sentAt, durationMs, bytes, rate, status } = ok;
  const invalid = { kind: "invalid", call, status, sentAt, durationMs, bytes, rate, detail: "no JSON", wire } as const;
  expect(redactOutcome(invalid, redact)).toMatchObject({ wire: null });
  expect(redactOutcome(invalid, null)).toBe(invalid);
});

test("without rules and forgotten people there is no redactor at all", () => {
  expect(createRedactor({ exclude: [], hash: [], hashOf, forgotten: () => null, anyForgotten: false })).toBeNull();
});
