// Calls of a command that holds no warehouse, read from the lines that it wrote before it ended, or was killed.
import { describe, expect, test } from "vitest";
import { type CallLine, lineText, readCallLines } from "../../../../src/warehouse/journal/call-lines.ts";
import type { QuotaReading } from "../../../../src/warehouse/record/checkpoint.ts";
import { aRequest } from "../checkpoints.ts";

const quota = (used: number): QuotaReading => ({
  capturedAt: used,
  limit: 9,
  used,
  remaining: 9 - used,
  resetsAt: null,
});
const begin: CallLine = { line: "begin", runId: "r", mode: "check", at: 10, until: 100 };
const sent = (requestId: string, at: number): CallLine => ({
  line: "sent",
  requestId,
  stream: "signals",
  scope: "",
  endpoint: "/v1/signals",
  url: "/v1/signals",
  at,
  until: at + 100,
});
const answered = (requestId: string, at: number): CallLine => ({
  line: "answered",
  request: aRequest(requestId, { startedAt: at }),
  quota: quota(at),
  until: at + 50,
});
const end: CallLine = { line: "end", at: 90, error: null, quota: null };
const textOf = (...lines: readonly CallLine[]) => lines.map(lineText).join("");
const read = (...lines: readonly CallLine[]) => readCallLines("r", textOf(...lines));

describe("a command that ended", () => {
  test("has its calls with their rows, and may be booked at once", () => {
    expect(read(begin, sent("a", 20), answered("a", 20), end)).toMatchObject({
      runId: "r",
      mode: "check",
      startedAt: 10,
      finishedAt: 90,
      error: null,
      answered: [{ requestId: "a" }],
      open: [],
      quota: quota(20),
      until: Number.NEGATIVE_INFINITY,
    });
  });

  test("ends with its error, and with the latest quota", () => {
    const failed = { ...end, error: "SERVICE_UNREACHABLE", quota: quota(90) };
    expect(read(begin, answered("a", 20), answered("b", 30), failed)).toMatchObject({
      error: "SERVICE_UNREACHABLE",
      quota: quota(90),
    });
  });
});

describe("a command that was killed", () => {
  test("may have paid for its open call, and is left alone until it must have ended", () => {
    const calls = read(begin, sent("a", 20), answered("a", 20), sent("b", 30));
    expect(calls).toMatchObject({ error: "the process ended", finishedAt: 30, until: 130 });
    expect(calls?.open.map(({ requestId }) => requestId)).toEqual(["b"]);
  });

  test("is left alone until the latest of its times, whichever line says it", () => {
    const { until: _, ...rest } = begin;
    expect(read({ ...rest, until: 999 }, sent("a", 20))?.until).toBe(999);
  });

  test("has what it wrote before the line that was cut off", () => {
    const text = `${textOf(begin, sent("a", 20))}{"line":"answered","requ`;
    expect(readCallLines("r", text)?.open).toHaveLength(1);
  });
});

test("a file without a begin is one of a call; one without a readable line is none", () => {
  expect(readCallLines("r", textOf(sent("a", 20)))).toMatchObject({ mode: "call", startedAt: 20 });
  for (const text of ["", "\n", "{", "null\n", '{"line":"sent"}\n']) expect(readCallLines("r", text)).toBeNull();
});
