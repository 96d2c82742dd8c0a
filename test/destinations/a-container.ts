// A container of the emulator of Azure Storage as a destination, and what lies there. Read with Azure's SDK, not with
// the store.
import { BlobServiceClient, type ContainerClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { expect } from "vitest";
import { azureEnvironment } from "../../src/core/config/destinations/secrets-in.ts";
import { readSet, type SetManifest } from "../../src/deliver/kinds/parquet/parquet-set.ts";
import { azureStore } from "../../src/deliver/stores/azure-store.ts";
import type { ObjectStore } from "../../src/deliver/stores/object-store.ts";
import { rowsIn, snapshotOf } from "./a-bucket.ts";
import { ACCOUNT, type AzureServer, KEY } from "./azure-server.ts";

/** Credentials as users give them. */
export const AZURE_ENV = { AZURE_STORAGE_ACCOUNT: ACCOUNT, AZURE_STORAGE_KEY: KEY };

export const blobsOf = ({ endpoint }: AzureServer): string => `${endpoint}/${ACCOUNT}`;

export interface TestContainer {
  readonly name: string;
  readonly client: ContainerClient;
  /** The setting for it. */
  setting(more?: Record<string, unknown>): string;
  store(): Promise<ObjectStore>;
  manifest(): Promise<SetManifest | null>;
  /** Names below the set's folder. */
  keys(): Promise<readonly string[]>;
  blob(key: string): Promise<Buffer>;
  rows(manifest: SetManifest, folder: string): ReturnType<typeof rowsIn>;
  /** Fails where the set is not the published snapshot. */
  expectCurrent(dataDir: string, folder: string): Promise<void>;
}

/** A new container; its set is below `set`. */
export const aContainer = async (server: AzureServer, name: string): Promise<TestContainer> => {
  const service = new BlobServiceClient(blobsOf(server), new StorageSharedKeyCredential(ACCOUNT, KEY));
  const client = service.getContainerClient(name);
  await client.create();
  const endpoint = blobsOf(server);
  const place = { container: name, prefix: "set", account: null, endpoint: null };
  const store = () => azureStore("files", place, { endpoint, azure: azureEnvironment(AZURE_ENV) });
  const blob = (key: string) => client.getBlobClient(`set/${key}`).downloadToBuffer();
  const manifest = async () => (await readSet(await store(), new AbortController().signal))?.manifest ?? null;
  const rows = (set: SetManifest, folder: string) => rowsIn(set, folder, blob);
  return {
    name,
    client,
    setting: (more = {}) =>
      JSON.stringify([{ name: "files", kind: "parquet", url: `az://${name}/set`, endpoint, ...more }]),
    store,
    manifest,
    keys: async () => {
      const keys: string[] = [];
      for await (const { name: key } of client.listBlobsFlat({ prefix: "set/" })) keys.push(key.slice("set/".length));
      return keys;
    },
    blob,
    rows,
    expectCurrent: async (dataDir, folder) => {
      const found = await manifest();
      if (found === null) throw new Error("there is no set");
      expect(await rows(found, folder)).toEqual(await snapshotOf(dataDir));
    },
  };
};
