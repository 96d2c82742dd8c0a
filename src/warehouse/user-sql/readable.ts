// Checks that a snapshot may be opened: it must exist, and without a WAL, because a reader would apply it.
import { statSync } from "node:fs";
import { DuckmirrorError } from "../../core/errors.ts";

/**
 * Publishing leaves no `<snapshot>.wal`. If one exists, something else wrote it, and it would change what readers
 * see. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED.
 */
export const assertReadable = (snapshot: string): void => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) {
    throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
  }
  if (statSync(`${snapshot}.wal`, { throwIfNoEntry: false }) === undefined) return;
  const detail = `${snapshot}.wal lies beside it, which duckmirror never writes`;
  throw new DuckmirrorError("SNAPSHOT_DAMAGED", { file: snapshot, detail });
};
