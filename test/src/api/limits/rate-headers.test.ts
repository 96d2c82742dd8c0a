// Rate-limit headers: every dialect means the same, and no text whatever makes them throw or wait for ever. Shows P24.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRateHeaders } from "../../../../src/api/limits/rate-headers.ts";
import { said } from "../../../support/rate-info.ts";

const NOW = Date.UTC(2026, 0, 5, 10, 0, 0);
const SAID = { limit: 300, remaining: 12, resetsAt: NOW + 30_000 };
const seconds = (ms: number) => String(ms / 1000);
const parse = (headers: Record<string, string | string[]>) => parseRateHeaders(headers, NOW);

describe("dialects", () => {
  const x = (reset: string) => ({
    ...{ "x-ratelimit-limit": "300", "x-ratelimit-remaining": "12", "x-ratelimit-reset": reset },
  });
  const dialects: Record<string, Record<string, string>> = {
    "IETF draft, structured": { "ratelimit-policy": '"default";q=300;w=60', ratelimit: '"default";r=12;t=30' },
    "IETF draft, one policy under another name": { "ratelimit-policy": '"a";q=300;w=60', ratelimit: '"b";r=12;t=30' },
    "IETF draft 7": { "ratelimit-policy": "300;w=60", ratelimit: "limit=300, remaining=12, reset=30" },
    "draft 7 with semicolons": { ratelimit: "limit=300; remaining=12; reset=30" },
    "IETF drafts 0 to 6": { "ratelimit-limit": "300, 300;w=60", "ratelimit-remaining": "12", "ratelimit-reset": "30" },
    "plain, policy apart": {
      "ratelimit-limit": "300",
      "ratelimit-policy": "300;w=60",
      "ratelimit-remaining": "12",
      "ratelimit-reset": "30",
    },
    "X-RateLimit": x("30"),
    "X-Rate-Limit": { "x-rate-limit-limit": "300", "x-rate-limit-remaining": "12", "x-rate-limit-reset": "30" },
    "epoch seconds": x(seconds(NOW + 30_000)),
    "epoch milliseconds": x(String(NOW + 30_000)),
    "HTTP date": x(new Date(NOW + 30_000).toUTCString()),
    "ISO date": x(new Date(NOW + 30_000).toISOString()),
    "per minute, as gateways write it": {
      "x-ratelimit-limit-minute": "300",
      "x-ratelimit-remaining-minute": "12",
      "ratelimit-reset": "30",
    },
  };
  test.each(Object.entries(dialects))("%s", (name, headers) => {
    const expected = name.startsWith("per minute") ? { ...SAID, resetsAt: null, windowMs: 60_000 } : SAID;
    expect(parse(headers)).toMatchObject({ ...expected, retryAt: null });
  });

  test("a window is taken from wherever it stands, else it is not known", () => {
    expect(parse({ "ratelimit-policy": '"a";q=300;w=60', ratelimit: '"a";r=1;t=1' })?.windowMs).toBe(60_000);
    expect(parse({ "ratelimit-limit": "300, 300;w=60" })?.windowMs).toBe(60_000);
    expect(parse({ "ratelimit-limit": "300;window=10" })?.windowMs).toBe(10_000);
    expect(parse({ "x-ratelimit-limit": "300" })?.windowMs).toBeNull();
  });
});

describe("Retry-After", () => {
  test("in seconds, as a date, and beside other headers", () => {
    expect(parse({ "retry-after": "7" })).toEqual(said({ retryAt: NOW + 7_000 }));
    expect(parse({ "retry-after": new Date(NOW + 7_000).toUTCString() })?.retryAt).toBe(NOW + 7_000);
    const both = parse({ "retry-after": "7", "x-ratelimit-limit": "300", "x-ratelimit-reset": "30" });
    expect(both).toMatchObject({ retryAt: NOW + 7_000, resetsAt: NOW + 30_000 });
  });

  test("a moment that has passed means now; none is more than a month away", () => {
    expect(parse({ "retry-after": new Date(NOW - 60_000).toUTCString() })?.retryAt).toBe(NOW);
    const month = NOW + 31 * 86_400_000;
    for (const text of ["31536000", "1000000000", "Thu, 01 Jan 2099 00:00:00 GMT"])
      expect(parse({ "retry-after": text })?.retryAt).toBe(month);
  });

  test("moments are read on the service's clock: one that is wrong here does not turn into a wait", () => {
    const theirs = NOW + 600_000;
    const headers = {
      date: new Date(theirs).toUTCString(),
      "retry-after": new Date(theirs + 5_000).toUTCString(),
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": seconds(theirs + 9_000),
    };
    expect(parse(headers)).toMatchObject({ retryAt: NOW + 5_000, resetsAt: NOW + 9_000 });
  });
});

