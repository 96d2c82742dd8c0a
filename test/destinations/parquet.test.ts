// Sets of Parquet parts in object storage: equal to the snapshot after every delivery, whatever breaks, and as few requests as there
// are changes. Kills: parquet-kills.test.ts.
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import type { DeliveryReport } from "../../jobs/deliver.ts";
import { systemClock } from "../../src/core/clock.ts";
import { deleteSignals, signalsOf } from "../src/deliver/moving-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import type { NextStep, SeenRequest } from "./counting-server.ts";
import { delivered as deliveredTo, reportOf } from "./deliveries.ts";
import { move } from "./moving-mirror.ts";
import { aBucket, BUCKETS, CONTAINERS, eachTestIn, expectCurrent, manifestOf, stubAws } from "./places.ts";
import { startS3 } from "./s3-server.ts";

/** A mirror with signals of two months. */
const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [1, 2], "a"));
    await warehouse.commit(signalsOf("2025-02", [3], "a"));
  });
  return dataDir;
};

const asText = ({ method, key, query }: SeenRequest): string =>
  `${method} ${key.replace(/-[0-9a-f]{16}-[0-9a-f]{8}/, "-*")} ${/comp=(\w+)/.exec(query)?.[1] ?? ""}`.trim();

/** Requests that send a part. */
const SENT = {
  [BUCKETS.kind]: ["PUT set/signals/2025-01-*.parquet"],
  [CONTAINERS.kind]: ["PUT set/signals/2025-01-*.parquet block", "PUT set/signals/2025-01-*.parquet blocklist"],
};
/** One of the pieces of a large file. */
const PIECE = /partNumber=|blockid=/;

describe.each([BUCKETS, CONTAINERS])("$kind", (kind) => {
  const { server, place } = eachTestIn(kind);
  const deliver = (dataDir: string, now = systemClock.now) =>
    reportOf(dataDir, place().setting(), { now, env: place().env });
  const delivered = (dataDir: string, now = systemClock.now) =>
    deliveredTo(dataDir, place().setting(), { now, env: place().env });
  const isCurrent = (dataDir: string) => expectCurrent(place(), dataDir, tempDir());
  const requestsFor = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    server().forget();
    await work();
    return server().seen.map(asText);
  };

  test("an unchanged snapshot costs two reads, a change its month, its list and the manifest", async () => {
    const dataDir = await aMirror();
    expect((await delivered(dataDir)).from).toBeNull();
    await isCurrent(dataDir);
    const unchanged = await requestsFor(() => delivered(dataDir));
    expect(unchanged).toEqual(["GET set/_manifest.json", "GET set/_symlink/_delivery"]);
    await change(dataDir, async (warehouse) => {
      await warehouse.commit(signalsOf("2025-01", [2, 4], "b"));
      await deleteSignals(warehouse, [1]);
    });
    expect(await requestsFor(() => delivered(dataDir))).toEqual([
      "GET set/_manifest.json",
      ...(SENT[kind.kind] ?? []),
      "PUT set/_manifest.json",
      "GET set/_symlink/_delivery",
      "DELETE set/_symlink/_delivery",
      "PUT set/_symlink/signals/manifest",
      "GET set/_manifest.json",
      "PUT set/_symlink/_delivery",
    ]);
    await isCurrent(dataDir);
    const files = (await manifestOf(place()))?.files.filter(({ table }) => table === "signals") ?? [];
    const list = files.map(({ file }) => `${place().address}/set/${file}\n`).join("");
    expect(String(await place().object("_symlink/signals/manifest"))).toBe(list);
  });

  test("a mirror that moves: after each delivery the set equals the snapshot, and old parts go with time", async () => {
    const dataDir = tempDir();
    const random = seededRandom(21);
    let now = Date.now();
    for (let step = 0; step < 6; step += 1) {
      await move(dataDir, random);
      now += 8 * 3_600_000;
      await delivered(dataDir, () => now);
      await isCurrent(dataDir);
    }
    const manifest = await manifestOf(place());
    const named = [...(manifest?.files ?? []), ...(manifest?.retired ?? [])].map(({ file }) => file).sort();
    expect((await place().keys()).filter((key) => key.endsWith(".parquet")).sort()).toEqual(named);
  });

  test("a service that is busy and breaks connections for a while delays a delivery, no more", async () => {
    const dataDir = await aMirror();
    const fates: readonly NextStep[] = ["busy", "reset", "busy", "lost", "reset", "busy"];
    let nth = 0;
    server().rule = () => {
      nth += 1;
      return fates[nth - 1] ?? (nth % 9 === 0 ? "lost" : "pass");
    };
    await delivered(dataDir);
    server().rule = null;
    await isCurrent(dataDir);
  });

  test("the answer to the manifest is lost: the repeated write is refused by its own condition, and the delivery ends well", async () => {
    const dataDir = await aMirror();
    let lost = 0;
    server().rule = ({ method, key }) => {
      if (method !== "PUT" || key !== "set/_manifest.json" || lost > 0) return "pass";
      lost += 1;
      return "lost";
    };
    await delivered(dataDir);
    expect(lost).toBe(1);
    await isCurrent(dataDir);
  });

  test("two deliveries at once: the second to end fails with a hint, and only parts that nothing names are left of it", async () => {
    const dataDir = await aMirror();
    await delivered(dataDir);
    await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1], "b")));
    const others: DeliveryReport[] = [];
    let isFirst = true;
    server().rule = async ({ method, key }): Promise<NextStep> => {
      if (method === "PUT" && key.startsWith("set/signals/") && isFirst) {
        isFirst = false;
        others.push(await deliver(dataDir));
      }
      return "pass";
    };
    const { error } = await deliver(dataDir);
    expect(error).toMatchObject({ code: "DESTINATION_OVERTAKEN", hint: expect.stringContaining("one mirror") });
    expect(others.map((other) => other.error)).toEqual([null]);
    await isCurrent(dataDir);
    const named = (await manifestOf(place()))?.files.map(({ file }) => file) ?? [];
    const left = (await place().keys()).filter((key) => key.endsWith(".parquet") && !named.includes(key));
    // The month before the change, and the loser's.
    expect(left.map((key) => key.slice(0, 15))).toEqual(["signals/2025-01", "signals/2025-01"]);
  });

  test("a large file goes in pieces, an empty one in none; an interruption leaves nothing to see", async () => {
    const store = await place().store();
    const dir = tempDir();
    const body = randomBytes(20 * 2 ** 20);
    const fileOf = (name: string, content: Buffer) => {
      writeFileSync(join(dir, name), content);
      const sha256 = createHash("sha256").update(content).digest("hex");
      return { path: join(dir, name), bytes: content.length, sha256 };
    };
    const { signal } = new AbortController();
    await store.upload("signals/large", fileOf("large", body), signal);
    expect(server().seen.filter(({ query }) => PIECE.test(query)).length).toBe(3);
    expect((await place().object("signals/large")).equals(body)).toBe(true);
    expect(await store.download("signals/large", join(dir, "back"), signal)).toBe(true);
    await store.upload("signals/empty", fileOf("empty", Buffer.alloc(0)), signal);
    expect(await store.get("signals/empty", signal)).toMatchObject({ text: "" });
    expect(await store.download("signals/none", join(dir, "none"), signal)).toBe(false);
    await store.delete(["signals/none", "signals/empty"], signal);
    const abort = new AbortController();
    server().rule = ({ query }) => {
      if (PIECE.test(query)) abort.abort(new Error("stopped"));
      return "pass";
    };
    await expect(store.upload("signals/other", fileOf("other", body), abort.signal)).rejects.toThrow("stopped");
    expect(await place().keys()).toEqual(["signals/large"]);
  });
});

