// Deliveries of kind parquet to a bucket, and what lies there, to compare with the snapshot.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { expect, vi } from "vitest";
import { type DeliveryReport, deliverJob } from "../../jobs/deliver.ts";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { systemClock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import type { Delivered } from "../../src/deliver/destination.ts";
import { readSet, type SetManifest } from "../../src/deliver/kinds/parquet/parquet-set.ts";
import { s3Store } from "../../src/deliver/stores/s3-store.ts";
import { parquetRows, snapshotRows } from "../src/deliver/moving-mirror.ts";

/** Credentials as users give them, and no search for others. */
export const AWS_ENV = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test-secret",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
};

export const stubAws = (): void => {
  for (const [name, value] of Object.entries(AWS_ENV)) vi.stubEnv(name, value);
};

const clientOf = (endpoint: string) => new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true });

export const makeBucket = async (endpoint: string, name: string): Promise<void> => {
  await clientOf(endpoint).send(new CreateBucketCommand({ Bucket: name }));
};

/** The setting for a bucket. */
export const destinationsText = (endpoint: string, bucket: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify([{ name: "files", kind: "parquet", url: `s3://${bucket}/set`, endpoint, path_style: true, ...more }]);

/** `env`: more of the environment, e.g. credentials. */
export const deliver = async (
  dataDir: string,
  setting: string,
  now = systemClock.now,
  env: Readonly<Record<string, string>> = {},
): Promise<DeliveryReport> => {
  const config = resolveConfig({
    flags: {},
    env: { ...env, DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: setting },
    file: null,
    cwd: dataDir,
    vocabulary: vocabulary(),
  });
  const signal = new AbortController().signal;
  const [report] = await deliverJob(config, { names: [], takeOver: false }, { clock: { now }, signal });
  if (report === undefined) throw new Error("nothing was delivered");
  return report;
};

export const delivered = async (...call: Parameters<typeof deliver>): Promise<Delivered> => {
  const { error, delivered: done } = await deliver(...call);
  if (error !== null || done === null) throw error ?? new Error("nothing was delivered");
  return done;
};

export const manifestOf = async (endpoint: string, bucket: string): Promise<SetManifest | null> => {
  const place = { scheme: "s3" as const, bucket, prefix: "set" };
  const store = await s3Store("files", place, { endpoint, pathStyle: true });
  return (await readSet(store, new AbortController().signal))?.manifest ?? null;
};

export const objectIn = async (endpoint: string, bucket: string, key: string): Promise<Buffer> => {
  const { Body } = await clientOf(endpoint).send(new GetObjectCommand({ Bucket: bucket, Key: `set/${key}` }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
};

/** Every object of a bucket. */
export const objectKeys = async (endpoint: string, bucket: string): Promise<readonly string[]> => {
  const { Contents = [] } = await clientOf(endpoint).send(new ListObjectsV2Command({ Bucket: bucket }));
  return Contents.map(({ Key = "" }) => Key);
};

export const keysIn = async (endpoint: string, bucket: string): Promise<readonly string[]> =>
  (await objectKeys(endpoint, bucket)).filter((key) => key.startsWith("set/")).map((key) => key.slice("set/".length));

/** Rows of the parts that a manifest names, by table; fails where a part is not what the manifest says. */
export const rowsIn = async (manifest: SetManifest, folder: string, read: (file: string) => Promise<Buffer>) => {
  const rows: Record<string, readonly string[]> = {};
  for (const table of manifest.tables) {
    const paths: string[] = [];
    for (const { file, sha256 } of manifest.files.filter((entry) => entry.table === table)) {
      const body = await read(file);
      expect(createHash("sha256").update(body).digest("hex")).toBe(sha256);
      const path = join(folder, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, body);
      paths.push(path);
    }
    rows[table] = await parquetRows(paths);
  }
  return rows;
};

/** As `rowsIn`, from a bucket. */
export const rowsOf = (endpoint: string, bucket: string, manifest: SetManifest, folder: string) =>
  rowsIn(manifest, folder, (file) => objectIn(endpoint, bucket, file));

/** Every table of the published snapshot. */
export const snapshotOf = async (dataDir: string): Promise<Readonly<Record<string, readonly string[]>>> => {
  const rows: Record<string, readonly string[]> = {};
  for (const table of TABLE_NAMES) rows[table] = await snapshotRows(dataDir, table);
  return rows;
};
