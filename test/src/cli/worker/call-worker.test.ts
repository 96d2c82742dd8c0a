// The key of a worker is sent only to a server that has proven to know it.
import { createServer, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { callWorker } from "../../../../src/cli/worker/worker-connection.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { createKeyring, createProver } from "../../../../src/server/access/key-store.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aRunningServer, serving } from "../../../support/served.ts";

const KEY = new Secret("0123456789abcdef0123456789abcdef");
const A_CALL = { method: "GET", path: "/api/profiles", headers: {}, body: null };
const anHour = () => AbortSignal.timeout(60_000);

const aServer = async (key: Secret | null): Promise<number> => {
  const { url } = await aRunningServer({ ...serving(), key });
  return Number(new URL(url).port);
};

const calling = (port: number, key: Secret | null = KEY) =>
  callWorker({ address: { host: "127.0.0.1", port }, cert: null, key }, A_CALL, anHour());

const refused = expect.objectContaining({ code: "WORKER_REFUSED", message: expect.stringMatching(/did not prove/) });

/** Another program in the worker's place; `answer`: what it says to the question for a proof. */
const anImpostor = async (
  answer: (request: IncomingMessage) => Promise<string> | string,
  connection = "keep-alive",
) => {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(JSON.stringify([request.url, request.headers]));
    void Promise.resolve(answer(request)).then((text) => response.setHeader("connection", connection).end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterTest(() => void server.close().closeAllConnections());
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, heard };
};

test("a server with the key gets the request; without a key nothing is asked for", async () => {
  expect((await calling(await aServer(KEY))).status).toBe(200);
  expect((await calling(await aServer(null), null)).status).toBe(200);
});

test("a server with another key, or with none, gets no key", async () => {
  await expect(calling(await aServer(new Secret("another-key-of-32-characters-abc")))).rejects.toEqual(refused);
  await expect(calling(await aServer(null))).rejects.toEqual(refused);
});

test.each([
  ["nothing", () => ""],
  ["an answer of another kind", () => '{"syncs":[]}'],
  ["a proof of its own", () => JSON.stringify({ salt: "a", proofs: ["b".repeat(64)] })],
])("a program in its place that says %s never sees the key", async (_, answer) => {
  const { port, heard } = await anImpostor(answer);
  await expect(calling(port)).rejects.toEqual(refused);
  expect(heard).toHaveLength(1);
  expect(heard.join()).not.toContain(KEY.reveal());
});

test("a program that passes on the proof of a worker on another port never sees the key", async () => {
  const real = await aServer(KEY);
  const { port, heard } = await anImpostor(async ({ url }) => (await fetch(`http://127.0.0.1:${real}${url}`)).text());
  await expect(calling(port)).rejects.toEqual(refused);
  expect(heard.join()).not.toContain(KEY.reveal());
});

test("the key goes over the connection that brought the proof, and over no other", async () => {
  const prove = createProver(createKeyring(KEY, null, () => undefined));
  const { port, heard } = await anImpostor(async ({ url, socket }) => {
    const nonce = new URL(url ?? "", "http://a").searchParams.get("nonce") ?? "";
    return JSON.stringify(await prove(nonce, socket.localPort ?? 0, 0));
  }, "close");
  await expect(calling(port)).rejects.toThrow();
  expect(heard.join()).not.toContain(KEY.reveal());
});
