// Failed calls of object storage, whatever the service, as errors of this program. PURE.
import { DuckmirrorError, detailOf } from "../../core/errors.ts";

export interface Failure {
  /** Code of the service, or name of the SDK's error. */
  readonly name: string;
  /** null: no response. */
  readonly status: number | null;
  readonly detail: string;
}

/** Message of an error. Errors of a socket with several addresses have none of their own. */
export const messageOf = (error: Error): string => {
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return detailOf(error) === "" ? (code ?? error.name) : detailOf(error);
};

/** `message` with the name of the failure and the status. */
export const detailed = (name: string, status: number | null, message: string): string => {
  const named = name === "Error" || message.includes(name) ? message : `${name}: ${message}`;
  return status === null ? named : `${named} (HTTP ${status})`;
};

/** Error for the user. `refused`: names of failures that are about credentials. */
export const failureError = (
  { name, status, detail }: Failure,
  refused: RegExp,
  destination: string,
  cause: unknown,
): DuckmirrorError => {
  const context = { name: destination, detail };
  if (refused.test(name) || status === 401 || status === 403) {
    return new DuckmirrorError("DESTINATION_REFUSED", context, { cause });
  }
  const isRefusal = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new DuckmirrorError(isRefusal ? "DESTINATION_FAILED" : "DESTINATION_AWAY", context, { cause });
};