describe("several limits", () => {
  test("a limit per day or month is a quota and no rate; spent, it only says when requests are welcome again", () => {
    const policy = '"rate";q=60;w=60, "daily";q=1000;w=86400, "month";q=9000;w=2592000';
    const state = '"rate";r=59;t=60, "daily";r=0;t=4000, "month";r=0;t=1000000';
    const expected = { limit: 60, windowMs: 60_000, remaining: 59, resetsAt: NOW + 60_000 };
    const month = { retryAt: NOW + 1_000_000_000 };
    expect(parse({ "ratelimit-policy": policy, ratelimit: state })).toMatchObject({ ...expected, ...month });
    expect(parse({ "x-ratelimit-limit": "100", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "86400" })).toEqual(
      said({ retryAt: NOW + 86_400_000 }),
    );
    expect(parse({ "ratelimit-limit": "1000, 1000;w=86400", "ratelimit-remaining": "3" })).toBeNull();
  });

  test("the slowest limit sets the rate, the fewest remaining say when to wait", () => {
    const policy = '"burst";q=10;w=1, "sustained";q=300;w=60';
    const state = '"burst";r=0;t=1, "sustained";r=250;t=40';
    expect(parse({ "ratelimit-policy": policy, ratelimit: state })).toMatchObject({
      limit: 300,
      windowMs: 60_000,
      remaining: 0,
      resetsAt: NOW + 1_000,
    });
  });

  test("a limit on bytes is no limit on requests", () => {
    expect(parse({ "ratelimit-policy": '"b";q=1000;w=60;qu="content-bytes"' })).toBeNull();
  });
});

describe("garbage", () => {
  test("is as good as nothing", () => {
    const garbage = [{}, { "retry-after": "soon" }, { "x-ratelimit-limit": "lots" }, { ratelimit: '";;==' }];
    for (const headers of garbage) expect(parse(headers)).toBeNull();
    expect(parse({ "x-ratelimit-limit": "0", "x-ratelimit-reset": "60" })).toBeNull();
    expect(parse({ "x-ratelimit-limit": "-5", "x-ratelimit-reset": "NaN" })).toBeNull();
  });

  test("any text in any header is survived, and every time stays within a month", () => {
    const names = [
      ...["ratelimit", "ratelimit-policy", "retry-after", "date"],
      ...["ratelimit", "x-ratelimit", "x-rate-limit"].flatMap((p) => [`${p}-limit`, `${p}-remaining`, `${p}-reset`]),
    ];
    const text = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.bigInt().map(String),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.stringMatching(/^[a-z"\\;=,0-9 .-]*$/),
      fc.constantFrom('"a";q=1;w=9', '"a";r=0;t=5', "limit=1,remaining=0,reset=99999999999999", "1;w=1e9"),
    );
    const value = fc.oneof(text, fc.array(text, { maxLength: 3 }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (headers) => {
        const rate = parseRateHeaders(headers, NOW);
        for (const at of [rate?.resetsAt, rate?.retryAt]) {
          if (typeof at === "number") expect(at >= NOW && at <= NOW + 31 * 86_400_000).toBe(true);
        }
        if (typeof rate?.limit === "number") expect(Number.isSafeInteger(rate.limit) && rate.limit > 0).toBe(true);
        if (typeof rate?.remaining === "number") expect(rate.remaining).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 2_000 },
    );
  });
});
