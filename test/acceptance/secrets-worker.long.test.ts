// No secret lies in anything that a fleet writes: token, keys of the server, password of Redis, and the keys of hashes are
// searched in files, logs, Redis and its append-only file, plain and encoded.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { z } from "zod";
import { documentedUser } from "../support/documented-user.ts";
import { startRedis } from "../support/redis.ts";
import { aSandbox, runBuilt, startServing, WORKER, workerEnv } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

const SERVER_KEY = "5f0c1d9be84a7723c6d15e90ab3f8842";
const PASSWORD = "a-password-of-redis-0815";

const contents = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const bytes = readFileSync(file);
      return { file, bytes: file.endsWith(".gz") ? gunzipSync(bytes) : bytes };
    });

/** A secret as bytes, as text in hexadecimal and in Base64. */
const formsOf = (secret: Buffer): readonly Buffer[] => [
  secret,
  ...[secret.toString("hex"), secret.toString("base64").replace(/=+$/, ""), secret.toString("base64url")].map((text) =>
    Buffer.from(text),
  ),
];

const sandbox = await aSandbox({ accounts: 3 });

test("neither files nor logs nor Redis hold a secret of anyone", async () => {
  const [dataDir, redisDir, secretDir] = [join(tempFolder(), "data"), join(tempFolder(), "redis"), tempFolder()];
  mkdirSync(redisDir);
  const redis = await startRedis({ appendonlyDir: redisDir, user: documentedUser(PASSWORD) });
  const keyFile = join(secretDir, "server-key");
  writeFileSync(keyFile, SERVER_KEY, { mode: 0o600 });
  const more = {
    REDIS_URL: redis.url.replace("redis://", `redis://duckmirror:${PASSWORD}@`),
    DUCKMIRROR_SERVER_KEY_FILE: keyFile,
    DUCKMIRROR_LOG_LEVEL: "trace",
    DUCKMIRROR_EXPORT_FORMATS: "parquet,csv,ndjson",
  };
  const env = workerEnv(sandbox, more, dataDir);
  const texts: string[] = [];
  const named = await runBuilt(["key", "add", "ann", "--role", "operate", "--json"], env);
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(named.out));
  const { url, ...worker } = await startServing(WORKER, env);
  const synced = await runBuilt(["trigger", "--wait", "--json", "--verbose"], env);
  expect(synced.code, synced.err + worker.err()).toBe(0);
  for (const bearer of [key, SERVER_KEY, "wrong"]) {
    await fetch(`${url}/api/query`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      body: JSON.stringify({ sql: "SELECT 1" }),
    });
    const page = await fetch(`${url}/api/fleet`, { headers: { authorization: `Bearer ${bearer}` } });
    texts.push(await page.text());
  }
  const contact = await runBuilt(["query", "SELECT id FROM contacts LIMIT 1", "--format", "ndjson"], env);
  const erased = await runBuilt(["forget", String(JSON.parse(contact.out).id), "--yes"], env);
  expect(erased.code, erased.err).toBe(0);
  texts.push(...[await worker.stop(), synced, erased].flatMap(({ out, err }) => [out, err]));
  await redis.stop();

  const auditKey = join(dataDir, "state", "audit", "key");
  const forgetKey = join(dataDir, "state", "forget.key");
  const secrets = [
    ...[sandbox.token, SERVER_KEY, key, PASSWORD].map((text) => ({ at: "", bytes: Buffer.from(text) })),
    ...[auditKey, forgetKey].map((at) => ({ at, bytes: readFileSync(at) })),
  ];
  const places = [
    ...contents(dataDir),
    ...contents(redisDir),
    { file: "output", bytes: Buffer.from(texts.join("\n")) },
  ];
  expect(places.length).toBeGreaterThan(30);
  const found = secrets.flatMap(({ at, bytes }) =>
    places
      .filter(({ file }) => file !== at)
      .filter((place) => formsOf(bytes).some((form) => place.bytes.includes(form)))
      .map(({ file }) => `${bytes.toString("base64").slice(0, 8)} in ${file}`),
  );
  expect(found).toEqual([]);
  // The search finds what is there.
  expect(places.filter(({ bytes }) => bytes.includes("accounts")).length).toBeGreaterThan(5);
});
