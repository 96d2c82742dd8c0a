// What is measured of duckmirror and its peers, one function per question; each leaves the service as it found it.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Client, runClient, start, stop, type Task } from "./peer-clients.ts";
import type { PeerService, SourceRows, WhichLists } from "./peer-control.ts";
import { type Difference, difference } from "./peer-truth.ts";

/** Inserts, deletes and changes of a list after each page of it that was read. */
const MOVES = { inserts: 1, deletes: 1, updates: 2 };

export interface Field {
  readonly service: PeerService;
  readonly lists: WhichLists;
  readonly perPage: number;
  /** Folder for every client's files. */
  readonly dir: string;
}

const taskOf = ({ service, lists, perPage, dir }: Field, client: Client, purpose: string): Task => ({
  url: service.url,
  dir: join(dir, `${purpose}-${client.name.replace(/\W+/g, "-")}`),
  lists,
  perPage,
  perMinute: null,
});

const still = ({ perPage }: Field) => ({ order: "reset", maxPerPage: perPage, perMinute: null, moves: null }) as const;

/** Fewest requests that read every list once: a page at least of each. */
export const lowerBound = (rows: SourceRows, perPage: number): number =>
  [...rows.values()].reduce((sum, list) => sum + Math.max(1, Math.ceil(list.size / perPage)), 0);

export interface First {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly credits: number;
}

/** First mirror of an unchanged list. Throws when its result is not what the service holds. */
export const firstMirror = async (field: Field, client: Client): Promise<First> => {
  const task = taskOf(field, client, "first");
  await field.service.tell(still(field));
  const { seconds, cpuSeconds } = await runClient(client, task);
  const { credits } = await field.service.figures();
  const wrong = await difference(client, task.dir, field.lists, await field.service.rows());
  if (Object.values(wrong).some((rows) => rows > 0)) {
    throw new Error(`${client.name} did not mirror unchanged lists: ${JSON.stringify(wrong)}`);
  }
  await rm(task.dir, { recursive: true });
  return { seconds, cpuSeconds, credits };
};

export interface Upkeep {
  readonly unchanged: number;
  readonly changed: number;
  /** After the sync of what changed. */
  readonly result: Difference;
}

/** Credits of a second sync after which nothing changed, and of a third after a share of the rows did. */
export const upkeep = async (field: Field, client: Client, share: number): Promise<Upkeep> => {
  const task = taskOf(field, client, "upkeep");
  const { service } = field;
  await service.tell(still(field));
  await runClient(client, task);
  await service.tell({ order: "clear" });
  await runClient(client, task);
  const unchanged = (await service.figures()).credits;
  await service.tell({ order: "change", share });
  await service.tell({ order: "clear" });
  await runClient(client, task);
  const changed = (await service.figures()).credits;
  const result = await difference(client, task.dir, field.lists, await service.rows());
  await rm(task.dir, { recursive: true });
  return { unchanged, changed, result };
};

export interface Moving {
  /** After a first mirror while the lists moved: rows that were there all the time and are missing. */
  readonly lost: number;
  readonly doubled: number;
  readonly credits: number;
  /** After one more sync, with unchanged lists. */
  readonly next: Difference;
  readonly nextCredits: number;
}

const inBoth = (before: SourceRows, after: SourceRows): SourceRows =>
  new Map(
    [...before].map(([list, rows]) => [list, new Map([...rows].filter(([id]) => after.get(list)?.has(id) === true))]),
  );

export const movingLists = async (field: Field, client: Client): Promise<Moving> => {
  const task = taskOf(field, client, "moving");
  const { service } = field;
  await service.tell({ ...still(field), moves: MOVES });
  const before = await service.rows();
  await runClient(client, task);
  await service.tell({ order: "rest" });
  const { credits } = await service.figures();
  const steady = inBoth(before, await service.rows());
  const { missing, doubled } = await difference(client, task.dir, field.lists, steady);
  await service.tell({ order: "clear" });
  await runClient(client, task);
  const next = await difference(client, task.dir, field.lists, await service.rows());
  const nextCredits = (await service.figures()).credits;
  await rm(task.dir, { recursive: true });
  return { lost: missing, doubled, credits, next, nextCredits };
};

export interface Crash {
  /** Credits of the killed run and of the one after it, beyond those of a run that was not killed. */
  readonly paidTwice: number;
  readonly result: Difference;
}

/** `whole`: credits of a first mirror that nothing disturbed. */
export const crash = async (field: Field, client: Client, whole: number): Promise<Crash> => {
  const task = taskOf(field, client, "crash");
  const { service } = field;
  await service.tell(still(field));
  const { group, ended } = start(client, task);
  await service.tell({ order: "kill", afterCredits: Math.ceil(whole / 2), group });
  await ended;
  await runClient(client, task);
  const result = await difference(client, task.dir, field.lists, await service.rows());
  const { credits } = await service.figures();
  await rm(task.dir, { recursive: true });
  return { paidTwice: credits - whole, result };
};

export interface Rate {
  readonly served: number;
  readonly refused: number;
  /** From its first request to the last one that was let through. */
  readonly requestsMs: number;
  /** The client gave up before it had everything. */
  readonly failed: boolean;
}

/** All clients at once, each with its own token and so its own minute; stopped after `ms`. By client name. */
export const atARate = async (
  field: Field,
  clients: readonly Client[],
  perMinute: number,
  ms: number,
): Promise<ReadonlyMap<string, Rate>> => {
  await field.service.tell({ ...still(field), perMinute });
  const runs = clients.map((client) => ({ client, ...start(client, { ...taskOf(field, client, "rate"), perMinute }) }));
  const late = setTimeout(() => {
    for (const { group } of runs) stop(group);
  }, ms);
  const ends = await Promise.all(runs.map(async ({ client, ended }) => ({ client, run: await ended })));
  clearTimeout(late);
  const answered = await field.service.clients();
  return new Map(
    ends.map(({ client: { name, token }, run }) => {
      const counts = answered[token] ?? { served: 0, refused: 0, requestsMs: 0 };
      return [name, { ...counts, failed: run.exitCode !== null && run.exitCode !== 0 }];
    }),
  );
};
