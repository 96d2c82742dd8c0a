// The envelope: figures in any notation, nothing lost, and never a list that is not one. Shows P5.
import fc from "fast-check";
import { expect, test } from "vitest";
import { readEnvelope, readQuota } from "../../../src/api/envelope.ts";
import { ENDPOINTS, type EndpointName } from "../../../src/catalog/endpoints.ts";

const read = (body: unknown, endpoint: EndpointName = "listAccounts") => readEnvelope(JSON.stringify(body), endpoint);
const endpoints = Object.keys(ENDPOINTS).filter((name): name is EndpointName => Object.hasOwn(ENDPOINTS, name));

test("any JSON and any text is read or refused in words, never thrown at", () => {
  const body = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .record(
        { data: fc.jsonValue(), meta: fc.jsonValue(), usage: fc.jsonValue(), included: fc.jsonValue() },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(body, fc.constantFrom(...endpoints), (text, endpoint) => {
      const reading = readEnvelope(text, endpoint);
      expect(reading.ok ? reading.value.envelope : reading.detail).toBeTruthy();
    }),
    { numRuns: 1_000 },
  );
});

test("paging figures may be numbers or texts; anything else is not known", () => {
  const page = (meta: unknown) => {
    const reading = read({ data: [], meta });
    return reading.ok ? reading.value.page : null;
  };
  expect(page({ page: "2", perPage: 50, totalCount: "1000", totalPages: 20.5 })).toEqual({
    page: 2,
    perPage: 50,
    totalCount: 1000,
    totalPages: null,
  });
  const unknown = { page: null, perPage: null, totalCount: null, totalPages: null };
  expect(page({ page: null, perPage: "many", totalCount: {}, totalPages: "" })).toEqual(unknown);
  for (const meta of [undefined, null, [], "x"]) expect(page(meta)).toEqual(unknown);
  // Some services write -1 for a count that they do not make.
  expect(page({ page: -1, perPage: -7, totalCount: -1, totalPages: "-1" })).toEqual(unknown);
  expect(page({ totalCount: 0, totalPages: 0 })).toEqual({ ...unknown, totalCount: 0, totalPages: 0 });
});

test("usage is read from any body, with times in any notation; without a figure it is none", () => {
  const at = Date.UTC(2026, 1, 1);
  for (const resetsAt of ["2026-02-01T00:00:00.000Z", "2026-02-01", at, at / 1000, String(at)]) {
    expect(readQuota({ usage: { limit: "100", used: 1, remaining: 99, resetsAt } })).toEqual({
      limit: 100,
      used: 1,
      remaining: 99,
      resetsAt: at,
    });
  }
  expect(readQuota({ usage: { remaining: 3, resetsAt: "soon" } })).toMatchObject({ remaining: 3, resetsAt: null });
  for (const usage of [null, [], {}, { limit: "none" }, 5]) expect(readQuota({ usage })).toBeNull();
});

test("a limit below zero, or figures that no count of credits reaches, mean that there is no limit", () => {
  for (const limit of [-1, "-1", -1n]) {
    const unlimited = { limit: null, used: 7, remaining: null, resetsAt: null };
    expect(readQuota({ usage: { limit, used: 7, remaining: -1, resetsAt: null } })).toEqual(unlimited);
  }
  for (const most of [9223372036854775807n, 1e300, "1e300", Number.MAX_VALUE]) {
    expect(readQuota({ usage: { limit: most, used: 7, remaining: most } })).toMatchObject({
      limit: null,
      remaining: null,
    });
  }
  expect(readQuota({ usage: { limit: 100, used: 103, remaining: -3 } })).toMatchObject({ limit: 100, remaining: -3 });
});

test("what the program does not read passes untouched", () => {
  const body = { data: [{ nested: { a: [1] } }], meta: { page: 1, trace: "t" }, usage: {}, debug: { x: 1 } };
  const reading = read(body);
  expect(reading.ok && reading.value.envelope).toEqual(body);
});

