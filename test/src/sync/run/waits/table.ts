// Every wait of the program and every end of a run, and which pairs cannot occur. The tests of this folder run the rest.

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
 * whatever it waits for. Otherwise why the pair cannot occur, or what is promised instead.
 */
type Cell = "run" | "process" | Note;

/**
 * - `credit is held`: the waiting request holds its credit, so the allowance is not spent.
 * - `no run yet`: only a worker waits for the lock, before its run begins. A command ends with code 6 at once.
 * - `copy ends by itself`: it is as fast as the disk. A second signal leaves the old snapshot in place.
 * - `answer is charged`: the service may charge it, so the run waits for it: 8 s at most, 6 s in a worker. After a second
 *   signal it does not wait.
 */
type Note = "credit is held" | "no run yet" | "copy ends by itself" | "answer is charged";

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
  turn: cells("run", { budget: "credit is held" }),
  "Retry-After": cells("run", { budget: "credit is held" }),
  backoff: cells("run", { budget: "credit is held" }),
  "first answer": cells("run", { budget: "credit is held" }),
  "credits of this run": cells("run"),
  "credits of other processes": cells("run"),
  "Redis, in a run": cells("run", { budget: "credit is held" }),
  "writer lock": cells("no run yet", { stop: "run", signal: "run" }),
  publish: cells("copy ends by itself"),
  "answer on the wire": cells("answer is charged", { budget: "credit is held" }),
};

const isWait = (name: string): name is WaitName => WAIT_NAMES.some((wait) => wait === name);

/** The ends that a test brings this wait to. */
export const runnable = (wait: string): readonly EndName[] => {
  if (!isWait(wait)) throw new TypeError(`${wait} is no wait of the table`);
  return ENDS.filter((end) => WAITS[wait][end] === "run");
};
