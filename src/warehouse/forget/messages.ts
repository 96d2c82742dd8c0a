// Removes messages of alert rules that hold an erased person: those that wait, and dead letters.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ALERTS } from "../../core/data-dir.ts";
import { formsOf, isWord } from "../../core/text/forms.ts";
import type { Person } from "./rows.ts";

/** Whether a text holds a text of theirs where no letter or digit is next to it, because a short id is part of many texts. */
const namesOneOf = (people: readonly Person[]): ((text: string) => boolean) => {
  const forms = new Set(people.flatMap(({ traces }) => traces.map(({ text }) => formsOf(text))));
  const patterns = [...forms].map((form) => new RegExp(form, "gu"));
  return (text) =>
    patterns.some((pattern) =>
      [...text.matchAll(pattern)].some((match) => isWord(text, match.index, match.index + match[0].length)),
    );
};

/** Paths of the removed messages. `state`: the folder state/ of the data directory. */
export const removeMessages = async (state: string, people: readonly Person[]): Promise<readonly string[]> => {
  const isTheirs = namesOneOf(people);
  const folder = join(state, ALERTS);
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const removed: string[] = [];
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !/\.json(\.new)?$/.test(entry.name)) continue;
    if (!isTheirs(await readFile(file, "utf8"))) continue;
    await rm(file);
    removed.push(file);
  }
  return removed;
};
