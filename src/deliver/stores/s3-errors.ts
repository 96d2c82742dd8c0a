// Errors of an S3 service, or of the SDK, as errors of this program. PURE.
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { detailed, type Failure, failureError, messageOf } from "./store-errors.ts";

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
export const isUnknownCondition = ({ name, status }: Failure): boolean => status === 501 || name === "NotImplemented";

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
