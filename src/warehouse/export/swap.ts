// Moves a finished export into place. All files are first written and synced in `.staging`; then a plan lists the
// moves. Once the plan exists, the new set is certain: this process, or the next one after a kill, carries the plan
// out. Each file is replaced by a rename, so a reader sees either version whole and a glob never matches both. The
// manifest is replaced last. Staged files without a plan are deleted.

import { chmodSync, existsSync, lstatSync, rmdirSync, rmSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { DuckmirrorError, hasSystemCode } from "../../core/errors.ts";
import { makeFolders, writeNewSync } from "../../core/files/own-files.ts";
import { flushToDisk, moveOver } from "../../core/system.ts";
import { MANIFEST_NAME, planSchema, readJson, type SwapPlan } from "./manifest.ts";

const PLAN_NAME = "plan.json";

export const stagingDir = (dir: string): string => join(dir, ".staging");

/** Permissions of an export's files and folders: those of the folder that contains them. */
export const modesOf = (dir: string): { readonly file: number; readonly folder: number } => {
  const mode = statSync(dir).mode & 0o777;
  return { file: mode & 0o666, folder: mode };
};

const ifThere = (act: () => void, ...codes: readonly string[]): void => {
  try {
    act();
  } catch (error) {
    if (!hasSystemCode(error, "ENOENT", ...codes)) throw error;
  }
};

/** Throws if a path read from disk leads out of the folder. */
const inside = (dir: string, path: string): string => {
  const full = join(dir, path);
  if (relative(dir, full).split(sep)[0] === "..") {
    throw new DuckmirrorError("EXPORT_FOLDER", { dir, detail: `${path} leads out of the folder` });
  }
  return full;
};

/**
 * Refuses a folder below `dir` that is a link, or is inside one: another user with write access could otherwise
 * redirect writes and removals to any place. `dir` itself may be a link, because the caller named it.
 */
export const refuseLinks = (dir: string, folder: string): void => {
  for (let path = folder; path !== dir && path.startsWith(dir); path = dirname(path)) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isDirectory()) continue;
    const detail = `${relative(dir, path)} is not a folder of its own; remove it`;
    throw new DuckmirrorError("EXPORT_FOLDER", { dir, detail });
  }
};

const writeInPlace = async (file: string, text: string, mode: number): Promise<void> => {
  // An existing file was left by a crash, or planted; creating a new file follows no link.
  rmSync(`${file}.new`, { force: true });
  // Flushed before it has its name: a loss of power must not leave an empty manifest, which no later export accepts.
  writeNewSync(`${file}.new`, text, { mode, flush: true });
  chmodSync(`${file}.new`, mode);
  await moveOver(`${file}.new`, file);
};

/** Carries out the plan. The caller holds the lock of the folder. */
const carryOut = async (dir: string, plan: SwapPlan): Promise<void> => {
  const staging = stagingDir(dir);
  const modes = modesOf(dir);
  const folders = new Set([dir]);
  for (const { to } of plan.moves) {
    const folder = dirname(inside(dir, to));
    refuseLinks(dir, folder);
    folders.add(folder).add(dirname(folder));
    if (makeFolders(folder) !== undefined) chmodSync(folder, modes.folder);
  }
  // Files moved before a crash are no longer staged.
  for (const { from, to } of plan.moves) {
    const staged = inside(staging, from);
    if (existsSync(staged)) await moveOver(staged, inside(dir, to));
  }
  await writeInPlace(join(dir, MANIFEST_NAME), `${JSON.stringify(plan.manifest, null, 1)}\n`, modes.file);
  for (const file of plan.removals) {
    refuseLinks(dir, dirname(inside(dir, file)));
    ifThere(() => rmSync(inside(dir, file)));
    // Remove the month's folder, then its table's folder if empty: readers refuse a folder without files.
    const folder = dirname(inside(dir, file));
    for (const left of [folder, dirname(folder)].filter((path) => path !== dir && path.startsWith(dir))) {
      ifThere(() => rmdirSync(left), "ENOTEMPTY", "EEXIST", "EBUSY");
    }
  }
  for (const folder of folders) await flushToDisk(folder);
  await rm(staging, { recursive: true, force: true });
};

/** Moves a staged set into place. The staged files must be synced. */
export const swapIn = async (dir: string, plan: SwapPlan): Promise<void> => {
  const staging = stagingDir(dir);
  const file = join(staging, PLAN_NAME);
  writeNewSync(`${file}.new`, JSON.stringify(plan), { flush: true });
  await moveOver(`${file}.new`, file);
  await flushToDisk(staging);
  await carryOut(dir, plan);
};

/** Finishes or deletes the leftovers of a killed export. Returns which of the two it did. */
export const recoverSwap = async (dir: string): Promise<"finished" | "discarded" | "nothing"> => {
  const staging = stagingDir(dir);
  refuseLinks(dir, staging);
  const found = await readJson(join(staging, PLAN_NAME));
  if (found !== null) {
    await carryOut(dir, planSchema.parse(found));
    return "finished";
  }
  if (statSync(staging, { throwIfNoEntry: false }) === undefined) return "nothing";
  await rm(staging, { recursive: true, force: true });
  return "discarded";
};
