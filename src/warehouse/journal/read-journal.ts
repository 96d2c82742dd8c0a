// Reads the journal: every change that was made, in order. If a number occurs twice, the first change was never made
// (its transaction failed or the process ended) and the later entry replaces it.

import { basename } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { streamOwn } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import { byText, monthFiles } from "../archive/read-archive.ts";
import { type JournalEvent, journalEventSchema } from "./journal-event.ts";

/** End of a journal file's name, after the number of its first entry. */
export const JOURNAL = ".journal.ndjson";

/** Journal files in the order they were written. Throws as `monthFiles`. */
export const journalFiles = async (dir: string): Promise<readonly string[]> => {
  const files = (await monthFiles(dir)).flatMap(({ month, name, path }) => {
    const [, seq, part = "1"] = /^(\d{12})(?:\.(\d+))?\.journal\.ndjson$/.exec(name) ?? [];
    return seq === undefined ? [] : [{ path, month, seq: Number(seq), part: Number(part) }];
  });
  files.sort((a, b) => a.seq - b.seq || byText(a.month, b.month) || a.part - b.part);
  return files.map(({ path }) => path);
};

/** Parsed lines; with `text`, only those that hold it. */
async function* lines(file: string, text = ""): AsyncIterable<unknown> {
  const input = await streamOwn(file);
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (!line.includes(text)) continue;
      const value = jsonOrNull(line);
      if (value !== null) yield value;
    }
  } finally {
    // A reader that stops early leaves it open.
    input.destroy();
  }
}

const numbered = z.object({ seq: z.int().positive() });

/** Number of the last entry; 0 without any. Reads the newest file only. */
export const lastJournalled = async (dir: string): Promise<number> => {
  for (const file of [...(await journalFiles(dir))].reverse()) {
    let last = 0;
    for await (const line of lines(file)) {
      const found = numbered.safeParse(line);
      if (found.success) last = found.data.seq;
    }
    if (last > 0) return last;
  }
  return 0;
};

type ForgottenEntry = Extract<JournalEvent["entry"], { kind: "forgotten" }>;

/** True when the journal holds its first entry, so that a replay needs no baseline. */
export const beginsAtFirst = async (dir: string): Promise<boolean> => {
  const [first] = await journalFiles(dir);
  return first !== undefined && /^0*1\./.test(basename(first));
};

/** Entries of all erasures. Two with one number are the same erasure, begun twice. */
export const readForgottenEntries = async (dir: string): Promise<readonly ForgottenEntry[]> => {
  const found: ForgottenEntry[] = [];
  for (const file of await journalFiles(dir)) {
    for await (const line of lines(file, '"kind":"forgotten"')) {
      const event = journalEventSchema.safeParse(line);
      if (event.success && event.data.entry.kind === "forgotten") found.push(event.data.entry);
    }
  }
  return found;
};

/**
 * Every entry after number `after` whose change was made, oldest first. The very last one counts as made, because the
 * journal alone cannot show it. Calls `gap` for missing numbers. Throws ARCHIVE_INCOMPLETE on an entry that this
 * program cannot read.
 */
export async function* readJournal(
  dir: string,
  gap: (from: number, to: number) => void,
  after = 0,
): AsyncIterable<JournalEvent> {
  let held: JournalEvent | null = null;
  let next = after + 1;
  for (const file of await journalFiles(dir)) {
    for await (const line of lines(file)) {
      const event = journalEventSchema.safeParse(line);
      if (!event.success) {
        const what = event.error.issues[0];
        const detail = `${file} holds an entry that cannot be read (${what?.path.join(".")}: ${what?.message})`;
        throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail });
      }
      const { seq } = event.data;
      if (seq <= after) continue;
      if (held !== null && seq > held.seq) {
        yield held;
        next = held.seq + 1;
      }
      if (seq > next) gap(next, seq - 1);
      held = event.data;
    }
  }
  if (held !== null) yield held;
}
