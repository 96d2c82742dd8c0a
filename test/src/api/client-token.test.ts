// A token that is replaced while its run goes on, and headers larger than Node takes.
import { expect, test } from "vitest";
import { chargeOf, verdictOf } from "../../../src/api/retry-policy.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import * as play from "../../support/scripted-server.ts";
import { client, LIST, PAGE, server, useService } from "./client-harness.ts";

useService();

test("at a 401 the token is read again, and the request is sent once more with another one", async () => {
  server.play(play.json({}, { status: 401 }), play.json(PAGE), play.json(PAGE));
  let reads = 0;
  const rereadToken = async () => {
    reads += 1;
    return new Secret("another-token");
  };
  const sender = client({ rereadToken });
  expect(await sender.send(LIST)).toMatchObject({ kind: "ok" });
  expect(await sender.send(LIST)).toMatchObject({ kind: "ok" });
  expect(reads).toBe(1);
});

test("a token that is still the same, or cannot be read, is refused as before, without a second request", async () => {
  server.play(play.json({}, { status: 401 }), play.json({}, { status: 401 }));
  const same = new Secret("another-token");
  const first = client({ token: same, rereadToken: async () => same });
  expect(await first.send(LIST)).toMatchObject({ kind: "refused", status: 401 });
  const second = client({ rereadToken: () => Promise.reject(new Error("the token file holds no token")) });
  const outcome = await second.send(LIST);
  expect(outcome).toMatchObject({ kind: "refused", status: 401 });
  const verdict = verdictOf(outcome, { attempt: 1, random: 0.5, now: 0, remainingCredits: null });
  if (verdict.kind !== "stop") throw new Error(`the verdict is ${verdict.kind}`);
  expect(new DuckmirrorError(verdict.code, verdict.context).message).toBe(
    "The service refused the credentials (401 on GET /v1/accounts, page 1). The token could not be read again: the token file holds no token",
  );
});

test("headers larger than 16 KiB count as charged, and have a reason of their own", async () => {
  server.play(play.json(PAGE, { headers: { "content-security-policy": "y".repeat(17_000) } }));
  const outcome = await client().send(LIST);
  expect(outcome).toMatchObject({ kind: "broken", reason: "headers", detail: expect.stringContaining("16 KiB") });
  expect(chargeOf(outcome)).toBe("spent");
});

test("an answer with two lengths has a reason of its own; whether it was charged is not known", async () => {
  const both = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
  server.play(play.raw(both));
  const outcome = await client().send(LIST);
  expect(outcome).toMatchObject({ kind: "broken", reason: "form", detail: expect.stringContaining("rules of HTTP") });
  expect(chargeOf(outcome)).toBe("ambiguous");
});
