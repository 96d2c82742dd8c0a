// Take-over: handles what earlier runs of a loader left. Responses go to the archive of their run, where recovery
// finds them; unsent requests are taken back; sent ones are waited for, within a time limit.
import type { Queue } from "bullmq";
import { z } from "zod";
import { parseJson } from "../../../api/json/lossless-json.ts";
import type { OkOutcome } from "../../../api/outcome.ts";
import { type Redactor, redactOutcome } from "../../../api/redact.ts";
import type { ReadingOptions } from "../../../api/wire-answer.ts";
import type { Clock } from "../../../core/clock.ts";
import { lostId } from "../../../sync/request/ledger-rows.ts";
import { type IntentRecord, openArchive } from "../../../warehouse/archive/archive.ts";
import { readArchive, readIntents } from "../../../warehouse/archive/read-archive.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { Mailbox } from "../mailbox.ts";
import { type Packed, unpackAnswer } from "../packed-answer.ts";
import { openAnswer } from "../sealed-answers.ts";
import type { Seals } from "../seals.ts";
import type { StoreClock } from "../store-clock.ts";
import { account, accountLost, deliveriesOf, strangeAnswer } from "./arrivals.ts";

/** Time limit for requests in flight at a fetcher, ms. */
const WAIT_MS = 15_000;
const POLL_MS = 100;

export interface TakeOverDeps {
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly queue: Queue;
  readonly mailbox: Mailbox;
  readonly seals: Seals;
  readonly mirror: string;
  readonly warn: (text: string) => void;
  readonly reading: ReadingOptions;
  /** Values that must not be stored are not archived either. */
  readonly redact: Redactor | null;
  /** Ends the wait for responses in flight. */
  readonly signal: AbortSignal | undefined;
}

const crashedRuns = async (warehouse: Warehouse): Promise<ReadonlySet<string>> => {
  const row = z.object({ run_id: z.string() });
  const rows = await warehouse.database.query(sqlText("plan/crashed-runs.sql"), [], row);
  return new Set(rows.map(({ run_id }) => run_id));
};

/** Requests of a run that are in the archive. */
const archivedIn = async (warehouse: Warehouse, runId: string): Promise<Set<string>> => {
  const ids = new Set<string>();
  for await (const { header } of readArchive(warehouse.archiveDir, { runId })) ids.add(header.requestId);
  return ids;
};

/** Requests of a run whose responses were taken: they are in the archive, or in the ledger as charged. */
const takenIn = async (warehouse: Warehouse, runId: string): Promise<Set<string>> => {
  const row = z.object({ request_id: z.string() });
  const spent = await warehouse.database.query(sqlText("plan/spent-requests.sql"), [runId], row);
  return new Set([...spent.map(({ request_id }) => request_id), ...(await archivedIn(warehouse, runId))]);
};

/** Noted requests of a run that are neither committed nor archived. */
const openRequests = async (warehouse: Warehouse, runId: string): Promise<readonly IntentRecord[]> => {
  const answered = new Set([...(await warehouse.requestsOf(runId)), ...(await archivedIn(warehouse, runId))]);
  const intents = await readIntents(warehouse.archiveDir, runId);
  return intents.filter(({ requestId }) => !answered.has(requestId));
};

/**
 * Notes the attempts of fetchers that died before another one sent the request again: each may have cost a credit, and
 * recovery books what is noted.
 */
const noteLost = async (
  open: readonly IntentRecord[],
  sends: ReadonlyMap<string, number>,
  { archiveDir }: Warehouse,
  now: number,
): Promise<void> => {
  const noted = new Set(open.map(({ requestId }) => requestId));
  for (const intent of open) {
    const { requestId, runId } = intent;
    const lost = Array.from({ length: Math.max(0, (sends.get(requestId) ?? 0) - 1) }, (_, at) =>
      lostId(requestId, at + 1),
    );
    const unnoted = lost.filter((id) => !noted.has(id));
    if (unnoted.length === 0) continue;
    const archive = openArchive({ dir: archiveDir, runId, now });
    try {
      for (const id of unnoted) await archive.intent({ ...intent, requestId: id });
    } finally {
      await archive.close();
    }
  }
};

/** Takes back the requests that were certainly not sent. */
const takeBackUnsent = async (
  open: readonly string[],
  departed: ReadonlySet<string>,
  queue: Queue,
): Promise<ReadonlySet<string>> => {
  const unsent = new Set<string>();
  for (const requestId of open) {
    if (departed.has(requestId)) continue;
    const state = await queue.getJobState(requestId);
    // A missing job proves nothing: Redis may have lost its memory, including the record of sent requests.
    if (state === "unknown") continue;
    await queue.remove(requestId);
    unsent.add(requestId);
  }
  return unsent;
};

