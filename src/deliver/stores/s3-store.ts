// `ObjectStore` for a bucket of Amazon S3 or of a service with its protocol, or a part of one. The SDK signs, finds the credentials and
// retries.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { PutObjectCommandInput, S3ClientConfig } from "@aws-sdk/client-s3";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readOwn, streamNew, streamOwn } from "../../core/files/own-files.ts";
import {
  ANSWER_MS,
  type Condition,
  contentType,
  detailed,
  type Failure,
  failureError,
  type LocalFile,
  loadPackages,
  messageOf,
  type ObjectStore,
  PIECES_AT_ONCE,
  pieceBytes,
  SINGLE_PUT_BYTES,
  type StoredFile,
  smallText,
  storeCalls,
  unconditional,
} from "./object-store.ts";

// Errors of an S3 service, or of the SDK, as errors of this program. PURE.

const statusOf = (error: Error): number | null => {
  if (!("$metadata" in error)) return null;
  const metadata = error.$metadata;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return null;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : null;
};

/** What is known of a failed call; null: not an error at all. */
export const failureOf = (error: unknown): Failure | null => {
  if (!(error instanceof Error)) return null;
  const status = statusOf(error);
  return { name: error.name, status, detail: detailed(error.name, status, messageOf(error)) };
};

const REFUSED =
  /^(AccessDenied|AllAccessDisabled|AccountProblem|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|CredentialsProviderError|RequestExpired|RequestTimeTooSkewed|Forbidden|TokenProviderError)/;
const OTHER_REGION =
  /^(PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException|TemporaryRedirect)$/;

/** The condition of a write did not hold: another writer was first, or is writing now. */
export const isLost = ({ name, status }: Failure): boolean =>
  status === 412 || name === "PreconditionFailed" || name === "ConditionalRequestConflict" || name === "NoSuchKey";

/** The store does not know conditional writes. */
const isUnknownCondition = ({ name, status }: Failure): boolean => status === 501 || name === "NotImplemented";

/** Error for the user. */
export const storeError = (error: unknown, destination: string): unknown => {
  const failure = failureOf(error);
  if (failure === null || error instanceof DuckmirrorError) return error;
  const { name: code, status, detail } = failure;
  const cause = { cause: error };
  if (/^Region is missing/.test(detailOf(error))) {
    const missing = `destinations: ${destination}: the region is not known; set \`region\` or AWS_REGION`;
    return new DuckmirrorError("CONFIG_INVALID", { detail: missing }, cause);
  }
  if (OTHER_REGION.test(code) || status === 301) {
    const wrong = `destinations: ${destination}: \`region\` or \`endpoint\` is not the bucket's (${detail})`;
    return new DuckmirrorError("CONFIG_INVALID", { detail: wrong }, cause);
  }
  return failureError(failure, REFUSED, destination, error);
};

// The AWS SDK, which is installed only where a destination needs it.

const load = async () => ({
  s3: await import("@aws-sdk/client-s3"),
  multipart: await import("@aws-sdk/lib-storage"),
});
type S3Packages = Awaited<ReturnType<typeof load>>;

/** Loads the SDK. Throws DESTINATION_PACKAGE_MISSING. */
export const loadS3 = (name: string, from: () => Promise<S3Packages> = load): Promise<S3Packages> =>
  loadPackages(name, "@aws-sdk/client-s3 @aws-sdk/lib-storage", from);

export interface BucketSettings {
  readonly region?: string | undefined;
  /** Address of a service that is not Amazon's. */
  readonly endpoint?: string | undefined;
  /** The bucket is in the path, not in the host name. */
  readonly pathStyle?: boolean | undefined;
  readonly sse?: "AES256" | "aws:kms" | undefined;
  readonly kmsKeyId?: string | undefined;
  /** Longest time in which a request moves no byte, ms. */
  readonly answerMs?: number | undefined;
}

export interface BucketPlace {
  readonly scheme: "s3" | "gs";
  readonly bucket: string;
  /** Without a slash at either end; empty: the whole bucket. */
  readonly prefix: string;
}

