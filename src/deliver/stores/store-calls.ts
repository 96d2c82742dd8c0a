// Shared code of the object stores: calls with translated errors, packages that are installed only if a destination needs them,
// and files sent in pieces.
import { DuckmirrorError } from "../../core/errors.ts";

const MIB = 2 ** 20;
/** A larger file is sent in pieces, each repeated on its own. */
export const SINGLE_PUT_BYTES = 16 * MIB;
const PIECE_BYTES = 8 * MIB;
/** Longest time in which a request moves no byte, unless it is configured, ms. */
export const ANSWER_MS = 60_000;

export const PIECES_AT_ONCE = 4;

/** `most`: pieces that the service takes for one file. */
export const pieceBytes = (bytes: number, most: number): number => Math.max(PIECE_BYTES, Math.ceil(bytes / most));

export const contentType = (key: string): string => (key.endsWith(".json") ? "application/json" : "text/plain");

/** Runs one call. `translate` makes the error for the user. */
export const storeCall = async <T>(
  signal: AbortSignal,
  translate: (error: unknown) => unknown,
  work: () => Promise<T>,
): Promise<T> => {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    // SDKs throw errors of their own for an abort.
    signal.throwIfAborted();
    throw translate(error);
  }
};

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

/** Loads packages. Throws DESTINATION_PACKAGE_MISSING, with what to install. */
export const loadPackages = async <T>(name: string, packages: string, from: () => Promise<T>): Promise<T> => {
  try {
    return await from();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new DuckmirrorError("DESTINATION_PACKAGE_MISSING", { name, kind: "parquet", packages }, { cause: error });
  }
};
