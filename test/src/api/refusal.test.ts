// Responses other than 200: enough of them to show, and nothing that must not be shown. Shows P22.
import { expect, test } from "vitest";
import * as play from "../../support/scripted-server.ts";
import { client, LIST, server, TOKEN, useService } from "./client-harness.ts";

useService();

test("an error keeps its excerpt and its usage, whatever its encoding", async () => {
  const body = JSON.stringify({ error: "over quota", usage: { limit: 100, used: 100, remaining: 0 } });
  server.play(play.gzipped(body, { status: 402 }));
  expect(await client().send(LIST)).toMatchObject({
    kind: "refused",
    status: 402,
    excerpt: body,
    usage: { limit: 100, used: 100, remaining: 0, resetsAt: null },
  });
});

test("the token, terminal codes and everything beyond 2 KiB are taken out of the excerpt", async () => {
  const filler = "\u001b[31m".padEnd(2_030, "é");
  server.play(play.answer(`${TOKEN} ${filler} Bearer ${TOKEN}`, { status: 500 }));
  const outcome = await client().send(LIST);
  if (outcome.kind !== "refused") throw new Error(outcome.kind);
  expect(Buffer.byteLength(outcome.excerpt)).toBeLessThanOrEqual(2_048);
  expect(outcome.excerpt).not.toContain(TOKEN.slice(0, 10));
  expect(outcome.excerpt).not.toContain("\u001b");
});

test("a redirect is not followed: its target is named, of another server only the origin, without what may be secret", async () => {
  const elsewhere = await play.startScriptedServer();
  server.play(play.redirect(`${elsewhere.origin}/login?session=s3cret`), play.redirect("/v2/accounts?session=s3cret"));
  const sender = client();
  expect(await sender.send(LIST)).toMatchObject({
    kind: "refused",
    status: 302,
    excerpt: `redirect to ${elsewhere.origin}`,
  });
  expect(await sender.send(LIST)).toMatchObject({
    kind: "refused",
    excerpt: `redirect to ${server.origin}/v2/accounts`,
  });
  expect(elsewhere.seen).toEqual([]);
  await elsewhere.close();
});

test("an error whose body breaks off is still that error: its status decided", async () => {
  server.play(play.resetMidBody('{"error":', 503));
  expect(await client().send(LIST)).toMatchObject({ kind: "refused", status: 503 });
});

test("an error body of any size ends", async () => {
  server.play(play.answer("x".repeat(2_000_000), { status: 500 }));
  const outcome = await client().send(LIST);
  expect(outcome).toMatchObject({ kind: "refused", status: 500 });
  if (outcome.kind === "refused") expect(outcome.excerpt.length).toBe(2_048);
});