test("included that is no object counts as absent", () => {
  for (const included of [[], "x", null]) {
    expect(read({ data: [], included })).toMatchObject({ ok: true, value: { included: null } });
  }
});

test("a list without an array that counts no rows is empty", () => {
  const meta = { page: 1, perPage: 100, totalCount: 0, totalPages: 0 };
  for (const body of [{ data: null, meta }, { meta }]) {
    expect(read(body)).toMatchObject({ ok: true, value: { data: [], page: { totalCount: 0 } } });
  }
  for (const data of [{}, "none", 0]) expect(read({ data, meta })).toMatchObject({ ok: false });
  for (const totalCount of [1, null, -1])
    expect(read({ data: null, meta: { totalCount } })).toMatchObject({ ok: false });
  expect(readEnvelope(JSON.stringify({ data: null, meta }), "getUsageLimits")).toMatchObject({ value: { data: null } });
});

test("a list without an array is refused, because empty would read as everything deleted", () => {
  for (const data of [null, {}, "none", 0]) expect(read({ data })).toMatchObject({ ok: false, detail: /not an array/ });
  expect(read({ data: {} }, "getSignalCounts")).toMatchObject({ ok: true });
});

test("only an insight may lack data, and only with a status", () => {
  expect(read({ status: "not_found" }, "getAccountInsight")).toMatchObject({ ok: true, value: { data: null } });
  expect(read({ meta: {} }, "getAccountInsight")).toMatchObject({ ok: false });
  expect(read({ data: null, meta: {} }, "getAccountInsight")).toMatchObject({ ok: false });
  for (const body of [{ ok: false }, { code: 500 }, { status: "found", data: null }]) {
    expect(read(body, "getAccountInsight")).toMatchObject({ ok: false });
    expect(read(body)).toMatchObject({ ok: false });
  }
  expect(read({ status: "found" }, "getAccountInsight")).toMatchObject({ ok: false, detail: "the body has no data" });
});

test("a 200 whose body says that the request failed is no answer, whatever its data are", () => {
  const failures = [
    { status: "error", message: "upstream timed out" },
    { status: "Failed", data: { profile: { accountId: 1 } } },
    { status: 502, data: [] },
    { success: false, data: [], meta: { totalCount: 0 } },
    { ok: false, data: { id: 1 } },
    { error: { code: "UPSTREAM" }, data: null, meta: { totalCount: 0 } },
    { errors: [{ message: "timeout" }], data: {} },
  ];
  for (const body of failures) {
    for (const endpoint of ["getAccountInsight", "getCompany", "listAccounts", "getSignalCounts"] as const)
      expect(read(body, endpoint)).toMatchObject({ ok: false, detail: "the body says that the request failed" });
  }
  const fine = { status: 200, success: true, error: null, errors: [], data: [{ id: 1 }] };
  for (const body of [fine, { ...fine, errors: ["deprecated"] }]) expect(read(body)).toMatchObject({ ok: true });
});

test("an insight has a section, and a record has data", () => {
  for (const data of [{}, [], "none", { status: "error" }])
    expect(read({ status: "found", data }, "getAccountInsight")).toMatchObject({ detail: "data is no insight" });
  for (const status of ["found", "success", undefined])
    expect(read({ status, data: { profile: {} } }, "getAccountInsight")).toMatchObject({ ok: true });
  for (const endpoint of ["getAccount", "getContact", "getSignal", "getCompany", "resolveCompany"] as const)
    expect(read({ data: null }, endpoint)).toMatchObject({ ok: false, detail: "the body has no data" });
});

test("a body quoted in a problem does not control a terminal", () => {
  const reading = readEnvelope("\u001b[31m\u0007\n", "listAccounts");
  expect(reading).toMatchObject({ ok: false, detail: expect.not.stringMatching(/\p{Cc}/u) });
});
