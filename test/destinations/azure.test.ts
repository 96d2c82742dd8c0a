// Sets of Parquet parts in a container of azurite, Microsoft's emulator of Azure Storage: equal to the snapshot after every
// delivery, whatever breaks. Azure itself was not at hand. parquet.test.ts has what does not depend on the store; kills: azure-kills.test.ts.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ContainerSASPermissions } from "@azure/storage-blob";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { systemClock } from "../../src/core/clock.ts";
import { deleteSignals, signalsOf } from "../src/deliver/moving-mirror.ts";
import { change } from "../support/change-mirror.ts";
import { cli } from "../support/cli.ts";
import { seededRandom } from "../support/sync-rig.ts";
import { delivered as deliveredWith, deliver as deliverWith } from "./a-bucket.ts";
import { AZURE_ENV, aContainer, blobsOf, type TestContainer } from "./a-container.ts";
import { ACCOUNT, type AzureServer, KEY, startAzure } from "./azure-server.ts";
import type { NextStep, SeenRequest } from "./counting-server.ts";
import { move } from "./moving-mirror.ts";
import { readsSet } from "./read-set.ts";

let azure: AzureServer;
let container: TestContainer;
let made = 0;
beforeAll(async () => {
  azure = await startAzure(inject("azurite"));
});
afterAll(() => azure?.stop());
beforeEach(async () => {
  azure.rule = null;
  made += 1;
  container = await aContainer(azure, `container-${made}`);
  azure.forget();
});

const deliver = (dataDir: string, setting = container.setting(), env: Record<string, string> = AZURE_ENV) =>
  deliverWith(dataDir, setting, systemClock.now, env);
const delivered = (dataDir: string, setting = container.setting(), now = systemClock.now, env = {}) =>
  deliveredWith(dataDir, setting, now, { ...AZURE_ENV, ...env });

const tempDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-deliver-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** A mirror with signals of two months. */
const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [1, 2], "a"));
    await warehouse.commit(signalsOf("2025-02", [3], "a"));
  });
  return dataDir;
};

const expectCurrent = (dataDir: string) => container.expectCurrent(dataDir, tempDir());

const asText = ({ method, key, query }: SeenRequest): string =>
  `${method} ${key.replace(/-[0-9a-f]{16}-[0-9a-f]{8}/, "-*")} ${/comp=(\w+)/.exec(query)?.[1] ?? ""}`.trim();
const requestsFor = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  azure.forget();
  await work();
  return azure.seen.map(asText);
};

test("an unchanged snapshot costs two reads, a change its month in blocks, its list and the manifest", async () => {
  const dataDir = await aMirror();
  expect((await delivered(dataDir)).from).toBeNull();
  await expectCurrent(dataDir);
  const unchanged = await requestsFor(() => delivered(dataDir));
  expect(unchanged).toEqual(["GET set/_manifest.json", "GET set/_symlink/_delivery"]);
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signalsOf("2025-01", [2, 4], "b"));
    await deleteSignals(warehouse, [1]);
  });
  expect(await requestsFor(() => delivered(dataDir))).toEqual([
    "GET set/_manifest.json",
    "PUT set/signals/2025-01-*.parquet block",
    "PUT set/signals/2025-01-*.parquet blocklist",
    "PUT set/_manifest.json",
    "GET set/_symlink/_delivery",
    "DELETE set/_symlink/_delivery",
    "PUT set/_symlink/signals/manifest",
    "GET set/_manifest.json",
    "PUT set/_symlink/_delivery",
  ]);
  await expectCurrent(dataDir);
  const files = (await container.manifest())?.files.filter(({ table }) => table === "signals") ?? [];
  const list = files.map(({ file }) => `az://${container.name}/set/${file}\n`).join("");
  expect(String(await container.blob("_symlink/signals/manifest"))).toBe(list);
});

test("a service that is busy and breaks connections for a while delays a delivery, no more", async () => {
  const dataDir = await aMirror();
  const fates: readonly NextStep[] = ["busy", "reset", "busy", "lost", "reset", "busy"];
  let nth = 0;
  azure.rule = () => {
    nth += 1;
    return fates[nth - 1] ?? (nth % 9 === 0 ? "lost" : "pass");
  };
  await delivered(dataDir);
  azure.rule = null;
  await expectCurrent(dataDir);
});

test("the answer to the manifest is lost: the repeated write is refused by its own condition, and the delivery ends well", async () => {
  const dataDir = await aMirror();
  let lost = 0;
  azure.rule = ({ method, key }) => {
    if (method !== "PUT" || key !== "set/_manifest.json" || lost > 0) return "pass";
    lost += 1;
    return "lost";
  };
  await delivered(dataDir);
  expect(lost).toBe(1);
  await expectCurrent(dataDir);
});

test("a large file goes in blocks, an empty one without; an interruption leaves nothing to see", async () => {
  const store = await container.store();
  const dir = tempDir();
  const body = randomBytes(20 * 2 ** 20);
  const fileOf = (name: string, content: Buffer) => {
    writeFileSync(join(dir, name), content);
    return { path: join(dir, name), bytes: content.length, sha256: "" };
  };
  const { signal } = new AbortController();
  await store.upload("signals/large", fileOf("large", body), signal);
  expect(azure.seen.filter(({ query }) => query.includes("blockid=")).length).toBe(3);
  expect((await container.blob("signals/large")).equals(body)).toBe(true);
  expect(await store.download("signals/large", join(dir, "back"), signal)).toBe(true);
  await store.upload("signals/empty", fileOf("empty", Buffer.alloc(0)), signal);
  expect(await store.get("signals/empty", signal)).toMatchObject({ text: "" });
  expect(await store.download("signals/none", join(dir, "none"), signal)).toBe(false);
  await store.delete(["signals/none", "signals/empty"], signal);
  const abort = new AbortController();
  azure.rule = ({ query }) => {
    if (query.includes("blockid=")) abort.abort(new Error("stopped"));
    return "pass";
  };
  await expect(store.upload("signals/other", fileOf("other", body), abort.signal)).rejects.toThrow("stopped");
  expect(await container.keys()).toEqual(["signals/large"]);
});

