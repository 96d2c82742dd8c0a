import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import {
  type Answer,
  type Fault,
  type FaultyResponse,
  faultyResponse,
  type Step,
} from "../../../../src/sandbox/faults/faulty-response.ts";

const TEXT = '{"data":[1,2,3,4],"meta":{"timestamp":"2026-01-02T00:00:00Z"},"usage":{"resetsAt": "never"}}';
const ANSWER: Answer = {
  status: 200,
  headers: { "content-type": "application/json", date: "Fri, 02 Jan 2026 00:00:00 GMT" },
  body: Buffer.from(TEXT),
};
const HALF = Math.floor(TEXT.length / 2);

const stepsOf = (fault: Fault): readonly Step[] => {
  const faulty: FaultyResponse = faultyResponse(fault, ANSWER);
  if (faulty.kind !== "script") throw new TypeError(`${fault.kind} is not sent byte by byte`);
  return [...faulty.steps];
};
const answerOf = (fault: Fault) => {
  const faulty = faultyResponse(fault, ANSWER);
  if (faulty.kind !== "answer") throw new TypeError(`${fault.kind} is sent byte by byte`);
  return faulty;
};
/** What a fault sends: head, body, and how the connection ends. */
const sentBy = (fault: Fault) => {
  const steps = stepsOf(fault);
  const sent = Buffer.concat(steps.flatMap((step) => (step.do === "write" ? [step.bytes] : []))).toString("utf8");
  const [head = "", ...body] = sent.split("\r\n\r\n");
  const ends = steps.at(-1);
  return { head, body: body.join("\r\n\r\n"), end: ends?.do };
};

test.each([
  ["reset-midway", "reset"],
  ["end-midway", "end"],
  ["hang-midway", "hang"],
] as const)("%s announces the whole body, sends half of it, and the connection ends by %s", (kind, end) => {
  const sent = sentBy({ kind });
  expect(sent.head).toContain(`content-length: ${TEXT.length}`);
  expect([sent.body, sent.end]).toEqual([TEXT.slice(0, HALF), end]);
});

test.each(["reset-before", "reset-after", "hang-headers"] as const)("%s sends not a byte", (kind) => {
  expect(sentBy({ kind })).toEqual({ head: "", body: "", end: kind === "hang-headers" ? "hang" : "reset" });
});

test("a cut without a length ends in order, so that only the JSON shows it", () => {
  const sent = sentBy({ kind: "cut-unframed" });
  expect(sent.head).not.toContain("content-length");
  expect(sent.head).toContain("connection: close");
  expect([sent.body, sent.end]).toEqual([TEXT.slice(0, HALF), "end"]);
});

test("a length that is too short is followed by the rest of the body", () => {
  const sent = sentBy({ kind: "short-length" });
  expect(sent.head).toContain(`content-length: ${HALF}`);
  expect(sent.body).toBe(TEXT);
});

test("a trickle pauses before every few bytes and loses none", () => {
  const steps = stepsOf({ kind: "trickle", every: 20, bytes: 10 });
  expect(steps.filter((step) => step.do === "pause")).toHaveLength(Math.ceil(TEXT.length / 10));
  expect(sentBy({ kind: "trickle", every: 20, bytes: 10 }).body).toBe(TEXT);
});

test("a gzip body is cut in the middle and cannot be unpacked", () => {
  const { answer } = answerOf({ kind: "truncated-gzip" });
  expect(answer.headers["content-encoding"]).toBe("gzip");
  expect(answer.body.length).toBe(Math.floor(gzipSync(TEXT).length / 2));
  expect(() => gunzipSync(answer.body)).toThrow(/unexpected end/);
});

test("an oversized body is padded to exactly its size with blanks, and a bomb unpacks to that many", () => {
  const sent = sentBy({ kind: "oversized", bytes: 200_001 });
  expect(sent.body.length).toBe(200_001);
  expect(sent.body.trimEnd()).toBe(TEXT);
  const bomb = answerOf({ kind: "gzip-bomb", bytes: 100_000 }).answer.body;
  expect(bomb.length).toBeLessThan(1_000);
  expect(gunzipSync(bomb)).toHaveLength(100_000);
});

test("another time shifts Date, timestamp and resetsAt, but no text that is not a time", () => {
  const { answer } = answerOf({ kind: "clock-jump", by: -86_400_000 });
  expect(answer.headers.date).toBe("Thu, 01 Jan 2026 00:00:00 GMT");
  expect(answer.body.toString("utf8")).toBe(TEXT.replace("2026-01-02T00:00:00Z", "2026-01-01T00:00:00.000Z"));
});

test("a refusal has the body and the Retry-After that the fault names", () => {
  const refused = answerOf({ kind: "status", status: 503, body: "html", retry_after: 7 }).answer;
  expect([refused.status, refused.headers["retry-after"], refused.headers["content-type"]]).toEqual([
    503,
    "7",
    "text/html",
  ]);
  const bare = answerOf({ kind: "status", status: 500, body: "empty" }).answer;
  expect([bare.headers, bare.body.length]).toEqual([{}, 0]);
});

test("an early hint comes before the answer, which is whole", () => {
  const { head, body } = sentBy({ kind: "informational" });
  expect(head).toMatch(/^HTTP\/1\.1 103 /);
  expect(body).toMatch(/^HTTP\/1\.1 200 /);
  expect(body.endsWith(TEXT)).toBe(true);
});
