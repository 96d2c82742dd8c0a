// The structure of the code in figures: what every folder holds and how its parts import one another. Pure.
import { posix } from "node:path";
import { isRelative, type Parsed, parse, resolveFrom, type SourceFile } from "./parsed-source.ts";

export interface FolderFigures {
  readonly folder: string;
  /** Files and folders directly in it. */
  readonly parts: number;
  /** Pairs of parts of which one imports the other. */
  readonly arrows: number;
  /** Parts on the longest chain of imports. */
  readonly floors: number;
}

export interface Structure {
  readonly folders: readonly FolderFigures[];
  /** `src/sync/run -> src/sync/task`, with how many imports; between all folders that hold files. */
  readonly arrows: readonly { readonly from: string; readonly to: string; readonly imports: number }[];
  /** Files in lines, the longest first. */
  readonly files: readonly { readonly path: string; readonly lines: number }[];
  /** Functions in lines, the longest first. */
  readonly functions: readonly { readonly path: string; readonly name: string; readonly lines: number }[];
}

/** `src/sync/run/reconcile/delete-missing-rows.ts` seen from `src/sync` is `run`; null where the folder does not hold it. */
const partOf = (folder: string, path: string): string | null => {
  if (!path.startsWith(`${folder}/`)) return null;
  const [part = ""] = path.slice(folder.length + 1).split("/");
  return part;
};

const targetsOf = (file: Parsed): readonly string[] =>
  file.imports
    .filter(({ specifier }) => isRelative(specifier))
    .map(({ specifier }) => resolveFrom(file.path, specifier));

/** Longest chain, in parts. Imports between files have no circle; between folders they may, which ends the chain. */
const floorsOf = (parts: readonly string[], below: ReadonlyMap<string, ReadonlySet<string>>): number => {
  const height = (part: string, above: readonly string[]): number => {
    const next = [...(below.get(part) ?? [])].filter((other) => !above.includes(other));
    return 1 + Math.max(0, ...next.map((other) => known.get(other) ?? height(other, [...above, part])));
  };
  const known = new Map<string, number>();
  for (const part of parts) known.set(part, height(part, []));
  return Math.max(0, ...known.values());
};

const figuresOf = (folder: string, files: readonly Parsed[]): FolderFigures => {
  const below = new Map<string, Set<string>>();
  for (const file of files) {
    const from = partOf(folder, file.path);
    if (from === null) continue;
    const targets = below.get(from) ?? new Set<string>();
    below.set(from, targets);
    for (const target of targetsOf(file)) {
      const to = partOf(folder, target);
      if (to !== null && to !== from) targets.add(to);
    }
  }
  const parts = [...below.keys()];
  const arrows = [...below.values()].reduce((sum, targets) => sum + targets.size, 0);
  return { folder, parts: parts.length, arrows, floors: floorsOf(parts, below) };
};

/** Every folder above the file: `src/sync/run/reconcile/delete-missing-rows.ts` gives `src`, `src/sync` and `src/sync/run`. */
const foldersOf = ({ path }: SourceFile): readonly string[] => {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
};

export const structureOf = (sources: readonly SourceFile[]): Structure => {
  const files = sources.map(parse);
  const folders = [...new Set(files.flatMap(foldersOf))].sort();
  const arrows = new Map<string, number>();
  for (const file of files) {
    for (const target of targetsOf(file)) {
      const [from, to] = [posix.dirname(file.path), posix.dirname(target)];
      if (from !== to) arrows.set(`${from} -> ${to}`, (arrows.get(`${from} -> ${to}`) ?? 0) + 1);
    }
  }
  const longestFirst = (a: { lines: number }, b: { lines: number }) => b.lines - a.lines;
  return {
    folders: folders.map((folder) => figuresOf(folder, files)),
    arrows: [...arrows].sort().map(([arrow, imports]) => {
      const [from = "", to = ""] = arrow.split(" -> ");
      return { from, to, imports };
    }),
    files: files.map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length })).sort(longestFirst),
    functions: files
      .flatMap(({ path, functions }) => functions.map(({ name, lines }) => ({ path, name, lines })))
      .sort(longestFirst),
  };
};
