// The error for a file or folder of the mirror that could not be written.
import { DuckmirrorError, detailOf } from "../errors.ts";

/** System errors of a full disk, and of a user who has used up a share of it. */
const FULL: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/** DISK_FULL if that is the cause, else DATA_DIR_UNWRITABLE for `dir`. */
export const unwritable = (dir: string, cause: unknown): DuckmirrorError => {
  const detail = detailOf(cause);
  return cause instanceof Error && "code" in cause && FULL.includes(cause.code)
    ? new DuckmirrorError("DISK_FULL", { detail }, { cause })
    : new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir, detail }, { cause });
};
