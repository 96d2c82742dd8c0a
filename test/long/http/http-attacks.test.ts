// Attacks by raw HTTP on the built program, with and without a key: every request ends, no request makes a fault, shows
// rows that it may not see, or keeps another one waiting.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { aSandbox, FAST, syncWell } from "../../acceptance/built-cli.ts";
import { tempFolder } from "../../acceptance/temp-folder.ts";
import { type Attacked, healthMs, MOST_MEMORY_KB, MOST_WAIT_MS, peakMemory, serving } from "./attacked-server.ts";
import { BROKEN_REQUESTS } from "./broken-requests.ts";
import { CUNNING_REQUESTS } from "./cunning-requests.ts";
import { POSTED_REQUESTS } from "./posted-requests.ts";
import { bytesOf, converse, HOST, headOf, ORDINARY, type RawAttack } from "./raw-request.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const ATTACKS = [...BROKEN_REQUESTS, ...CUNNING_REQUESTS, ...POSTED_REQUESTS];
/** Readers at once beside the connections that are held. */
const MOST_READERS = 120;

const dataDir = tempFolder();
/** Texts that only readers of the mirror may see. */
let rows: readonly string[] = [];

const listed = z.object({ data: z.array(z.record(z.string(), z.unknown())) });

const textsOf = async (url: string): Promise<readonly string[]> => {
  const lists = await Promise.all(
    ["accounts", "contacts"].map(async (list) => {
      const answer = await fetch(`${url}/v1/${list}?perPage=1000`);
      return listed.parse(await answer.json()).data.flatMap(({ id, name, email }) => [id, name, email]);
    }),
  );
  return lists.flat().filter((text): text is string => typeof text === "string" && text.length >= 8);
};

const sandbox = await aSandbox({ accounts: 5 });
beforeAll(async () => {
  await syncWell(sandbox, dataDir, [], FAST);
  const open = await serving(dataDir, {});
  rows = await textsOf(open.url);
  await open.run.kill();
});

const shownIn = (text: string): readonly string[] =>
  [...rows, KEY, sandbox.token, dataDir].filter((secret) => text.includes(secret));

const attack = async (server: Attacked, { name, bytes, closed, answers }: RawAttack, isKeyed: boolean) => {
  const { ended } = converse(server.port, bytes);
  const waited = await healthMs(server);
  const { text, statuses } = await ended;
  expect(waited, `${name}: health`).toBeLessThan(MOST_WAIT_MS);
  expect(
    statuses.filter((status) => status >= 500 && status !== 503),
    `${name}\n${text.slice(0, 600)}`,
  ).toEqual([]);
  if (isKeyed || closed === true) expect(shownIn(text), name).toEqual([]);
  if (answers !== undefined) expect(statuses.length, name).toBeLessThanOrEqual(answers);
};

const attackAll = async (server: Attacked, isKeyed: boolean) => {
  const held = ATTACKS.filter((one) => one.held).flatMap((one) =>
    Array.from({ length: 10 }, () => converse(server.port, one.bytes)),
  );
  for (const one of ATTACKS) if (!one.held) await attack(server, one, isKeyed);
  const reading = bytesOf(headOf("GET /v1/contacts?perPage=1000 HTTP/1.1"));
  const crowd = Array.from({ length: MOST_READERS }, () => converse(server.port, reading));
  expect(await healthMs(server)).toBeLessThan(MOST_WAIT_MS);
  const answered = await Promise.all(crowd.map(({ ended }) => ended));
  expect(new Set(answered.flatMap(({ statuses }) => statuses))).toEqual(new Set([isKeyed ? 401 : 200]));
  const heard = await Promise.all(held.map(({ ended }) => ended));
  expect(heard.flatMap(({ text }) => (isKeyed ? shownIn(text) : []))).toEqual([]);
  expect(heard.flatMap(({ statuses }) => statuses).filter((status) => status >= 500)).toEqual([]);
  expect(peakMemory(server.run.child.pid) ?? 0).toBeLessThan(MOST_MEMORY_KB);
  const asked = performance.now();
  server.run.child.kill("SIGTERM");
  const { code, err } = await server.run.ended;
  expect(code, err).toBe(0);
  expect(err).not.toContain(KEY);
  expect(performance.now() - asked).toBeLessThan(5_000);
};

test("the attacks are many, and each has its own name", () => {
  expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
  expect(ATTACKS.length).toBeGreaterThan(300);
  expect(rows.length).toBeGreaterThan(10);
});

describe(`${ATTACKS.length} raw requests`, () => {
  test("on a server without a key: no fault, nobody waits, and no row for other names, sites and proxies", async () => {
    await attackAll(await serving(dataDir, {}), false);
  });

  test("on a server with a key: no fault, nobody waits, and no row at all", async () => {
    const file = join(tempFolder(), "key");
    writeFileSync(file, `${KEY}\n`, { mode: 0o600 });
    await attackAll(await serving(dataDir, { DUCKMIRROR_SERVER_KEY_FILE: file }), true);
  });
});

test("a key holds for its own request only, also in one connection", async () => {
  const file = join(tempFolder(), "key");
  writeFileSync(file, `${KEY}\n`, { mode: 0o600 });
  const server = await serving(dataDir, { DUCKMIRROR_SERVER_KEY_FILE: file });
  const asking = (...headers: readonly string[]) =>
    `${["GET /v1/accounts HTTP/1.1", `Host: ${HOST}`, ...headers].join("\r\n")}\r\n\r\n`;
  const { ended } = converse(
    server.port,
    bytesOf(asking(`Authorization: Bearer ${KEY}`) + asking() + headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY])),
  );
  expect((await ended).statuses).toEqual([200, 401, 401]);
  await server.run.kill();
});
