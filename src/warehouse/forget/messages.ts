// Removes messages of alert rules that hold an erased person: those that wait, and dead letters.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ALERTS } from "../../core/data-dir.ts";
import type { Person } from "./rows.ts";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Matches a text where no letter or digit is next to it, because a short id is part of many texts. */
const wordsOf = (people: readonly Person[]): RegExp | null => {
  const texts = people.flatMap(({ traces }) =>
    traces.flatMap(({ text }) => [text, JSON.stringify(text).slice(1, -1)].map(escaped)),
  );
  if (texts.length === 0) return null;
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${[...new Set(texts)].join("|")})(?![\\p{L}\\p{N}])`, "u");
};

/** Paths of the removed messages. `state`: the folder state/ of the data directory. */
export const removeMessages = async (state: string, people: readonly Person[]): Promise<readonly string[]> => {
  const words = wordsOf(people);
  const folder = join(state, ALERTS);
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const removed: string[] = [];
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name);
    if (words === null || !entry.isFile() || !/\.json(\.new)?$/.test(entry.name)) continue;
    if (!words.test(await readFile(file, "utf8"))) continue;
    await rm(file);
    removed.push(file);
  }
  return removed;
};
