// May a snapshot be opened? It must be there, and it must be alone: a WAL beside it would be carried out by its reader.
import { statSync } from "node:fs";
import { DuckmirrorError } from "../../core/errors.ts";

/**
 * Publishing leaves no `<snapshot>.wal`: one that is there was put there by somebody else, and would change what every
 * reader sees. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED.
 */
export const assertReadable = (snapshot: string): void => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) {
    throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
  }
  if (statSync(`${snapshot}.wal`, { throwIfNoEntry: false }) === undefined) return;
  const detail = `${snapshot}.wal lies beside it, which duckmirror never writes`;
  throw new DuckmirrorError("SNAPSHOT_DAMAGED", { file: snapshot, detail });
};
