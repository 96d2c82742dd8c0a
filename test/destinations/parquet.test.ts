// Sets of Parquet parts in a bucket of moto, an imitation of S3: equal to the snapshot after every delivery, and as few
// requests as there are changes. Kills: parquet-kills.test.ts.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test, vi } from "vitest";
import type { DeliveryReport } from "../../jobs/deliver.ts";
import { s3Store } from "../../src/deliver/stores/s3-store.ts";
import { deleteSignals, signalsOf } from "../src/deliver/moving-mirror.ts";
import { change } from "../support/change-mirror.ts";
import { seededRandom } from "../support/sync-rig.ts";
import {
  deliver,
  delivered,
  destinationsText,
  keysIn,
  makeBucket,
  manifestOf,
  objectIn,
  rowsOf,
  snapshotOf,
  stubAws,
} from "./a-bucket.ts";
import type { NextStep, SeenRequest } from "./counting-server.ts";
import { move } from "./moving-mirror.ts";
import { type S3Server, startS3 } from "./s3-server.ts";

let s3: S3Server;
let bucket: string;
let made = 0;
beforeAll(async () => {
  s3 = await startS3(inject("destinationsVenv"));
});
afterAll(() => s3?.stop());
/** The tests' bucket is a new one from now on. */
const aBucket = async () => {
  made += 1;
  bucket = `bucket-${made}`;
  await makeBucket(s3.endpoint, bucket);
};
beforeEach(async () => {
  stubAws();
  s3.rule = null;
  await aBucket();
  s3.forget();
});

const tempDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-deliver-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};
const setting = (more: Record<string, unknown> = {}) => destinationsText(s3.endpoint, bucket, more);

/** A mirror with signals of two months. */
const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [1, 2], "a"));
    await warehouse.commit(signalsOf("2025-02", [3], "a"));
  });
  return dataDir;
};

const expectCurrent = async (dataDir: string): Promise<void> => {
  const manifest = await manifestOf(s3.endpoint, bucket);
  if (manifest === null) throw new Error("there is no set");
  expect(await rowsOf(s3.endpoint, bucket, manifest, tempDir())).toEqual(await snapshotOf(dataDir));
};

const asText = ({ method, key }: SeenRequest): string => `${method} ${key.replace(/-[0-9a-f]{16}-[0-9a-f]{8}/, "-*")}`;
const requestsFor = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  s3.forget();
  await work();
  return s3.seen.map(asText);
};

test("an unchanged snapshot costs two reads, a change its month, its list and the manifest", async () => {
  const dataDir = await aMirror();
  expect((await delivered(dataDir, setting())).from).toBeNull();
  await expectCurrent(dataDir);

  const unchanged = await requestsFor(() => delivered(dataDir, setting()));
  expect(unchanged).toEqual(["GET set/_manifest.json", "GET set/_symlink/_delivery"]);

  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [2, 4], "b"));
    await deleteSignals(warehouse, [1]);
  });
  expect(await requestsFor(() => delivered(dataDir, setting()))).toEqual([
    "GET set/_manifest.json",
    "PUT set/signals/2025-01-*.parquet",
    "PUT set/_manifest.json",
    "GET set/_symlink/_delivery",
    "DELETE set/_symlink/_delivery",
    "PUT set/_symlink/signals/manifest",
    "GET set/_manifest.json",
    "PUT set/_symlink/_delivery",
  ]);
  await expectCurrent(dataDir);

  const list = String(await objectIn(s3.endpoint, bucket, "_symlink/signals/manifest"));
  const files = (await manifestOf(s3.endpoint, bucket))?.files.filter(({ table }) => table === "signals") ?? [];
  expect(list).toBe(files.map(({ file }) => `s3://${bucket}/set/${file}\n`).join(""));
});

test("a mirror that moves: after each delivery the set equals the snapshot, and old parts go with time", async () => {
  const dataDir = tempDir();
  const random = seededRandom(21);
  let now = Date.now();
  for (let step = 0; step < 6; step += 1) {
    await move(dataDir, random);
    now += 8 * 3_600_000;
    await delivered(dataDir, setting(), () => now);
    await expectCurrent(dataDir);
  }
  const manifest = await manifestOf(s3.endpoint, bucket);
  const named = [...(manifest?.files ?? []), ...(manifest?.retired ?? [])].map(({ file }) => file).sort();
  expect((await keysIn(s3.endpoint, bucket)).filter((key) => key.endsWith(".parquet")).sort()).toEqual(named);
});