test("a wrong key: the error names the destination and no secret, and the exit code is that of refused credentials", async () => {
  const dataDir = await aMirror();
  const wrong = Buffer.from("a key that was never right for anything").toString("base64");
  const env = { DUCKMIRROR_DESTINATIONS: container.setting(), AZURE_STORAGE_ACCOUNT: ACCOUNT };
  const argv = ["deliver", "--json", "--data-dir", dataDir];
  const { code, out, err } = await cli(argv, { cwd: dataDir, env: { ...env, AZURE_STORAGE_KEY: wrong } });
  expect(code).toBe(3);
  expect(out + err).toContain("DESTINATION_REFUSED");
  expect(out + err).not.toContain(wrong);
  const { error } = await deliver(dataDir, container.setting(), { ...AZURE_ENV, AZURE_STORAGE_KEY: wrong });
  expect(error).toMatchObject({ code: "DESTINATION_REFUSED", message: expect.stringContaining("files") });
  expect(`${error?.stack} ${JSON.stringify(error)} ${String(error?.cause)}`).not.toMatch(/SharedKey|Authorization: /);
});

test("a SAS token and a connection string deliver, too; a token that may not write is refused, and is in no message", async () => {
  const dataDir = await aMirror();
  const sas = async (permissions: string) => {
    const url = await container.client.generateSasUrl({
      permissions: ContainerSASPermissions.parse(permissions),
      expiresOn: new Date(Date.now() + 3_600_000),
    });
    return url.slice(url.indexOf("?"));
  };
  const AZURE_STORAGE_SAS_TOKEN = await sas("rcwdl");
  expect(await deliver(dataDir, container.setting(), { AZURE_STORAGE_SAS_TOKEN })).toMatchObject({ error: null });
  await expectCurrent(dataDir);
  const readOnly = await sas("r");
  const [, signature = ""] = /sig=([^&]+)/.exec(readOnly) ?? [];
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1], "b")));
  const { error } = await deliver(dataDir, container.setting(), { AZURE_STORAGE_SAS_TOKEN: readOnly });
  expect(error).toMatchObject({ code: "DESTINATION_REFUSED" });
  expect(`${error?.stack} ${error?.cause}`).not.toContain(signature);
  const parts = ["DefaultEndpointsProtocol=http", `AccountName=${ACCOUNT}`, `AccountKey=${KEY}`];
  const text = [...parts, `BlobEndpoint=${blobsOf(azure)}`].join(";");
  const bare = container.setting({ endpoint: undefined });
  expect(await deliver(dataDir, bare, { AZURE_STORAGE_CONNECTION_STRING: text })).toMatchObject({ error: null });
  await expectCurrent(dataDir);
});

test("no container, no account, a connection string of another account: errors that say what to do", async () => {
  const dataDir = await aMirror();
  const errorOf = async (setting: string, env?: Record<string, string>) => (await deliver(dataDir, setting, env)).error;
  const setting = (more: Record<string, unknown>) => container.setting(more);
  expect(await errorOf(setting({ url: "az://no-such-container/set" }))).toMatchObject({
    code: "DESTINATION_FAILED",
    message: expect.stringContaining("container does not exist"),
  });
  const connection = `AccountName=other;AccountKey=${KEY};EndpointSuffix=core.windows.net;DefaultEndpointsProtocol=https`;
  const wrong = [
    [setting({ endpoint: undefined }), {}, "AZURE_STORAGE_ACCOUNT"],
    [setting({ sse: "AES256" }), AZURE_ENV, "sse: only for s3:// and gs://"],
    [setting({}), { AZURE_STORAGE_CONNECTION_STRING: connection }, "for another account"],
    [setting({}), { AZURE_STORAGE_CONNECTION_STRING: "nonsense" }, "is not valid"],
    [setting({}), { AZURE_STORAGE_KEY: KEY }, "a key needs its account"],
    [setting({}), {}, "must be https"],
  ] as const;
  for (const [text, env, words] of wrong) {
    const error = await errorOf(text, env);
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining(words) });
    expect(error?.message).not.toContain(KEY);
  }
});

test("pyarrow, polars and DuckDB with its azure extension read the rows of the snapshot, all of them and no others", async () => {
  const dataDir = tempDir();
  const random = seededRandom(43);
  for (let step = 0; step < 4; step += 1) {
    await move(dataDir, random);
    await delivered(dataDir);
  }
  const where = { endpoint: azure.endpoint, bucket: container.name, account: ACCOUNT, key: KEY };
  const read = (engine: string) => readsSet(engine, where, "set", join(dataDir, "warehouse.duckdb"));
  const byPyarrow = await read("pyarrow");
  expect(Object.keys(byPyarrow).sort()).toEqual([...TABLE_NAMES].sort());
  for (const table of ["signals", "contacts", "news_articles"]) expect(byPyarrow[table]?.rows).toBeGreaterThan(5);
  expect(Object.values(byPyarrow).filter(({ missing, extra }) => missing + extra > 0)).toEqual([]);
  expect(await read("polars")).toEqual(byPyarrow);
  expect(await read("duckdb")).toEqual(byPyarrow);
});