describe("a bucket alone", () => {
  const { server, place } = eachTestIn(BUCKETS);

  test("gets the settings of encryption", async () => {
    const dataDir = await aMirror();
    const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
    await deliveredTo(dataDir, place().setting({ sse: "aws:kms", kms_key_id: key, tables: ["signals"] }));
    const { HeadObjectCommand, S3Client } = await import("@aws-sdk/client-s3");
    const client = new S3Client({ endpoint: server().endpoint, region: "us-east-1", forcePathStyle: true });
    for (const name of ["_manifest.json", (await manifestOf(place()))?.files[0]?.file]) {
      const head = await client.send(new HeadObjectCommand({ Bucket: place().name, Key: `set/${name}` }));
      expect(head).toMatchObject({ ServerSideEncryption: "aws:kms", SSEKMSKeyId: key });
    }
  });

  test("that is missing, refuses or is away: errors that say what to do", async () => {
    const dataDir = await aMirror();
    const errorOf = async (text: string) => (await reportOf(dataDir, text)).error;
    expect(await errorOf(place().setting({ url: "s3://no-such-bucket/set" }))).toMatchObject({
      code: "DESTINATION_FAILED",
      message: expect.stringContaining("bucket"),
    });
    const strict = await startS3(inject("destinationsVenv"), { INITIAL_NO_AUTH_ACTION_COUNT: "1" });
    onTestFinished(() => strict.stop());
    const guarded = await aBucket(strict, "guarded");
    expect(await errorOf(guarded.setting())).toMatchObject({ code: "DESTINATION_REFUSED" });
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
    expect(await errorOf(place().setting())).toMatchObject({ code: "DESTINATION_REFUSED" });
    stubAws();
    server().rule = () => "reset";
    expect(await errorOf(place().setting())).toMatchObject({ code: "DESTINATION_AWAY" });
  });
});
