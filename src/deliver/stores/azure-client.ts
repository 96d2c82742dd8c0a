// Opens the Azure client of one container, for azure-store.ts: parses its address, chooses credentials (connection string, key, SAS token,
// else what Azure's SDK finds), and translates its failures.
import type { ContainerClient, RequestPolicyFactory } from "@azure/storage-blob";
import type { AzureEnvironment } from "../../core/config/destinations/secrets-in.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { HIDDEN } from "../../core/secret.ts";
import { ANSWER_MS, detailed, type Failure, failureError, loadPackages, messageOf } from "./object-store.ts";

// Addresses of containers of Azure Blob Storage. PURE.

export interface AzurePlace {
  readonly container: string;
  /** Without a slash at either end; empty: the whole container. */
  readonly prefix: string;
  /** null: the address does not name the account. */
  readonly account: string | null;
  /** Address of the account's blobs, with the account; null: as `account`. */
  readonly endpoint: string | null;
}

export const AZURE_SCHEMES: readonly string[] = ["az", "azure", "abfss"];

const CONTAINER = /^(?:\$web|\$root|[a-z0-9](?:-?[a-z0-9]){2,62})$/;
const HADOOP = /^([^@/]+)@([a-z0-9]{3,24})\.dfs\.(core\.[a-z.]+)$/;

/**
 * `rest`: the address without its scheme: container/prefix, or container@account.dfs.core.windows.net/prefix as Hadoop and
 * Spark write it. A text: what is wrong with it.
 */
export const parseAzure = (scheme: string, rest: string): AzurePlace | string => {
  if (/[?#]/.test(rest)) return "the address ends before ?; a SAS token belongs into AZURE_STORAGE_SAS_TOKEN";
  const [first = "", ...path] = rest.split("/");
  const prefix = path.filter((name) => name !== "").join("/");
  const [, container = "", account = "", suffix = ""] = HADOOP.exec(first) ?? [];
  if (CONTAINER.test(container)) {
    return { container, prefix, account, endpoint: `https://${account}.blob.${suffix}` };
  }
  if (scheme === "abfss") return "write abfss://container@account.dfs.core.windows.net/prefix";
  if (CONTAINER.test(first)) return { container: first, prefix, account: null, endpoint: null };
  return `it names no container: write ${scheme}://container/prefix, with the account in \`account\` or AZURE_STORAGE_ACCOUNT`;
};

/** Address that Spark and Trino know a container's key by; outside Azure's cloud only its names. */
export const azureAddress = ({ container }: AzurePlace, blobs: string, key: string): string => {
  const [, account, suffix] = /^https:\/\/([a-z0-9]+)\.blob\.(core\.[a-z.]+)\/?$/.exec(blobs) ?? [];
  return account === undefined ? `az://${container}/${key}` : `abfss://${container}@${account}.dfs.${suffix}/${key}`;
};

// Errors of Azure Blob Storage, or of its SDK, as errors of this program. PURE.

/** Longest message of the service that is shown; those of credentials list each place that was tried. */
const LONGEST = 400;
const SECRET = /\b(sig|AccountKey|SharedAccessSignature)=[^&\s;"']+/gi;

/** The message in one line, without the ids of the request and without secrets. */
const shown = (message: string): string => {
  const [text = ""] = message.split(/\s(?:RequestId|Time):/);
  const line = text.replace(SECRET, `$1=${HIDDEN}`).replace(/\s+/g, " ").trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`;
};

/** What is known of a failed call; null: not an error at all. */
export const failureOf = (error: unknown): Failure | null => {
  if (!(error instanceof Error)) return null;
  const name = "code" in error && typeof error.code === "string" ? error.code : error.name;
  const status = "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : null;
  return { name, status, detail: detailed(name, status, shown(messageOf(error))) };
};

const REFUSED =
  /^(Authentication|Authorization|InvalidAuthenticationInfo|NoAuthenticationInformation|AccountIsDisabled|KeyBasedAuthenticationNotPermitted|CredentialUnavailable|AggregateAuthentication|PublicAccessNotPermitted|InsufficientAccountPermissions)/;

/** There is no such blob. That there is no such container is a failure. */
export const isMissingBlob = ({ name, status }: Failure): boolean => status === 404 && name === "BlobNotFound";

/** The condition of a write did not hold: another writer was first. */
export const isLost = (failure: Failure): boolean =>
  failure.name === "ConditionNotMet" || failure.name === "BlobAlreadyExists" || isMissingBlob(failure);

/** Error for the user. Its cause is not the SDK's error, which holds the request with its credentials. */
export const storeError = (error: unknown, destination: string): unknown => {
  const failure = failureOf(error);
  if (failure === null || error instanceof DuckmirrorError) return error;
  const cause = new Error(failure.detail);
  // No answer in time: the SDK ends the request as if somebody had stopped it.
  const known = failure.name === "AbortError" ? { ...failure, detail: "it did not answer in time" } : failure;
  return failureError(known, REFUSED, destination, cause);
};

// Azure's SDK, which is installed only where a destination needs it. Newer versions than these need Node 22.

const STORAGE = "@azure/storage-blob@12.32";
const IDENTITY = "@azure/identity@4.13.1";

const storage = () => import("@azure/storage-blob");
type AzureStorage = Awaited<ReturnType<typeof storage>>;

/** Throws DESTINATION_PACKAGE_MISSING. */
export const loadAzureStorage = (name: string, from: () => Promise<AzureStorage> = storage): Promise<AzureStorage> =>
  loadPackages(name, `${STORAGE} ${IDENTITY}`, from);

/** For credentials that are neither a key nor a SAS token. Throws DESTINATION_PACKAGE_MISSING. */
const loadAzureIdentity = (name: string) => loadPackages(name, IDENTITY, () => import("@azure/identity"));

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
