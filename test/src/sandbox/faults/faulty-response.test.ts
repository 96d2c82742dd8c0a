import { gunzipSync } from "node:zlib";
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
/** What a fault sends after its head, and how the connection ends. */
const sentBy = (fault: Fault) => {
  const steps = stepsOf(fault);
  const sent = Buffer.concat(steps.flatMap((step) => (step.do === "write" ? [step.bytes] : []))).toString("utf8");
  return { body: sent.split("\r\n\r\n").slice(1).join("\r\n\r\n"), end: steps.at(-1)?.do };
};

test("a trickle pauses before every few bytes and loses none", () => {
  const steps = stepsOf({ kind: "trickle", every: 20, bytes: 10 });
  expect(steps.filter((step) => step.do === "pause")).toHaveLength(Math.ceil(TEXT.length / 10));
  expect(sentBy({ kind: "trickle", every: 20, bytes: 10 }).body).toBe(TEXT);
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