const MIB = 2 ** 20;
/** S3 takes 10,000 pieces. */
const MOST_PIECES = 9_000;
/**
 * With the SDK's growing waits (at most 20 s each), an outage of half a minute is bridged; a longer one ends the
 * delivery.
 */
const ATTEMPTS = 8;
const GOOGLE = "https://storage.googleapis.com";

const clientConfig = ({ scheme }: BucketPlace, settings: BucketSettings): S3ClientConfig => {
  const isGoogle = scheme === "gs";
  const endpoint = settings.endpoint ?? (isGoogle ? GOOGLE : undefined);
  // Other services do not care for the region, but the signature names one.
  const region = settings.region ?? (isGoogle ? "auto" : settings.endpoint === undefined ? undefined : "us-east-1");
  return {
    maxAttempts: ATTEMPTS,
    requestHandler: {
      connectionTimeout: 10_000,
      requestTimeout: 300_000,
      throwOnRequestTimeout: true,
      socketTimeout: settings.answerMs ?? ANSWER_MS,
    },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(settings.pathStyle === undefined ? {} : { forcePathStyle: settings.pathStyle }),
    // Google takes no checksums of Amazon's kind; the signature covers the body there.
    ...(isGoogle ? { requestChecksumCalculation: "WHEN_REQUIRED", responseChecksumValidation: "WHEN_REQUIRED" } : {}),
  };
};

const encryption = ({ sse, kmsKeyId }: BucketSettings): Partial<PutObjectCommandInput> => ({
  ...(sse === undefined ? {} : { ServerSideEncryption: sse }),
  ...(kmsKeyId === undefined ? {} : { SSEKMSKeyId: kmsKeyId }),
});

type Packages = Awaited<ReturnType<typeof loadS3>>;

/** A bucket that can be asked. */
interface Bucket extends Packages {
  readonly name: string;
  readonly client: InstanceType<Packages["s3"]["S3Client"]>;
  readonly isGoogle: boolean;
  /** What each object is written with. */
  readonly written: Partial<PutObjectCommandInput>;
  /** Before each key; empty or with a slash at its end. */
  readonly root: string;
  keyed(key: string): { readonly Bucket: string; readonly Key: string };
}

const { call, found } = storeCalls(storeError, (error) => failureOf(error)?.name === "NoSuchKey");

