// Errors of Azure Blob Storage, or of its SDK, as errors of this program. PURE.
import { DuckmirrorError } from "../../core/errors.ts";
import { HIDDEN } from "../../core/secret.ts";
import { detailed, type Failure, failureError, messageOf } from "./store-errors.ts";

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
