// A container of Azure Blob Storage: credentials and errors. Deliveries: parquet.test.ts; engines that read a set there: readers.test.ts.
import { ContainerSASPermissions } from "@azure/storage-blob";
import { expect, test } from "vitest";
import { signalsOf } from "../src/deliver/moving-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { change } from "../support/change-mirror.ts";
import { cli } from "../support/cli.ts";
import { ACCOUNT, KEY } from "./azure-server.ts";
import { reportOf } from "./deliveries.ts";
import { AZURE_ENV, CONTAINERS, containerClient, eachTestIn, expectCurrent } from "./places.ts";

const { place } = eachTestIn(CONTAINERS);
const deliver = (dataDir: string, setting: string, env: Record<string, string> = AZURE_ENV) =>
  reportOf(dataDir, setting, { env });
const isCurrent = (dataDir: string) => expectCurrent(place(), dataDir, tempDir());

const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1, 2], "a")));
  return dataDir;
};

test("a wrong key: the error names the destination and no secret, and the exit code is that of refused credentials", async () => {
  const dataDir = await aMirror();
  const wrong = Buffer.from("a key that was never right for anything").toString("base64");
  const env = { DUCKMIRROR_DESTINATIONS: place().setting(), AZURE_STORAGE_ACCOUNT: ACCOUNT };
  const argv = ["deliver", "--json", "--data-dir", dataDir];
  const { code, out, err } = await cli(argv, { cwd: dataDir, env: { ...env, AZURE_STORAGE_KEY: wrong } });
  expect(code).toBe(3);
  expect(out + err).toContain("DESTINATION_REFUSED");
  expect(out + err).not.toContain(wrong);
  const { error } = await deliver(dataDir, place().setting(), { ...AZURE_ENV, AZURE_STORAGE_KEY: wrong });
  expect(error).toMatchObject({ code: "DESTINATION_REFUSED", message: expect.stringContaining("files") });
  expect(`${error?.stack} ${JSON.stringify(error)} ${String(error?.cause)}`).not.toMatch(/SharedKey|Authorization: /);
});

test("a SAS token and a connection string deliver, too; a token that may not write is refused, and is in no message", async () => {
  const dataDir = await aMirror();
  const sas = async (permissions: string) => {
    const url = await containerClient(place().storage.endpoint, place().name).generateSasUrl({
      permissions: ContainerSASPermissions.parse(permissions),
      expiresOn: new Date(Date.now() + 3_600_000),
    });
    return url.slice(url.indexOf("?"));
  };
  const AZURE_STORAGE_SAS_TOKEN = await sas("rcwdl");
  expect(await deliver(dataDir, place().setting(), { AZURE_STORAGE_SAS_TOKEN })).toMatchObject({ error: null });
  await isCurrent(dataDir);
  const readOnly = await sas("r");
  const [, signature = ""] = /sig=([^&]+)/.exec(readOnly) ?? [];
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1], "b")));
  const { error } = await deliver(dataDir, place().setting(), { AZURE_STORAGE_SAS_TOKEN: readOnly });
  expect(error).toMatchObject({ code: "DESTINATION_REFUSED" });
  expect(`${error?.stack} ${error?.cause}`).not.toContain(signature);
  const parts = ["DefaultEndpointsProtocol=http", `AccountName=${ACCOUNT}`, `AccountKey=${KEY}`];
  const text = [...parts, `BlobEndpoint=${place().storage.endpoint}`].join(";");
  const bare = place().setting({ endpoint: undefined });
  expect(await deliver(dataDir, bare, { AZURE_STORAGE_CONNECTION_STRING: text })).toMatchObject({ error: null });
  await isCurrent(dataDir);
});

test("no container, no account, a connection string of another account: errors that say what to do", async () => {
  const dataDir = await aMirror();
  const errorOf = async (setting: string, env?: Record<string, string>) => (await deliver(dataDir, setting, env)).error;
  const setting = (more: Record<string, unknown>) => place().setting(more);
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