const sent = ({ keyed, written, isGoogle }: Bucket, key: string, body: Uint8Array | string, sha256: string | null) => ({
  ...keyed(key),
  ...written,
  Body: body,
  ...(isGoogle || sha256 === null ? {} : { ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64") }),
});

/** False: the condition does not hold. Throws DESTINATION_UNCONDITIONAL where the service does not know conditions. */
const putText = async (
  bucket: Bucket,
  key: string,
  text: string,
  { condition, abortSignal }: { readonly condition: Condition | null; readonly abortSignal: AbortSignal },
): Promise<boolean> => {
  const only = condition === null ? {} : "ifMatch" in condition ? { IfMatch: condition.ifMatch } : { IfNoneMatch: "*" };
  const { s3, client, name } = bucket;
  try {
    const input = { ...sent(bucket, key, text, null), ...only, ContentType: contentType(key) };
    await client.send(new s3.PutObjectCommand(input), { abortSignal });
    return true;
  } catch (error) {
    const failure = failureOf(error);
    if (condition !== null && failure !== null && isLost(failure)) return false;
    if (condition !== null && failure !== null && isUnknownCondition(failure)) throw unconditional(name);
    throw error;
  }
};

const uploadInPieces = async (
  { client, multipart, keyed, written, isGoogle }: Bucket,
  key: string,
  { path, bytes }: LocalFile,
  signal: AbortSignal,
): Promise<void> => {
  const abort = new AbortController();
  const onAbort = () => abort.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  const body = await streamOwn(path, { highWaterMark: MIB });
  try {
    const upload = new multipart.Upload({
      client,
      params: { ...keyed(key), ...written, Body: body, ...(isGoogle ? {} : { ChecksumAlgorithm: "SHA256" }) },
      partSize: pieceBytes(bytes, MOST_PIECES),
      queueSize: PIECES_AT_ONCE,
      abortController: abort,
    });
    await upload.done();
  } finally {
    signal.removeEventListener("abort", onAbort);
    body.destroy();
  }
};

const uploadFile = async (bucket: Bucket, key: string, file: LocalFile, abortSignal: AbortSignal): Promise<void> => {
  if (file.bytes > SINGLE_PUT_BYTES) return uploadInPieces(bucket, key, file, abortSignal);
  const body = await readOwn(file.path);
  const { s3, client } = bucket;
  await client.send(new s3.PutObjectCommand(sent(bucket, key, body, file.sha256)), { abortSignal });
};

const downloadFile = async (
  { s3, client, keyed }: Bucket,
  key: string,
  path: string,
  abortSignal: AbortSignal,
): Promise<true> => {
  const { Body } = await client.send(new s3.GetObjectCommand(keyed(key)), { abortSignal });
  if (!(Body instanceof Readable)) throw new TypeError(`${key} came without a body`);
  await pipeline(Body, streamNew(path), { signal: abortSignal });
  return true;
};

async function* listFiles(
  { name, s3, client, root, keyed }: Bucket,
  abortSignal: AbortSignal,
): AsyncGenerator<StoredFile> {
  const { Bucket } = keyed("");
  let next: string | undefined;
  do {
    const from = next === undefined ? {} : { ContinuationToken: next };
    const command = new s3.ListObjectsV2Command({ Bucket, Prefix: root, ...from });
    const page = await call(name, abortSignal, () => client.send(command, { abortSignal }));
    for (const { Key, LastModified } of page.Contents ?? []) {
      if (Key === undefined || LastModified === undefined) continue;
      yield { key: Key.slice(root.length), modifiedAt: LastModified.getTime() };
    }
    next = page.NextContinuationToken;
  } while (next !== undefined);
}

const openBucket = async (name: string, place: BucketPlace, settings: BucketSettings): Promise<Bucket> => {
  const packages = await loadS3(name);
  const root = place.prefix === "" ? "" : `${place.prefix}/`;
  return {
    ...packages,
    name,
    client: new packages.s3.S3Client(clientConfig(place, settings)),
    isGoogle: place.scheme === "gs",
    written: encryption(settings),
    root,
    keyed: (key) => ({ Bucket: place.bucket, Key: `${root}${key}` }),
  };
};

/** Throws DESTINATION_PACKAGE_MISSING. Sends nothing yet. */
export const s3Store = async (name: string, place: BucketPlace, settings: BucketSettings): Promise<ObjectStore> => {
  const bucket = await openBucket(name, place, settings);
  const { s3, client, keyed, root } = bucket;
  return {
    name,
    address: (key) => `${place.scheme}://${place.bucket}/${root}${key}`,
    get: (key, abortSignal) =>
      call(name, abortSignal, () =>
        found(async () => {
          const { Body, ETag = "" } = await client.send(new s3.GetObjectCommand(keyed(key)), { abortSignal });
          return { text: Body instanceof Readable ? await smallText(Body, name, key) : "", etag: ETag };
        }),
      ),
    put: (key, text, condition, abortSignal) =>
      call(name, abortSignal, () => putText(bucket, key, text, { condition, abortSignal })),
    upload: (key, file, abortSignal) => call(name, abortSignal, () => uploadFile(bucket, key, file, abortSignal)),
    download: (key, path, abortSignal) =>
      call(name, abortSignal, async () => (await found(() => downloadFile(bucket, key, path, abortSignal))) ?? false),
    list: (abortSignal) => listFiles(bucket, abortSignal),
    // One by one: not every service takes a list, and few parts go at once.
    delete: (keys, abortSignal) =>
      call(name, abortSignal, async () => {
        for (const key of keys) await client.send(new s3.DeleteObjectCommand(keyed(key)), { abortSignal });
      }),
    close: () => client.destroy(),
  };
};
