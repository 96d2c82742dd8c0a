// Failures in a row: when other requests are tried once, and when the service as a whole counts as failing. Shows P19.
import { expect, test } from "vitest";
import { createOutage } from "../../../../src/sync/request/outage.ts";

const COMPANY_LISTS = ["news_articles", "job_openings", "earnings_calls"] as const;

test("after three failures of a stream it comes last, after twenty its requests are tried once, until one shows a sign of life", () => {
  const outage = createOutage();
  outage.alive("news_articles");
  const seen = Array.from({ length: 20 }, () => {
    outage.failed("filings", "refused", "");
    return [outage.isFailing("filings"), outage.attempts("filings")];
  });
  expect([seen[1], seen[2], seen[18], seen[19]]).toEqual([
    [false, null],
    [true, null],
    [true, null],
    [true, 1],
  ]);
  expect(outage.attempts("news_articles")).toBeNull();
  outage.alive("filings");
  expect([outage.attempts("filings"), outage.isFailing("filings")]).toEqual([null, false]);
});

test("after three failures of three streams in a row every request is tried once", () => {
  const outage = createOutage();
  for (const stream of COMPANY_LISTS) outage.failed(stream, "refused", "");
  expect(outage.attempts("filings")).toBe(1);
  outage.alive("usage");
  expect(outage.attempts("filings")).toBeNull();
});

test("three requests in a row without a connection end the run; a refusal between them shows that there is one", () => {
  const outage = createOutage();
  outage.alive("usage");
  outage.failed("accounts", "unreachable", "");
  outage.failed("accounts", "unreachable", "");
  outage.failed("contacts", "refused", "");
  outage.failed("accounts", "unreachable", "");
  outage.failed("accounts", "unreachable", "");
  expect(outage.failed("signals", "unreachable", "")).toBe("unreachable");
});

test("a stream that hangs ends a run in which others answered after twelve failures in a row, streams that hang after three", () => {
  const ends = (streams: readonly (typeof COMPANY_LISTS)[number][], outage = createOutage()) =>
    Array.from({ length: 20 }, (_, n) => outage.failed(streams[n % streams.length] ?? "filings", "silent", "")).indexOf(
      "unreachable",
    );
  const answered = () => {
    const outage = createOutage();
    outage.alive("accounts");
    return outage;
  };
  expect([ends(["news_articles"]), ends(["news_articles"], answered()), ends(COMPANY_LISTS, answered())]).toEqual([
    2, 11, 2,
  ]);
});

test("twelve failures of one stream end a run only if nothing has answered in it", () => {
  const ends = (outage = createOutage()) => Array.from({ length: 20 }, () => outage.failed("filings", "refused", ""));
  expect(ends().indexOf("failing")).toBe(11);
  const answered = createOutage();
  answered.alive("accounts");
  expect(ends(answered)).not.toContain("failing");
});

test("three companies that fail in each of their lists end no run in which something was answered", () => {
  const outage = createOutage();
  outage.alive("accounts");
  const ends = Array.from({ length: 24 }, (_, n) =>
    outage.failed(COMPANY_LISTS[n % 4] ?? "filings", "refused", `c_${n % 3}`),
  );
  expect(ends).not.toContain("failing");
});

test("twelve failures in a row of three streams end the run; a sign of life begins a new row", () => {
  const outage = createOutage();
  outage.alive("accounts");
  const fail = (times: number) =>
    Array.from({ length: times }, (_, n) => outage.failed(COMPANY_LISTS[n % 3] ?? "filings", "refused", `c_${n}`));
  expect(fail(11)).not.toContain("failing");
  outage.alive("filings");
  expect(fail(11)).not.toContain("failing");
  expect(fail(1)).toEqual(["failing"]);
});

test("after thirty paid answers of a stream in a row that cannot be used, its requests are paid once, until one can", () => {
  const outage = createOutage();
  const seen = Array.from({ length: 30 }, () => {
    outage.wasted("filings");
    return outage.paidAttempts("filings");
  });
  expect([seen[28], seen[29], outage.paidAttempts("accounts")]).toEqual([null, 1, null]);
  outage.alive("filings");
  expect(outage.paidAttempts("filings")).toBeNull();
});

const PAGE = "a page of HTML";

test("the same useless answer to three requests in a row makes the next doubtful, until one can be used", () => {
  const outage = createOutage();
  const seen = () => [outage.isDoubtful(), outage.paidAttempts("accounts")];
  for (const url of ["/c1", "/c1", "/c1", "/c2"]) outage.wasted("filings", { url, detail: PAGE });
  expect(seen()).toEqual([false, null]);
  outage.wasted("filings", { url: "/c3", detail: PAGE });
  expect(seen()).toEqual([true, 1]);
  outage.alive("accounts");
  expect(seen()).toEqual([false, null]);
});

test("different useless answers, or bodies that break off, make nothing doubtful", () => {
  const outage = createOutage();
  for (let n = 0; n < 9; n += 1) outage.wasted("filings", { url: `/c${n}`, detail: n % 3 === 0 ? "empty" : PAGE });
  expect(outage.isDoubtful()).toBe(false);
  for (let n = 0; n < 9; n += 1) outage.wasted("filings");
  expect(outage.isDoubtful()).toBe(false);
});

test("six of them from three streams end the run; those of fewer streams do not", () => {
  const ends = (streams: readonly (typeof COMPANY_LISTS)[number][]) => {
    const outage = createOutage();
    outage.alive("accounts");
    return Array.from({ length: 10 }, (_, n) => {
      const stream = streams[n % streams.length] ?? "filings";
      outage.wasted(stream, { url: `/c${n}`, detail: PAGE });
      return outage.failed(stream, "refused", "");
    }).indexOf("failing");
  };
  expect([ends(COMPANY_LISTS), ends(["news_articles", "job_openings"])]).toEqual([5, -1]);
});