/** Waits until no fetcher has one of these requests in flight, or the time limit is over. */
const awaitResponses = async (
  departed: ReadonlySet<string>,
  { clock, mailbox, queue, signal }: TakeOverDeps,
): Promise<void> => {
  const waitUntil = clock.now() + WAIT_MS;
  const onTheirWay = async (): Promise<boolean> => {
    const deliveries = await mailbox.deliveries();
    const awaited = [...departed].filter((requestId) => deliveriesOf(requestId, deliveries).length === 0);
    const states = await Promise.all(awaited.map((requestId) => queue.getJobState(requestId)));
    return states.includes("active");
  };
  while (departed.size > 0 && clock.now() < waitUntil && (await onTheirWay())) await clock.sleep(POLL_MS, signal);
};

/** Archives a response for the recovery of its run. */
const archiveFor = async (
  { runId, requestId, stream, scope, walkId, url, detail, endpoint }: Packed["note"]["request"],
  { sentAt, status, bytes, durationMs, wire }: Pick<OkOutcome, "sentAt" | "status" | "bytes" | "durationMs" | "wire">,
  { archiveDir }: Warehouse,
  now: number,
): Promise<void> => {
  const archive = openArchive({ dir: archiveDir, runId, now });
  try {
    const receivedAt = sentAt + durationMs;
    const header = { requestId, runId, stream, scope, walkId, endpoint, url, sentAt, receivedAt, status, bytes };
    await archive.response({ ...header, detail: parseJson(detail) }, wire);
    await archive.flush();
  } finally {
    await archive.close();
  }
};

/** Keeps responses of the mailbox: those of crashed runs in the archive, the charges of others in the ledger. */
const createKeeper = (warehouse: Warehouse, crashed: ReadonlySet<string>, deps: TakeOverDeps) => {
  const { clock, storeClock, reading, redact } = deps;
  const taken = new Map<string, Set<string>>();
  return async (packed: Packed): Promise<void> => {
    const { request } = packed.note;
    const { runId, requestId } = request;
    const known = taken.get(runId) ?? (await takenIn(warehouse, runId));
    taken.set(runId, known);
    const unpacked = await unpackAnswer(packed, storeClock.skewMs(), reading);
    if (unpacked.kind === "denied") return;
    const outcome = redactOutcome(unpacked.outcome, redact);
    if (!crashed.has(runId) || known.has(requestId)) {
      // Taken before and not dropped, or a second response, which alone costs another credit.
      if (!known.has(requestId) || packed.note.nth > 1) await account(warehouse, packed, storeClock.skewMs());
      return;
    }
    if ((outcome.kind !== "ok" && outcome.kind !== "invalid") || outcome.wire === null) return;
    await accountLost(warehouse, packed, storeClock.skewMs());
    await archiveFor(request, { ...outcome, wire: outcome.wire }, warehouse, clock.now());
    known.add(requestId);
  };
};

/**
 * Call it after the mailbox is claimed, so that no request of an earlier run can be sent any more. Returns the
 * requests that were certainly not sent. Rejects with Redis's errors, DISK_FULL, and faults of the warehouse.
 */
export const takeOver = async (warehouse: Warehouse, deps: TakeOverDeps): Promise<ReadonlySet<string>> => {
  const { queue, mailbox, warn } = deps;
  const crashed = await crashedRuns(warehouse);
  const intents: IntentRecord[] = [];
  for (const runId of crashed) intents.push(...(await openRequests(warehouse, runId)));
  const open = intents.map(({ requestId }) => requestId);

  const departed = await mailbox.departed(open);
  const unsent = await takeBackUnsent(open, departed, queue);
  await noteLost(intents, await mailbox.sends(open), warehouse, deps.clock.now());
  await awaitResponses(departed, deps);

  const keep = createKeeper(warehouse, crashed, deps);
  for (const delivery of await mailbox.deliveries()) {
    const answer = await openAnswer(deps, delivery);
    // Paid for, and readable to the program that asked for it.
    if (answer.kind === "unread") continue;
    if (answer.kind === "answer") await keep(answer.packed);
    if (answer.kind === "strange") warn(strangeAnswer(delivery));
    await mailbox.drop(delivery, answer.kind === "answer" ? answer.packed.note.request.requestId : null);
  }
  // The record of sent requests stays until the run ends in order: if this process is killed before recovery has booked
  // them, the next one must not take them for unsent.
  return unsent;
};
