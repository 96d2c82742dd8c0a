// Every wait of the program and every end of a run, and which pairs cannot occur. The tests of this folder run the rest;
// docs/RELIABILITY.md shows the table that is made here.

export const ENDS = [
  "stop",
  "budget",
  "quota",
  "credentials",
  "signal",
  "second signal",
  "time limit",
  "fault",
] as const;
export type EndName = (typeof ENDS)[number];

export const WAIT_NAMES = [
  "turn",
  "Retry-After",
  "backoff",
  "first answer",
  "credits of this run",
  "credits of other processes",
  "Redis, in a run",
  "writer lock",
  "publish",
  "answer on the wire",
] as const;
export type WaitName = (typeof WAIT_NAMES)[number];

type Cells = Readonly<Record<EndName, Cell>>;
/**
 * `run`: a test brings a run into the wait and ends it. `process`: the program exits in the signal's handler,
 * whatever it waits for. A text: the pair cannot occur, or what is promised instead.
 */
type Cell = "run" | "process" | Note;

/** Footnotes of the table. */
export const NOTES = {
  1: "Cannot occur: the waiting request holds its credit, so the allowance is not spent.",
  2: "Cannot occur: only a worker waits for the lock, before its run begins. A command ends with code 6 at once.",
  3: "The copy ends by itself, as fast as the disk is. A second signal leaves the old snapshot in place.",
  4: "The service may charge an answer on the wire, so the run waits for it: 8 s at most, 6 s in a worker. After a second signal it does not wait.",
} as const;
type Note = keyof typeof NOTES;

const cells = (usual: Cell, others: Partial<Cells> = {}): Cells => ({
  stop: usual,
  budget: usual,
  quota: usual,
  credentials: usual,
  signal: usual,
  "second signal": "process",
  "time limit": usual,
  fault: usual,
  ...others,
});

export const WAITS: Readonly<Record<WaitName, Cells>> = {
  turn: cells("run", { budget: 1 }),
  "Retry-After": cells("run", { budget: 1 }),
  backoff: cells("run", { budget: 1 }),
  "first answer": cells("run", { budget: 1 }),
  "credits of this run": cells("run"),
  "credits of other processes": cells("run"),
  "Redis, in a run": cells("run", { budget: 1 }),
  "writer lock": cells(2, { stop: "run", signal: "run" }),
  publish: cells(3),
  "answer on the wire": cells(4, { budget: 1 }),
};

const shown = (cell: Cell): string => (cell === "run" ? "≤ 1 s" : cell === "process" ? "at once" : `[${cell}]`);

/** The table as docs/RELIABILITY.md has it, notes included. */
export const waitsTable = (): string => {
  const rows = WAIT_NAMES.map((wait) => `| ${[wait, ...ENDS.map((end) => shown(WAITS[wait][end]))].join(" | ")} |`);
  const head = [`| wait | ${ENDS.join(" | ")} |`, `| --- |${" --- |".repeat(ENDS.length)}`];
  const notes = Object.entries(NOTES).map(([number, text]) => `- [${number}] ${text}`);
  return [...head, ...rows, "", ...notes].join("\n");
};

const isWait = (name: string): name is WaitName => WAIT_NAMES.some((wait) => wait === name);

/** The ends that a test brings this wait to. */
export const runnable = (wait: string): readonly EndName[] => {
  if (!isWait(wait)) throw new TypeError(`${wait} is no wait of the table`);
  return ENDS.filter((end) => WAITS[wait][end] === "run");
};
