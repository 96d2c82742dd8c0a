// Stores the state of one alert rule in state/alerts/<rule>/: its position, messages that wait, and dead letters. Writes new messages
// first, under numbers that the position does not name yet, and then the position; if the process is killed in between, the next pass
// replaces these messages.
//   position.json   waiting/000000000007.json   dead/000000000003.json
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ALERTS } from "../../core/data-dir.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { listOwnIfThere, makeOwnFolder, readOwnIfThere, replaceFile } from "../../core/files/own-files.ts";
import { flushToDisk, moveOver } from "../../core/system.ts";
import { type Message, messageSchema } from "../message.ts";

const positionSchema = z.object({
  v: z.literal(1),
  /** Number of the next message. */
  seq: z.int(),
  /** Last change that was considered; null: the rule has not been evaluated yet. */
  after: z.int().nullable(),
  /** What the feed said of that change: another text is another feed. null: not known. */
  change: z.string().nullable(),
  /** Version of the snapshot whose changes were all considered. */
  snapshot: z.string().nullable(),
  /** States that are true now, by key. */
  active: z.record(z.string(), z.object({ since: z.string() })),
  /** The receiver answered 410; null: it takes messages. */
  off: z.object({ at: z.string(), detail: z.string() }).nullable(),
  /** Why the rule could not be evaluated; null: it could. */
  problem: z.object({ at: z.string(), code: z.string(), message: z.string() }).nullable(),
  /** Messages so far, and failed attempts. */
  sent: z.int(),
  failed: z.int(),
  dead: z.int(),
});
export type Position = z.output<typeof positionSchema>;

const NEW: Position = {
  v: 1,
  seq: 1,
  after: null,
  change: null,
  snapshot: null,
  active: {},
  off: null,
  problem: null,
  sent: 0,
  failed: 0,
  dead: 0,
};

export interface StoredMessage {
  readonly seq: number;
  readonly message: Message;
}
export type MessageFolder = "waiting" | "dead";

/** What one rule keeps. One process changes it at a time (run-rule.ts). */
export interface RuleStore {
  position(): Promise<Position>;
  keep(position: Position): Promise<void>;
  /** Keeps the position together with new messages. */
  commit(position: Position, messages: readonly Message[]): Promise<void>;
  /** How many messages there are, without reading them. */
  count(place: MessageFolder): Promise<number>;
  /** In order. */
  messages(place: MessageFolder): Promise<readonly StoredMessage[]>;
  /** Notes a failed attempt. */
  note(stored: StoredMessage): Promise<void>;
  /** It was taken. */
  remove(stored: StoredMessage): Promise<void>;
  /** Moves a message to the dead letters, or back. */
  move(stored: StoredMessage, to: MessageFolder): Promise<void>;
}

export const ruleFolder = (dataDir: string, rule: string): string => join(dataDir, "state", ALERTS, rule);

const NAME = /^(\d{12})\.json$/;
const nameOf = (seq: number): string => `${String(seq).padStart(12, "0")}.json`;

const parsed = <T>(schema: z.ZodType<T>, file: string, text: string): T => {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new DuckmirrorError("ALERTS_DAMAGED", { file, detail: detailOf(cause) }, { cause });
  }
};

/** Opens the files of a rule. Throws DATA_DIR_UNWRITABLE, ALERTS_DAMAGED. */
export const openRuleStore = (dataDir: string, rule: string): RuleStore => {
  const folder = ruleFolder(dataDir, rule);
  const positionFile = join(folder, "position.json");
  const fileOf = (place: MessageFolder, seq: number) => join(folder, place, nameOf(seq));
  const prepare = () => {
    for (const part of ["", "waiting", "dead"]) makeOwnFolder(join(folder, part));
  };
  const position = async (): Promise<Position> => {
    const text = await readOwnIfThere(positionFile);
    return text === null ? NEW : parsed(positionSchema, positionFile, text);
  };
  const keep = async (next: Position): Promise<void> => {
    prepare();
    await replaceFile(positionFile, `${JSON.stringify(next)}\n`);
  };
  const write = (place: MessageFolder, { seq, message }: StoredMessage) =>
    replaceFile(fileOf(place, seq), `${JSON.stringify(message)}\n`);
  // Numbers from that of the next message on were left by a kill before their position was kept.
  const numbersIn = async (place: MessageFolder): Promise<readonly number[]> => {
    const { seq: end } = await position();
    const names = await listOwnIfThere(join(folder, place)).catch((cause: unknown) => {
      throw new DuckmirrorError("ALERTS_DAMAGED", { file: join(folder, place), detail: detailOf(cause) }, { cause });
    });
    return [...names]
      .sort()
      .map((name) => Number(NAME.exec(name)?.[1] ?? Number.NaN))
      .filter((seq) => seq < end);
  };
  return {
    position,
    keep,
    count: async (place) => (await numbersIn(place)).length,
    commit: async (next, messages) => {
      prepare();
      for (const [nth, message] of messages.entries()) await write("waiting", { seq: next.seq + nth, message });
      await keep({ ...next, seq: next.seq + messages.length });
    },
    messages: async (place) => {
      const found: StoredMessage[] = [];
      for (const seq of await numbersIn(place)) {
        const text = await readOwnIfThere(fileOf(place, seq));
        if (text !== null) found.push({ seq, message: parsed(messageSchema, fileOf(place, seq), text) });
      }
      return found;
    },
    note: (stored) => write("waiting", stored),
    remove: async ({ seq }) => {
      await rm(fileOf("waiting", seq), { force: true });
    },
    move: async (stored, to) => {
      const from = to === "dead" ? "waiting" : "dead";
      await write(from, stored);
      await moveOver(fileOf(from, stored.seq), fileOf(to, stored.seq));
      await flushToDisk(join(folder, to));
    },
  };
};
