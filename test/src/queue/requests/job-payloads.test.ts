// Which program reads which payload, and the error for one that this program cannot read.
import { expect, test } from "vitest";
import { z } from "zod";
import {
  isForOthers,
  parsePayload,
  readability,
  syncPayload,
  WRITTEN,
} from "../../../../src/queue/requests/job-payloads.ts";

test.each([
  [{}, "none"],
  [{ v: 0 }, "none"],
  [{ v: "1" }, "none"],
  [null, "none"],
  [{ v: 1 }, "none"],
  [WRITTEN, "readable"],
  [{ v: 99, since: 1 }, "readable"],
  [{ v: 99, since: 99 }, "newer"],
])("%j is %s", (payload, expected) => {
  expect(readability(payload)).toBe(expected);
});

test("a newer payload is left to another program, a broken one is nobody's", () => {
  expect([isForOthers({ v: 99, since: 99 }), isForOthers(WRITTEN), isForOthers({})]).toEqual([true, false, false]);
});

test("the error names the job, its version, and the first thing that does not fit", () => {
  const schema = z.object({ v: z.int(), name: z.string() });
  expect(parsePayload(schema, "job-1", { ...WRITTEN, name: "a" })).toEqual({ v: 1, name: "a" });
  const failure = (payload: unknown) => {
    try {
      return parsePayload(schema, "job-1", payload);
    } catch (error) {
      return error;
    }
  };
  expect(failure({ ...WRITTEN, name: 7 })).toMatchObject({
    code: "JOB_VERSION",
    context: { job: "job-1", found: expect.stringMatching(/^1, but name: /) },
  });
  // It fits by chance: a newer program may mean something else by the same names.
  expect(failure({ v: 99, since: 99, name: "a" })).toMatchObject({ code: "JOB_VERSION", context: { found: "99" } });
  expect(failure("text")).toMatchObject({ context: { found: "none" } });
});

test("a payload with a stream that does not exist is refused", () => {
  const { error } = syncPayload.safeParse({ v: 1, streams: ["signal"] });
  expect(error?.issues.some(({ path, message }) => path[0] === "streams" && message === "is not a stream")).toBe(true);
});
