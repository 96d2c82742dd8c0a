// Bodies of requests.
import { expect, test } from "vitest";
import { z } from "zod";
import { parseBody } from "../../../src/server/parse-body.ts";

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
