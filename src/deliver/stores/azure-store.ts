// `ObjectStore` for a container of Azure Blob Storage, or a part of one. Azure's SDK signs, finds the credentials and retries.
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BlockBlobClient, ContainerClient } from "@azure/storage-blob";
import { openOwn, streamNew } from "../../core/files/own-files.ts";
import {
  type AzurePlace,
  type AzureSettings,
  azureAddress,
  failureOf,
  isLost,
  isMissingBlob,
  openContainer,
  storeError,
} from "./azure-client.ts";
import type { Condition, LocalFile, ObjectStore, StoredFile } from "./object-store.ts";
import { contentType, PIECES_AT_ONCE, pieceBytes, SINGLE_PUT_BYTES, smallText, storeCalls } from "./object-store.ts";

/** Azure takes 50,000 blocks. */
const MOST_BLOCKS = 45_000;
/** A download without a byte for so long is ended, ms. */
const IDLE_MS = 300_000;

/** A container that can be asked. */
interface Container {
  readonly name: string;
  readonly client: ContainerClient;
  /** Before each key; empty or with a slash at its end. */
  readonly root: string;
}

const blobOf = ({ client, root }: Container, key: string): BlockBlobClient =>
  client.getBlockBlobClient(`${root}${key}`);

const { call, found } = storeCalls(storeError, (error) => {
  const failure = failureOf(error);
  return failure !== null && isMissingBlob(failure);
});

/** A blob's content; `read` must take it whole. */
const download = async <T>(
  blob: BlockBlobClient,
  abortSignal: AbortSignal,
  read: (body: Readable, etag: string) => Promise<T>,
): Promise<T> => {
  const { readableStreamBody: body, etag = "" } = await blob.download(0, undefined, { abortSignal });
  if (!(body instanceof Readable)) throw new TypeError(`${blob.name} came without a body`);
  const idle = setTimeout(() => body.destroy(new Error("the connection went silent")), IDLE_MS);
  try {
    const reading = read(body, etag);
    body.on("data", () => idle.refresh());
    return await reading;
  } finally {
    clearTimeout(idle);
  }
};

/** False: the condition does not hold. */
const putText = async (
  container: Container,
  key: string,
  text: string,
  { condition, abortSignal }: { readonly condition: Condition | null; readonly abortSignal: AbortSignal },
): Promise<boolean> => {
  try {
    await blobOf(container, key).upload(text, Buffer.byteLength(text), {
      abortSignal,
      conditions: condition ?? {},
      blobHTTPHeaders: { blobContentType: contentType(key) },
    });
    return true;
  } catch (error) {
    const failure = failureOf(error);
    if (condition !== null && failure !== null && isLost(failure)) return false;
    throw error;
  }
};

/** Ids of one blob have one length. */
const blockId = (nth: number): string => Buffer.from(String(nth).padStart(8, "0")).toString("base64");

const readAt = async (file: FileHandle, position: number, bytes: number): Promise<Buffer> => {
  const block = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(block, 0, bytes, position);
  if (bytesRead !== bytes) throw new Error("the file became shorter while it was sent");
  return block;
};

/** Sends blocks, each with its sum, and makes the blob of them in one step. */
const uploadFile = async (
  container: Container,
  key: string,
  { path, bytes }: LocalFile,
  abortSignal: AbortSignal,
): Promise<void> => {
  const blob = blobOf(container, key);
  const size = bytes <= SINGLE_PUT_BYTES ? SINGLE_PUT_BYTES : pieceBytes(bytes, MOST_BLOCKS);
  const ids = Array.from({ length: Math.ceil(bytes / size) }, (_, nth) => blockId(nth));
  const left = ids.entries();
  const file = await openOwn(path);
  const sendBlocks = async (): Promise<void> => {
    for (const [nth, id] of left) {
      const block = await readAt(file, nth * size, Math.min(size, bytes - nth * size));
      const transactionalContentMD5 = createHash("md5").update(block).digest();
      await blob.stageBlock(id, block, block.length, { abortSignal, transactionalContentMD5 });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(PIECES_AT_ONCE, ids.length) }, sendBlocks));
  } finally {
    await file.close();
  }
  await blob.commitBlockList(ids, { abortSignal });
};

async function* listFiles({ name, client, root }: Container, abortSignal: AbortSignal): AsyncGenerator<StoredFile> {
  const pages = client.listBlobsFlat({ prefix: root, includeMetadata: true, abortSignal }).byPage();
  for (;;) {
    const page = await call(name, abortSignal, () => pages.next());
    if (page.done === true) return;
    for (const { name: key, properties, metadata } of page.value.segment.blobItems) {
      // Accounts with a hierarchical namespace list folders, too.
      if (metadata?.hdi_isfolder === "true") continue;
      yield { key: key.slice(root.length), modifiedAt: properties.lastModified.getTime() };
    }
  }
}

/** Throws DESTINATION_PACKAGE_MISSING, CONFIG_INVALID. Sends nothing yet. */
export const azureStore = async (name: string, place: AzurePlace, settings: AzureSettings): Promise<ObjectStore> => {
  const root = place.prefix === "" ? "" : `${place.prefix}/`;
  const client = await openContainer(name, place, settings);
  const container: Container = { name, client, root };
  const [blobs = ""] = client.url.split(`/${encodeURIComponent(place.container)}`);
  return {
    name,
    address: (key) => azureAddress(place, blobs, `${root}${key}`),
    get: (key, signal) =>
      call(name, signal, () =>
        found(() =>
          download(blobOf(container, key), signal, async (body, etag) => ({
            text: await smallText(body, name, key),
            etag,
          })),
        ),
      ),
    put: (key, text, condition, abortSignal) =>
      call(name, abortSignal, () => putText(container, key, text, { condition, abortSignal })),
    upload: (key, file, signal) => call(name, signal, () => uploadFile(container, key, file, signal)),
    download: (key, path, signal) =>
      call(name, signal, async () => {
        const write = (body: Readable) => pipeline(body, streamNew(path), { signal });
        const written = await found(() => download(blobOf(container, key), signal, write));
        return written !== null;
      }),
    list: (signal) => listFiles(container, signal),
    delete: (keys, abortSignal) =>
      call(name, abortSignal, async () => {
        // A blob that has snapshots can only be deleted with them.
        for (const key of keys)
          await blobOf(container, key).deleteIfExists({ abortSignal, deleteSnapshots: "include" });
      }),
    close: () => undefined,
  };
};
