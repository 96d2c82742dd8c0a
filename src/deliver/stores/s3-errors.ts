// Errors of an S3 service, or of the SDK, as errors of this program. PURE.
import { DuckmirrorError, detailOf } from "../../core/errors.ts";

interface Failure {
  /** Code of the service, or name of the SDK's error. */
  readonly name: string;
  /** null: no response. */
  readonly status: number | null;
  readonly detail: string;
}

const statusOf = (error: Error): number | null => {
  if (!("$metadata" in error)) return null;
  const metadata = error.$metadata;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return null;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : null;
};

/** What is known of a failed call; null: not an error at all. */
export const failureOf = (error: unknown): Failure | null => {
  if (!(error instanceof Error)) return null;
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  // Errors of a socket with several addresses have no message of their own.
  const message = detailOf(error) === "" ? (code ?? error.name) : detailOf(error);
  const status = statusOf(error);
  const named = error.name === "Error" || message.includes(error.name) ? message : `${error.name}: ${message}`;
  return { name: error.name, status, detail: status === null ? named : `${named} (HTTP ${status})` };
};

const REFUSED =
  /^(AccessDenied|AllAccessDisabled|AccountProblem|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|CredentialsProviderError|RequestExpired|RequestTimeTooSkewed|Forbidden|TokenProviderError)/;
const OTHER_REGION =
  /^(PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException|TemporaryRedirect)$/;

/** The condition of a write did not hold: another writer was first, or is writing now. */
export const isLost = ({ name, status }: Failure): boolean =>
  status === 412 || name === "PreconditionFailed" || name === "ConditionalRequestConflict" || name === "NoSuchKey";

/** The store does not know conditional writes. */
export const isUnknownCondition = ({ name, status }: Failure): boolean => status === 501 || name === "NotImplemented";

/** Error for the user. */
export const storeError = (error: unknown, destination: string): unknown => {
  const failure = failureOf(error);
  if (failure === null || error instanceof DuckmirrorError) return error;
  const { name: code, status, detail } = failure;
  const cause = { cause: error };
  const context = { name: destination, detail };
  if (code === "NoSuchBucket") return new DuckmirrorError("DESTINATION_FAILED", context, cause);
  if (/^Region is missing/.test(detailOf(error))) {
    const missing = `destinations: ${destination}: the region is not known; set \`region\` or AWS_REGION`;
    return new DuckmirrorError("CONFIG_INVALID", { detail: missing }, cause);
  }
  if (OTHER_REGION.test(code) || status === 301) {
    const wrong = `destinations: ${destination}: \`region\` or \`endpoint\` is not the bucket's (${detail})`;
    return new DuckmirrorError("CONFIG_INVALID", { detail: wrong }, cause);
  }
  if (REFUSED.test(code) || status === 401 || status === 403) {
    return new DuckmirrorError("DESTINATION_REFUSED", context, cause);
  }
  const isRefusal = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new DuckmirrorError(isRefusal ? "DESTINATION_FAILED" : "DESTINATION_AWAY", context, cause);
};
