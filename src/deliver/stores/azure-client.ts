// A client for one container of Azure Blob Storage. Credentials: connection string, key, SAS token, else what Azure's
// SDK finds: a service principal, a workload or managed identity, or the login of the Azure command line.
import type { ContainerClient, RequestPolicyFactory } from "@azure/storage-blob";
import type { AzureEnvironment } from "../../core/config/destinations/azure-environment.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { AzurePlace } from "./azure-address.ts";
import { type AzureStorage, loadAzureIdentity, loadAzureStorage } from "./azure-packages.ts";
import { ANSWER_MS } from "./store-calls.ts";

export interface AzureSettings {
  /** Storage account; unset: as the environment says. */
  readonly account?: string | undefined;
  /** Address of the account's blobs where it is not Azure's own, e.g. an emulator's. */
  readonly endpoint?: string | undefined;
  readonly azure?: AzureEnvironment | undefined;
  /** Longest time in which a request moves no byte, ms. */
  readonly answerMs?: number | undefined;
}

/** Waits of 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 16 s: a delivery survives an outage of half a minute, but no longer one. */
const RETRIES = { maxTries: 8, retryDelayInMs: 500, maxRetryDelayInMs: 16_000 };
/** A request may take this many times `answerMs`, its repetitions included. */
const MOST_ANSWERS = 10;

/**
 * Ends a request after `mostMs`. The SDK's own timeout is not used: its timer runs on after a failed connection, and Node waits
 * for it before the program ends.
 */
const inTime = (mostMs: number): RequestPolicyFactory => ({
  create: (next) => ({
    sendRequest: async (request) => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), mostMs);
      const stop = request.abortSignal instanceof AbortSignal ? [request.abortSignal] : [];
      request.abortSignal = AbortSignal.any([...stop, late.signal]);
      try {
        return await next.sendRequest(request);
      } finally {
        clearTimeout(timer);
      }
    },
  }),
});

type Service = InstanceType<AzureStorage["BlobServiceClient"]>;

const sameUrl = (one: string, other: string): boolean => one.replace(/\/+$/, "") === other.replace(/\/+$/, "");

/** The service that a connection string names, with its credentials. No message quotes the string, because it holds a key. */
const fromConnectionString = (
  { BlobServiceClient }: AzureStorage,
  text: string,
  refuse: (detail: string) => DuckmirrorError,
): Service => {
  try {
    return BlobServiceClient.fromConnectionString(text);
  } catch {
    throw refuse("AZURE_STORAGE_CONNECTION_STRING is not valid");
  }
};

/** The client of the storage account, with the first credentials found. */
const openService = async (name: string, place: AzurePlace, settings: AzureSettings): Promise<Service> => {
  const storage = await loadAzureStorage(name);
  const { BlobServiceClient, newPipeline, AnonymousCredential, StorageSharedKeyCredential } = storage;
  const refuse = (detail: string) =>
    new DuckmirrorError("CONFIG_INVALID", { detail: `destinations: ${name}: ${detail}` });
  const { azure } = settings;
  const wanted = settings.account ?? place.account;
  const serviceOf = (url: string, credential: Parameters<typeof newPipeline>[0]): Service => {
    const pipeline = newPipeline(credential, { retryOptions: RETRIES });
    pipeline.factories.push(inTime(MOST_ANSWERS * (settings.answerMs ?? ANSWER_MS)));
    return new BlobServiceClient(url, pipeline);
  };
  if (place.account !== null && settings.account !== undefined && settings.account !== place.account)
    throw refuse("`account` is not the account of the address");
  const given = settings.endpoint ?? place.endpoint;
  if (azure?.connectionString) {
    const found = fromConnectionString(storage, azure.connectionString.reveal(), refuse);
    const [own = ""] = found.url.split("?");
    const isOther = (wanted !== null && wanted !== found.accountName) || (given !== null && !sameUrl(own, given));
    if (isOther) throw refuse("AZURE_STORAGE_CONNECTION_STRING is for another account");
    return serviceOf(found.url, found.credential);
  }
  const account = wanted ?? azure?.account ?? null;
  const url = given ?? (account === null ? null : `https://${account}.blob.core.windows.net`);
  if (url === null) throw refuse("the storage account is not known; set `account` or AZURE_STORAGE_ACCOUNT");
  if (azure?.key) {
    if (account === null) throw refuse("a key needs its account; set `account` or AZURE_STORAGE_ACCOUNT");
    return serviceOf(url, new StorageSharedKeyCredential(account, azure.key.reveal()));
  }
  if (azure?.sasToken) {
    return serviceOf(`${url}?${azure.sasToken.reveal().replace(/^\?/, "")}`, new AnonymousCredential());
  }
  if (!url.startsWith("https:")) throw refuse("`endpoint` must be https: tokens are not sent in the open");
  const { DefaultAzureCredential } = await loadAzureIdentity(name);
  return serviceOf(url, new DefaultAzureCredential());
};

/** Sends nothing yet. Throws DESTINATION_PACKAGE_MISSING, CONFIG_INVALID. */
export const openContainer = async (
  name: string,
  place: AzurePlace,
  settings: AzureSettings,
): Promise<ContainerClient> => (await openService(name, place, settings)).getContainerClient(place.container);
