// A token that is replaced while its run goes on, and headers larger than Node takes.
import { expect, test } from "vitest";
import { chargeOf } from "../../../src/api/retry-policy.ts";
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
  const second = client({ rereadToken: () => Promise.reject(new Error("no such file")) });
  expect(await second.send(LIST)).toMatchObject({ kind: "refused", status: 401 });
});

test("headers larger than 16 KiB count as charged, and have a reason of their own", async () => {
  server.play(play.json(PAGE, { headers: { "content-security-policy": "y".repeat(17_000) } }));
  const outcome = await client().send(LIST);
  expect(outcome).toMatchObject({ kind: "broken", reason: "headers", detail: expect.stringContaining("16 KiB") });
  expect(chargeOf(outcome)).toBe("spent");
});
