// Whether a file is one that duckmirror made. A snapshot that this machine published is known by its place on the disk, which nobody can
// send along with a file. Any other file is inspected in the fenced process before this one binds its views.
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readOwnIfThere } from "../../core/files/own-files.ts";
import { replaceFile } from "../archive/replace-file.ts";
import { fileError } from "../duckdb/duck-errors.ts";
import { createProcessPool, endOf } from "./process-pool.ts";
import type { SqlProcess } from "./sql-process.ts";

const LIMITS = { memoryMiB: 512 };
const SHOWN = 3;

const identityOf = (file: string): string => {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs].join(" ");
};

/** Beside the snapshot, where a mirror has its state. */
const noteOf = (snapshot: string) => join(dirname(snapshot), "state", "published");

/** Files that this process knows. */
const known = new Set<string>();

/** Notes a snapshot that this program has just published. A note that cannot be written costs an inspection. */
export const noteOwn = async (snapshot: string): Promise<void> => {
  const identity = identityOf(snapshot);
  known.add(identity);
  await replaceFile(noteOf(snapshot), `${identity}\n`).catch(() => undefined);
};

const inspect = async (file: string): Promise<readonly string[]> => {
  const pool = createProcessPool(LIMITS, { spare: false, onCrash: () => {}, mayDoWithoutFence: true });
  const held: SqlProcess[] = [];
  try {
    const sqlProcess = await pool.take(file, (one) => held.push(one));
    const answer = await sqlProcess.request({ kind: "inspect", snapshot: file });
    if (answer.kind === "inspected") return answer.foreign;
    throw fileError(new Error(answer.kind === "failed" ? answer.detail : answer.kind), file, true);
  } finally {
    await Promise.all(held.map(endOf));
  }
};

/**
 * Returns for a file from elsewhere that holds only what duckmirror makes, of this version or another. Throws CATALOG_REFUSED with
 * the names of what else it holds, SNAPSHOT_DAMAGED.
 */
export const assertForeignCatalog = async (path: string): Promise<void> => {
  const file = resolve(path);
  const identity = identityOf(file);
  if (known.has(identity)) return;
  const foreign = await inspect(file).catch((error: unknown) => {
    if (error instanceof DuckmirrorError && error.code !== "QUERY_LIMIT") throw error;
    throw new DuckmirrorError("CATALOG_REFUSED", { file, detail: `its catalog cannot be read: ${detailOf(error)}` });
  });
  const more = foreign.length > SHOWN ? `, and ${foreign.length - SHOWN} more` : "";
  const detail = `${foreign.slice(0, SHOWN).join(", ")}${more}`;
  if (foreign.length > 0) throw new DuckmirrorError("CATALOG_REFUSED", { file, detail });
  known.add(identity);
};

/** The same for a snapshot; one that this program published here is known. */
export const assertOwnCatalog = async (snapshot: string): Promise<void> => {
  const noted = await readOwnIfThere(noteOf(snapshot)).catch(() => null);
  if (noted?.trim() !== identityOf(snapshot)) await assertForeignCatalog(snapshot);
};
