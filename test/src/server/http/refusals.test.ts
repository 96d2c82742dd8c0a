// Thrown values as answers of the server.
import { expect, test } from "vitest";
import { z } from "zod";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { errorAnswer, HttpRefusal, notFound, parseBody } from "../../../../src/server/http/refusals.ts";

// Bodies of requests.

const schema = z.strictObject({ sql: z.string().default("SELECT 1"), limits: z.object({ rows: z.int() }).optional() });

test("no body is an empty one", () => {
  for (const body of [undefined, null, {}]) expect(parseBody(schema, body)).toEqual({ sql: "SELECT 1" });
});

test("a body that does not fit is refused with the path of the first problem", () => {
  const detail = (body: unknown) => {
    try {
      return parseBody(schema, body);
    } catch (error) {
      return error;
    }
  };
  expect(detail({ limits: { rows: "x" } })).toMatchObject({
    code: "USAGE",
    context: { detail: expect.stringMatching(/^limits\.rows: /) },
  });
  expect(detail("text")).toMatchObject({ context: { detail: expect.stringMatching(/^body: /) } });
});

const answered = (error: unknown) => {
  const { status, body } = errorAnswer(error);
  return [status, body.error.code];
};

test.each([
  ["USAGE", 400],
  ["CHANGES_GONE", 410],
  ["IDEMPOTENCY_REUSED", 422],
  ["CREDENTIALS_REFUSED", 502],
  ["SNAPSHOT_MISSING", 503],
  ["DISK_FULL", 500],
] as const)("%s is a %i", (code, status) => {
  expect(answered(new DuckmirrorError(code))).toEqual([status, code]);
});

test("a refusal of the server's own is answered as it is", () => {
  expect(errorAnswer(new HttpRefusal(421, "MISDIRECTED", "m", "h"))).toEqual({
    status: 421,
    body: { error: { code: "MISDIRECTED", message: "m", hint: "h" } },
  });
  expect(answered(notFound("such run"))).toEqual([404, "NOT_FOUND"]);
});

test("what is wrong with a request is not explained by the command line's --help", () => {
  expect(errorAnswer(new DuckmirrorError("USAGE", { detail: "d" })).body.error).toEqual({
    code: "USAGE",
    message: "d",
    hint: "docs/SERVER.md shows what is asked.",
  });
});

test("a body that does not fit names its first problem", () => {
  const { error } = z.object({ sql: z.string() }).safeParse({ sql: 1 });
  expect(errorAnswer(error).body.error.message).toMatch(/^sql: /);
  expect(answered(error)).toEqual([400, "USAGE"]);
});

test("the framework's refusals of a request keep their status, its faults do not", () => {
  const thrown = (statusCode: unknown) => Object.assign(new Error("too large"), { statusCode });
  expect(answered(thrown(413))).toEqual([413, "BAD_REQUEST"]);
  for (const statusCode of [399, 500, "413", undefined])
    expect(answered(thrown(statusCode))).toEqual([500, "UNEXPECTED"]);
});

test("nothing of a fault's text leaves the server", () => {
  const answer = JSON.stringify(errorAnswer(new Error("SELECT secret FROM /srv/mirror")));
  expect(answer).not.toMatch(/secret|srv/);
  expect(answered("a text")).toEqual([500, "UNEXPECTED"]);
});
