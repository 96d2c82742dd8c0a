// Every error of the server has code, message and hint, whoever refuses: routes, checks, the framework or the socket.
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { z } from "zod";
import { emptyMirrorForFile, HERE } from "../served-mirror.ts";

const served = await emptyMirrorForFile();

const text = z.string().min(5);
const line = text.regex(/^[^\n]*$/, "more than one line");
const bodySchema = z.strictObject({ error: z.strictObject({ code: z.string().min(3), message: line, hint: line }) });

test.each([
  ["GET", "/nothing-here", undefined, 404],
  ["GET", "/api/runs/%zz", undefined, 400],
  ["GET", "/v1/nothing", undefined, 404],
  ["GET", "/v1/accounts/999999999", undefined, 404],
  ["GET", "/v1/accounts?perPage=no", undefined, 400],
  ["POST", "/v1/feedback", "{}", 405],
  ["GET", "/profiles/nobody/v1/accounts", undefined, 404],
  ["POST", "/api/query", "{not json", 400],
  ["POST", "/api/query", "{}", 400],
  ["POST", "/api/query", `{"sql": 1, "limit": "x", "more": true}`, 400],
  ["GET", "/api/changes?after=x&limit=-1", undefined, 400],
  ["POST", "/api/query", `{"sql": "${"x".repeat(300_000)}"}`, 413],
  ["POST", "/api/syncs", "{}", 409],
  ["GET", "/api/changes?after=x", undefined, 400],
  ["GET", "/api/fleet", undefined, 404],
] as const)("%s %s", async (method, url, payload, status) => {
  const { app } = await served({ onFault: () => undefined });
  const headers = { ...HERE, "content-type": "application/json" };
  const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  expect([answer.statusCode, bodySchema.safeParse(answer.json()).error]).toEqual([status, undefined]);
});

test.each(["1e308", "-1", "NaN", "Infinity", "8.64e15", "1.5", "0"])(
  "no moment is a fault: before=%s",
  async (before) => {
    const { app } = await served();
    const { statusCode } = await app.inject({ url: `/api/runs?before=${before}`, headers: HERE });
    expect([200, 400]).toContain(statusCode);
  },
);

test("a request that is no HTTP, too", async () => {
  const { app } = await served();
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  const socket = connect(Number(port), "127.0.0.1");
  socket.write("GET / NONSENSE\r\n\r\n");
  let answer = "";
  socket.setEncoding("utf8").on("data", (part) => {
    answer += part;
  });
  await once(socket, "close");
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 400 /);
  expect(bodySchema.safeParse(JSON.parse(body)).error).toBeUndefined();
});