test("a service that is busy and breaks connections for a while delays a delivery, no more", async () => {
  const dataDir = await aMirror();
  const fates: readonly NextStep[] = ["busy", "reset", "busy", "lost", "reset", "busy"];
  let nth = 0;
  s3.rule = () => {
    nth += 1;
    return fates[nth - 1] ?? (nth % 9 === 0 ? "lost" : "pass");
  };
  await delivered(dataDir, setting());
  s3.rule = null;
  await expectCurrent(dataDir);
});

test("the answer to the manifest is lost: the repeated write is refused by its own condition, and the delivery ends well", async () => {
  const dataDir = await aMirror();
  let lost = 0;
  s3.rule = ({ method, key }) => {
    if (method !== "PUT" || key !== "set/_manifest.json" || lost > 0) return "pass";
    lost += 1;
    return "lost";
  };
  await delivered(dataDir, setting());
  expect(lost).toBe(1);
  await expectCurrent(dataDir);
});

test("two deliveries at once: the second to end fails with a hint, and only parts that nothing names are left of it", async () => {
  const dataDir = await aMirror();
  await delivered(dataDir, setting());
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1], "b")));
  const others: DeliveryReport[] = [];
  let isFirst = true;
  s3.rule = async ({ method, key }): Promise<NextStep> => {
    if (method === "PUT" && key.startsWith("set/signals/") && isFirst) {
      isFirst = false;
      others.push(await deliver(dataDir, setting()));
    }
    return "pass";
  };
  const { error } = await deliver(dataDir, setting());
  expect(error).toMatchObject({ code: "DESTINATION_OVERTAKEN", hint: expect.stringContaining("one mirror") });
  expect(others.map((other) => other.error)).toEqual([null]);
  await expectCurrent(dataDir);
  const named = (await manifestOf(s3.endpoint, bucket))?.files.map(({ file }) => file) ?? [];
  const left = (await keysIn(s3.endpoint, bucket)).filter((key) => key.endsWith(".parquet") && !named.includes(key));
  // The month before the change, and the loser's.
  expect(left.map((key) => key.slice(0, 15))).toEqual(["signals/2025-01", "signals/2025-01"]);
});

test("a large file goes in pieces, and an interruption ends it", async () => {
  const store = await s3Store(
    "files",
    { scheme: "s3", bucket, prefix: "set" },
    { endpoint: s3.endpoint, pathStyle: true },
  );
  const path = join(tempDir(), "large");
  const body = randomBytes(20 * 2 ** 20);
  writeFileSync(path, body);
  const file = { path, bytes: body.length, sha256: "" };
  await store.upload("signals/large", file, new AbortController().signal);
  expect(s3.seen.filter(({ query }) => query.includes("partNumber=")).length).toBe(3);
  expect((await objectIn(s3.endpoint, bucket, "signals/large")).equals(body)).toBe(true);
  const abort = new AbortController();
  s3.rule = ({ query }) => {
    if (query.includes("partNumber=1")) abort.abort(new Error("stopped"));
    return "pass";
  };
  await expect(store.upload("signals/other", file, abort.signal)).rejects.toThrow("stopped");
  expect(await keysIn(s3.endpoint, bucket)).not.toContain("signals/other");
});

test("encryption settings reach the service", async () => {
  const dataDir = await aMirror();
  const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
  await delivered(dataDir, setting({ sse: "aws:kms", kms_key_id: key, tables: ["signals"] }));
  const { HeadObjectCommand, S3Client } = await import("@aws-sdk/client-s3");
  const client = new S3Client({ endpoint: s3.endpoint, region: "us-east-1", forcePathStyle: true });
  for (const name of ["_manifest.json", (await manifestOf(s3.endpoint, bucket))?.files[0]?.file]) {
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `set/${name}` }));
    expect(head).toMatchObject({ ServerSideEncryption: "aws:kms", SSEKMSKeyId: key });
  }
});

test("a missing bucket, wrong and missing credentials, a service that is away: errors that say what to do", async () => {
  const dataDir = await aMirror();
  const errorOf = async (text: string) => (await deliver(dataDir, text)).error;
  expect(await errorOf(destinationsText(s3.endpoint, "no-such-bucket"))).toMatchObject({
    code: "DESTINATION_FAILED",
    message: expect.stringContaining("bucket"),
  });
  const strict = await startS3(inject("destinationsVenv"), { INITIAL_NO_AUTH_ACTION_COUNT: "1" });
  onTestFinished(() => strict.stop());
  await makeBucket(strict.endpoint, "guarded");
  expect(await errorOf(destinationsText(strict.endpoint, "guarded"))).toMatchObject({ code: "DESTINATION_REFUSED" });
  vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
  expect(await errorOf(setting())).toMatchObject({ code: "DESTINATION_REFUSED" });
  stubAws();
  s3.rule = () => "reset";
  expect(await errorOf(setting())).toMatchObject({ code: "DESTINATION_AWAY" });
});
