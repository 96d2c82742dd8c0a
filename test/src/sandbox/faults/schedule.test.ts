// Whom a fault file strikes: rules with counts, chance from a seed, and files that make no sense.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isCode } from "../../../../src/core/errors.ts";
import { FAULT_KINDS } from "../../../../src/sandbox/faults/faulty-response.ts";
import { createSchedule, type FaultFile, type Schedule } from "../../../../src/sandbox/faults/proxy.ts";

const passing = (url: string) => {
  const [path = "", query = ""] = url.split("?");
  return { path, query };
};
/** Kind (or status) of the fault that strikes each of the URLs, in order. */
const struck = (schedule: Schedule, urls: readonly string[]) =>
  urls.map((url) => {
    const fault = schedule.next(passing(url));
    return fault?.kind === "status" ? fault.status : (fault?.kind ?? null);
  });
const twice = (url: string) => [url, url];
const schedule = (file: FaultFile) => createSchedule(file);

test("an empty file strikes nothing", () => {
  expect(struck(schedule({}), ["/v1/accounts", "/v1/signals?page=2"])).toEqual([null, null]);
});

test("a rule leaves the first requests alone, strikes its times, and is over", () => {
  const rules = [{ fault: "reset-midway", after: 1, times: 2 }];
  expect(struck(schedule({ rules }), ["/a", "/b", "/c", "/d"])).toEqual([null, "reset-midway", "reset-midway", null]);
});

test("one page that fails n times is a rule with a query", () => {
  const rules = [{ fault: 503, path: "/v1/signals", query: { page: 2 }, times: 2 }];
  const urls = ["/v1/signals?page=1", ...twice("/v1/signals?perPage=5&page=2"), "/v1/contacts?page=2"];
  expect(struck(schedule({ rules }), [...urls, "/v1/signals?page=2"])).toEqual([null, 503, 503, null, null]);
});

test("a rule that counts for each URL strikes each of them", () => {
  const rules = [{ fault: "html", times: 1, each: "url" as const }];
  expect(struck(schedule({ rules }), [...twice("/a"), ...twice("/b")])).toEqual(["html", null, "html", null]);
});

test("a star stands for one part of a path", () => {
  const rules = [{ fault: 500, path: "/v1/companies/*/filings" }];
  const urls = ["/v1/companies/c_1/filings", "/v1/companies/c_1/a/filings", "/v1/companies/c_1/news-articles"];
  expect(struck(schedule({ rules }), urls)).toEqual([500, null, null]);
});

test("the first rule that strikes is the one", () => {
  const rules = [{ fault: 401, after: 2 }, { fault: 503 }];
  expect(struck(schedule({ rules }), ["/a", "/b", "/c"])).toEqual([503, 503, 401]);
});

describe("at random", () => {
  const random = { rate: 0.3 };
  const urls = Array.from({ length: 400 }, (_, index) => `/v1/signals?page=${index}`);

  test("the same seed strikes the same requests, whatever their order; another seed others", () => {
    const forwards = struck(schedule({ seed: 5, random }), urls);
    const backwards = struck(schedule({ seed: 5, random }), [...urls].reverse()).reverse();
    expect(backwards).toEqual(forwards);
    expect(struck(schedule({ seed: 6, random }), urls)).not.toEqual(forwards);
  });

  test("about the given share is struck, by every kind that is named", () => {
    const faults = ["html", 503, "empty-body"];
    const found = struck(schedule({ random: { rate: 0.3, faults } }), urls).filter((fault) => fault !== null);
    expect(found.length / urls.length).toBeGreaterThan(0.22);
    expect(found.length / urls.length).toBeLessThan(0.38);
    expect(new Set(found)).toEqual(new Set(faults));
  });

  test("no URL is struck more than so many times in a row", () => {
    const always = schedule({ random: { rate: 1, in_a_row: 2 } });
    const found = struck(
      always,
      Array.from({ length: 6 }, () => "/v1/accounts?page=1"),
    );
    expect(found.map((fault) => fault !== null)).toEqual([true, true, false, true, true, false]);
  });
});

test.each<[string, unknown, string]>([
  ["a kind that does not exist", { rules: [{ fault: "meteor" }] }, "rules.0.fault"],
  ["a status that is none", { rules: [{ fault: 99 }] }, "rules.0.fault.status"],
  ["a parameter that the kind does not have", { rules: [{ fault: { kind: "html", bytes: 3 } }] }, "rules.0.fault"],
  ["a member that does not exist", { ruels: [] }, "ruels"],
  ["a share above one", { random: { rate: 2 } }, "random.rate"],
  ["a list", [], "expected object"],
])("%s is refused, and the message says where", (_, file, place) => {
  expect(() => createSchedule(file)).toThrow(expect.toSatisfy((error) => isCode(error, "USAGE")));
  expect(() => createSchedule(file)).toThrow(place);
});

test("the example file in docs/ is one, and names every kind", () => {
  const text = readFileSync(new URL("../../../../docs/faults.yaml", import.meta.url), "utf8");
  expect(() => createSchedule(parse(text))).not.toThrow();
  for (const kind of FAULT_KINDS) expect(text).toContain(kind);
});
