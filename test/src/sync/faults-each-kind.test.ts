// Every kind of fault in one sync, over real sockets into a real warehouse: each strikes the news of one company for as
// long as the run lasts and the job openings of the same company once. What it means for the one, that it is got past in
// the other, and that the next run heals it all. Shows P18.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS, type ErrorCode } from "../../../src/core/errors.ts";
import { FAULT_KINDS, type FaultKind } from "../../../src/sandbox/faults/faulty-response.ts";
import { type FaultProxy, startFaultProxy } from "../../../src/sandbox/faults/proxy.ts";
import type { SyncResult } from "../../../src/sync/run/run-sync.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { type FakeServer, startFakeServer } from "../../support/fake-server.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { openSyncRig, type SyncRig } from "../../support/sync-rig.ts";

interface Lasting {
  /** How the rule writes it, where its name alone would not do. */
  readonly fault?: unknown;
  /** Code of the failure; null: nothing fails. */
  readonly code: ErrorCode | null;
  readonly says?: RegExp;
  /** Attempts that are made at the one page. */
  readonly attempts: number;
}

/** What a fault means that strikes every request for one list. */
const LASTING: Readonly<Record<FaultKind, readonly Lasting[]>> = {
  "reset-before": [{ code: "SERVICE_UNREACHABLE", attempts: 6 }],
  "reset-after": [{ code: "SERVICE_UNREACHABLE", attempts: 6 }],
  "reset-midway": [{ code: "REQUEST_FAILED", attempts: 3 }],
  "end-midway": [{ code: "REQUEST_FAILED", attempts: 3 }],
  "truncated-gzip": [{ code: "REQUEST_FAILED", says: /gzip body is damaged or cut short/, attempts: 3 }],
  "cut-unframed": [{ code: "RESPONSE_INVALID", says: /not valid JSON/, attempts: 3 }],
  "short-length": [{ code: "RESPONSE_INVALID", says: /not valid JSON/, attempts: 3 }],
  trickle: [{ code: "REQUEST_FAILED", says: /no complete answer within 900 ms/, attempts: 3 }],
  "hang-headers": [{ code: "SERVICE_UNREACHABLE", says: /timeout|within/i, attempts: 6 }],
  "hang-midway": [{ code: "REQUEST_FAILED", says: /timeout|within/i, attempts: 3 }],
  delay: [{ fault: { kind: "delay", ms: 50 }, code: null, attempts: 1 }],
  "empty-body": [{ code: "RESPONSE_INVALID", says: /the body is empty/, attempts: 3 }],
  html: [{ code: "RESPONSE_INVALID", says: /a page of HTML or XML titled "Sign in"/, attempts: 3 }],
  "content-type": [{ code: null, attempts: 1 }],
  "invalid-json": [{ code: "RESPONSE_INVALID", says: /not valid JSON/, attempts: 3 }],
  "wrong-shape": [{ code: "RESPONSE_INVALID", says: /the body has no data/, attempts: 3 }],
  status: [
    { fault: 500, code: "REQUEST_FAILED", says: /status 500, .*not available right now/, attempts: 6 },
    {
      fault: { kind: "status", status: 502, body: "html" },
      code: "REQUEST_FAILED",
      says: /"502 Bad Gateway"/,
      attempts: 6,
    },
    { fault: 429, code: "REQUEST_FAILED", says: /status 429/, attempts: 8 },
    { fault: 409, code: "REQUEST_FAILED", says: /status 409/, attempts: 1 },
  ],
  "expired-token": [{ code: "CREDENTIALS_REFUSED", attempts: 1 }],
  duplicate: [{ code: null, attempts: 1 }],
  "clock-jump": [{ code: null, attempts: 1 }],
  redirect: [{ code: "REDIRECTED", says: /redirect to https:\/\/login\.example\.com(?!\/sign-in)/, attempts: 1 }],
  oversized: [{ fault: { kind: "oversized", bytes: 3_000_000 }, code: "RESPONSE_TOO_LARGE", attempts: 1 }],
  "gzip-bomb": [{ fault: { kind: "gzip-bomb", bytes: 20_000_000 }, code: "RESPONSE_TOO_LARGE", attempts: 1 }],
  informational: [{ code: null, attempts: 1 }],
  "not-http": [{ code: "SERVICE_UNREACHABLE", attempts: 6 }],
};

