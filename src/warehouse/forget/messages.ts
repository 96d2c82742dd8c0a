// Removes messages of alert rules that hold an erased person: those that wait, and dead letters; and what a rule notes of
// a query that failed at one of the person's values.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ALERTS } from "../../core/data-dir.ts";
import { allEntriesOfOwn, readOwnText, replaceFile } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import { formsOf, isWord } from "../../core/text/forms.ts";
import { takeWriterLock } from "../file/writer-lock.ts";
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

const eventSchema = z.object({ key: z.string(), row: z.unknown() });
const messageSchema = z.object({ body: z.object({ data: z.object({ events: z.array(eventSchema) }) }) });

/** A number with fewer digits is an amount, not an id. */
const SHORTEST_NUMBER = 6;

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)].filter((text) => text.length >= SHORTEST_NUMBER);
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [name, ...textsIn(part)]);
};

/** What a message says of people: its numbers and times would match a short id. */
const saidIn = (text: string): readonly string[] => {
  const message = messageSchema.safeParse(jsonOrNull(text));
  return message.success ? textsIn(message.data.body.data.events.map(({ key, row }) => [key, row])) : [text];
};

const problemSchema = z.looseObject({ problem: z.object({ message: z.string() }) });

/** Removes the problem of a rule whose query failed at a value of the person; the rule's next pass finds it anew. */
const clearProblem = async (folder: string, isTheirs: (text: string) => boolean): Promise<void> => {
  const file = join(folder, "position.json");
  const read = async () => problemSchema.safeParse(jsonOrNull(await readOwnText(file))).data;
  if (!isTheirs((await read())?.problem.message ?? "")) return;
  // Where a pass is under way, it keeps a position of its own; the search that follows finds what it left.
  const lock = await takeWriterLock(join(folder, "writer.lock"), folder).catch(() => null);
  try {
    const position = lock === null ? undefined : await read();
    if (position !== undefined) await replaceFile(file, `${JSON.stringify({ ...position, problem: null })}\n`);
  } finally {
    await lock?.release();
  }
};

/** Of messages, and of what a crash left of one. A rule's position stays: without it, every message that waits is lost. */
const MESSAGE = /^\d{12}\.json$|\.json\.new$/;

/** Paths of the removed messages. `state`: the folder state/ of the data directory. */
export const removeMessages = async (state: string, people: readonly Person[]): Promise<readonly string[]> => {
  const isTheirs = namesOneOf(people);
  const folder = join(state, ALERTS);
  const removed: string[] = [];
  for (const entry of allEntriesOfOwn(folder)) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    if (entry.name === "position.json") await clearProblem(entry.parentPath, isTheirs);
    if (!MESSAGE.test(entry.name)) continue;
    if (!saidIn(await readOwnText(file)).some(isTheirs)) continue;
    await rm(file);
    removed.push(file);
  }
  return removed;
};
