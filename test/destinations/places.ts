// Places of object storage that tests deliver to, and what lies there, read with the SDK of the service and not with the store: a
// bucket of moto, an imitation of S3, and a container of azurite, Microsoft's emulator. Azure itself was not at hand.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { BlobServiceClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { afterAll, beforeAll, beforeEach, expect, inject, vi } from "vitest";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { azureEnvironment } from "../../src/core/config/destinations/secrets-in.ts";
import { readSet, type SetManifest } from "../../src/deliver/kinds/parquet/parquet-set.ts";
import { azureStore } from "../../src/deliver/stores/azure-store.ts";
import type { ObjectStore } from "../../src/deliver/stores/object-store.ts";
import { s3Store } from "../../src/deliver/stores/s3-store.ts";
import { parquetRows, snapshotRows } from "../src/deliver/moving-mirror.ts";
import { ACCOUNT, KEY, startAzure } from "./azure-server.ts";
import type { CountingServer } from "./counting-server.ts";
import { type S3Server, startS3 } from "./s3-server.ts";

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

/** Every object of a bucket. */
export const objectKeys = async (endpoint: string, bucket: string): Promise<readonly string[]> => {
  const { Contents = [] } = await clientOf(endpoint).send(new ListObjectsV2Command({ Bucket: bucket }));
  return Contents.map(({ Key = "" }) => Key);
};

/** Rows of the parts that a manifest names, by table; fails where a part is not what the manifest says. */
const rowsIn = async (manifest: SetManifest, folder: string, read: (file: string) => Promise<Buffer>) => {
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

/** A bucket or container; its set is below `set`. */
export interface TestPlace {
  readonly name: string;
  /** `s3://bucket` or `az://container`. */
  readonly address: string;
  /** Credentials, as users give them. */
  readonly env: Readonly<Record<string, string>>;
  /** Settings of its store. */
  readonly storage: { readonly endpoint: string; readonly pathStyle?: boolean };
  /** The setting `destinations` for it. */
  setting(more?: Record<string, unknown>): string;
  store(): Promise<ObjectStore>;
  /** Names below the set's folder. */
  keys(): Promise<readonly string[]>;
  object(key: string): Promise<Buffer>;
}

const settingOf = (address: string, more: Record<string, unknown>): string =>
  JSON.stringify([{ name: "files", kind: "parquet", url: `${address}/set`, ...more }]);

/** A new bucket. */
export const aBucket = async ({ endpoint }: CountingServer, name: string): Promise<TestPlace> => {
  await makeBucket(endpoint, name);
  const address = `s3://${name}`;
  const storage = { endpoint, pathStyle: true };
  return {
    name,
    address,
    env: AWS_ENV,
    storage,
    setting: (more = {}) => settingOf(address, { endpoint, path_style: true, ...more }),
    store: () => s3Store("files", { scheme: "s3", bucket: name, prefix: "set" }, storage),
    keys: async () =>
      (await objectKeys(endpoint, name)).filter((key) => key.startsWith("set/")).map((key) => key.slice("set/".length)),
    object: async (key) => {
      const { Body } = await clientOf(endpoint).send(new GetObjectCommand({ Bucket: name, Key: `set/${key}` }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
  };
};

export const AZURE_ENV = { AZURE_STORAGE_ACCOUNT: ACCOUNT, AZURE_STORAGE_KEY: KEY };

export const containerClient = (endpoint: string, name: string) =>
  new BlobServiceClient(endpoint, new StorageSharedKeyCredential(ACCOUNT, KEY)).getContainerClient(name);

/** A new container. */
export const aContainer = async (server: CountingServer, name: string): Promise<TestPlace> => {
  const endpoint = `${server.endpoint}/${ACCOUNT}`;
  const client = containerClient(endpoint, name);
  await client.create();
  const address = `az://${name}`;
  const place = { container: name, prefix: "set", account: null, endpoint: null };
  return {
    name,
    address,
    env: AZURE_ENV,
    storage: { endpoint },
    setting: (more = {}) => settingOf(address, { endpoint, ...more }),
    store: () => azureStore("files", place, { endpoint, azure: azureEnvironment(AZURE_ENV) }),
    keys: async () => {
      const keys: string[] = [];
      for await (const { name: key } of client.listBlobsFlat({ prefix: "set/" })) keys.push(key.slice("set/".length));
      return keys;
    },
    object: (key) => client.getBlobClient(`set/${key}`).downloadToBuffer(),
  };
};

type Server = CountingServer & Pick<S3Server, "stop"> & Partial<Pick<S3Server, "kill" | "restart">>;

export interface PlaceKind {
  readonly kind: string;
  readonly start: () => Promise<Server>;
  readonly make: (server: CountingServer, name: string) => Promise<TestPlace>;
}
export const BUCKETS: PlaceKind = { kind: "a bucket", start: () => startS3(inject("destinationsVenv")), make: aBucket };
export const CONTAINERS: PlaceKind = {
  kind: "a container",
  start: () => startAzure(inject("azurite")),
  make: aContainer,
};

/** The server of a kind for the tests of a file or group, and a new place for each test. */
export const eachTestIn = ({ start, make }: PlaceKind) => {
  let server: Server | undefined;
  let place: TestPlace | undefined;
  let made = 0;
  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("it starts before the tests");
    return value;
  };
  const another = async (): Promise<void> => {
    made += 1;
    place = await make(there(server), `place-${made}`);
  };
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    stubAws();
    there(server).rule = null;
    await another();
    there(server).forget();
  });
  return { server: () => there(server), place: () => there(place), another };
};

export const manifestOf = async (place: TestPlace): Promise<SetManifest | null> =>
  (await readSet(await place.store(), new AbortController().signal))?.list ?? null;

/** Rows of the set, by table. */
export const rowsOf = (place: TestPlace, manifest: SetManifest, folder: string) =>
  rowsIn(manifest, folder, place.object);

/** Fails where the set is not the published snapshot; answers with its manifest. */
export const expectCurrent = async (place: TestPlace, dataDir: string, folder: string): Promise<SetManifest> => {
  const manifest = await manifestOf(place);
  if (manifest === null) throw new Error("there is no set");
  expect(await rowsOf(place, manifest, folder)).toEqual(await snapshotOf(dataDir));
  return manifest;
};

/** Every table of the published snapshot. */
export const snapshotOf = async (dataDir: string): Promise<Readonly<Record<string, readonly string[]>>> => {
  const rows: Record<string, readonly string[]> = {};
  for (const table of TABLE_NAMES) rows[table] = await snapshotRows(dataDir, table);
  return rows;
};