/**
 * Each case has a company of its own. faults.long.test.ts has what would end the run: the token's end, and more than two
 * kinds of connection that come to nothing, since three such failures in a row count as an outage.
 */
const ELSEWHERE: readonly FaultKind[] = ["expired-token", "reset-after", "not-http"];
const CASES = FAULT_KINDS.filter((kind) => !ELSEWHERE.includes(kind))
  .flatMap((kind) => LASTING[kind].map((lasting) => ({ kind, fault: kind, ...lasting })))
  .map((lasting, index) => ({ ...lasting, company: `c_${index + 1}` }));
const once = CASES.filter(({ code, fault }) => code !== "RESPONSE_TOO_LARGE" && fault !== 409 && fault !== "redirect");

let server: FakeServer;
let proxy: FaultProxy;
let rig: SyncRig;
let first: SyncResult;
const service = createFakeService(anOrganization(CASES.length));

beforeAll(async () => {
  server = await startFakeServer(service);
  proxy = await startFaultProxy({
    upstream: server.url,
    faults: {
      rules: [
        ...CASES.map(({ company, fault }) => ({ fault, path: `/v1/companies/${company}/news-articles` })),
        ...once.map(({ company, fault }) => ({ fault, path: `/v1/companies/${company}/job-openings`, times: 1 })),
      ],
    },
  });
  rig = await openSyncRig(service, {
    DUCKMIRROR_BASE_URL: proxy.url,
    DUCKMIRROR_STREAMS: "accounts,news_articles,job_openings",
    DUCKMIRROR_MAX_BODY_BYTES: "1MiB",
    DUCKMIRROR_HEADERS_TIMEOUT: "700ms",
    DUCKMIRROR_BODY_TIMEOUT: "700ms",
    DUCKMIRROR_REQUEST_TIMEOUT: "900ms",
  });
  first = await rig.sync();
});
afterAll(async () => {
  await rig.close();
  await proxy.close();
  await server.close();
});

/** What the run said about a company's news. */
const noteOn = (company: string): string | undefined =>
  rig.events
    .flatMap((event) => (event.kind === "note" && event.level === "warn" ? [event.text] : []))
    .find((text) => text.includes(`/${company}/news-articles`));

describe("a fault that stays", () => {
  test.each(CASES)(
    "$fault: $code after $attempts attempts, reported with stream, route, page and cause",
    ({ company, code, says, attempts }) => {
      const asked = proxy.passed.filter(({ url }) => url.startsWith(`/v1/companies/${company}/news-articles`));
      expect(asked).toHaveLength(attempts);
      const note = noteOn(company);
      if (code === null) return expect(note).toBeUndefined();
      expect(note).toContain(`news_articles (GET /v1/companies/${company}/news-articles, page 1)`);
      expect(note).toMatch(says ?? /./);
      expect(note?.endsWith(ERRORS[code].hint.replace("{stream}", "news_articles"))).toBe(true);
    },
  );

  test("fails its stream alone, and the run ends with exit code 5", () => {
    expect(first.error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    expect(first.report.streams.map(({ stream, status }) => `${stream} ${status}`)).toEqual([
      "accounts done",
      "news_articles failed",
      "job_openings done",
    ]);
  });
});

test("a fault that strikes once is got past: every job opening is there", async () => {
  const struck = proxy.passed.filter(({ url, fault }) => url.includes("/job-openings") && fault !== null);
  expect(struck).toHaveLength(once.length);
  expect(await rig.rows("SELECT count(*) AS n FROM job_openings")).toEqual([{ n: 3 * CASES.length }]);
});

test("the next run asks for what failed and nothing else, and heals it", async () => {
  proxy.setFaults({});
  const before = proxy.passed.length;
  expect((await rig.sync()).error).toBeNull();
  const asked = new Set(proxy.passed.slice(before).map(({ url }) => url.split("?")[0]));
  const failed = CASES.filter(({ code }) => code !== null).map(
    ({ company }) => `/v1/companies/${company}/news-articles`,
  );
  expect([...asked].sort()).toEqual(["/v1/accounts", ...failed].sort());
  expect(await rig.rows("SELECT count(*) AS n FROM news_articles")).toEqual([{ n: 2 * CASES.length }]);
});
