// Replay: rebuilds the working database from the archive, without a request. The journal gives the order of loads, deletions and states;
// the archived responses give the rows, read with the present catalog, so that a column added later is filled for old responses, too.
import type { Redactor } from "../../api/redact.ts";
import type { StreamName } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { ProgressSink } from "../../core/report/sync-progress.ts";
import { readArchive } from "../../warehouse/archive/read-archive.ts";
import type { Rebuilding } from "../../warehouse/file/rebuild.ts";
import type { JournalEvent, JournalRows } from "../../warehouse/journal/journal-event.ts";
import { readJournal } from "../../warehouse/journal/read-journal.ts";
import type { TableLoad } from "../../warehouse/record/checkpoint.ts";
import { type ArchivedAnswer, archivedLoads, parseArchived, redactedResponse } from "./archived-response.ts";

// Archived responses by id, in the order in which a replay asks for them: each run's archive is read once, from its
// beginning to its end.

/** Responses read ahead while searching for one; far more than were ever in flight. Beyond them it does not exist. */
const MOST_AHEAD = 1024;

/** Responses of one run by id. They are requested nearly in the order in which they were archived. */
const createAnswers = (archiveDir: string, runId: string, redact: Redactor | null) => {
  const responses = readArchive(archiveDir, runId)[Symbol.asyncIterator]();
  const ahead = new Map<string, ArchivedAnswer | null>();
  const passed = new Set<string>();

  /** The response, or null when the archive lacks it or it is no envelope. */
  const take = async (requestId: string): Promise<ArchivedAnswer | null> => {
    const known = ahead.get(requestId);
    if (known !== undefined) {
      ahead.delete(requestId);
      return known;
    }
    while (ahead.size < MOST_AHEAD) {
      const next = await responses.next();
      if (next.done) return null;
      const { header, body } = redactedResponse(next.value, redact);
      const answer = parseArchived(header, body);
      if (header.requestId === requestId) return answer;
      if (!passed.delete(header.requestId)) ahead.set(header.requestId, answer);
    }
    return null;
  };
  /** Nothing of this response is loaded, so it need not be kept. */
  const pass = (requestId: string) => {
    if (!ahead.delete(requestId)) passed.add(requestId);
  };
  return { take, pass, close: async () => void (await responses.return?.(undefined)) };
};

type Answers = ReturnType<typeof createAnswers>;

export const createRunAnswers = (archiveDir: string, redact: Redactor | null) => {
  const open = new Map<string, Answers>();
  const close = async (runId: string): Promise<void> => {
    await open.get(runId)?.close();
    open.delete(runId);
  };
  return {
    of: (runId: string): Answers => {
      const known = open.get(runId) ?? createAnswers(archiveDir, runId, redact);
      open.set(runId, known);
      return known;
    },
    close,
    closeAll: async (): Promise<void> => {
      for (const runId of [...open.keys()]) await close(runId);
    },
  };
};

interface Replayed {
  readonly runs: number;
  /** Number of archived responses that were loaded. */
  readonly responses: number;
  /** Number of records in them, before duplicates were merged. */
  readonly rows: number;
  /** Descriptions of what the archive lacks; empty when it is complete. */
  readonly missing: readonly string[];
}

/** Changes between two progress events. */
const REPORTED_EVERY = 200;

type CommitEvent = Extract<JournalEvent["entry"], { kind: "commit" }>;

const loadsFrom = async (rows: JournalRows, answers: Answers): Promise<readonly TableLoad[] | null> => {
  if (rows.from === "journal") {
    const { from, asked, ...load } = rows;
    return [{ ...load, asked: new Set(asked) }];
  }
  const answer = await answers.take(rows.requestId);
  return answer === null ? null : archivedLoads(answer, rows.walkId);
};

/** Counts of what was loaded, per stream, for progress and the result. */
const createTally = (emit: ProgressSink) => {
  const counts = new Map<StreamName, { responses: number; rows: number }>();
  const total = { responses: 0, rows: 0 };
  return {
    total,
    add: (loads: readonly TableLoad[]): void => {
      const [main] = loads;
      if (main === undefined) return;
      const { responses, rows } = counts.get(main.stream) ?? { responses: 0, rows: 0 };
      counts.set(main.stream, { responses: responses + 1, rows: rows + main.records.length });
      total.responses += 1;
      total.rows += loads.reduce((sum, { records }) => sum + records.length, 0);
    },
    report: (): void => {
      for (const [stream, { responses, rows }] of counts) {
        const unknown = { pagesTotal: null, rowsTotal: null };
        emit({ kind: "page", stream, requests: responses, credits: 0, rows, pagesDone: responses, ...unknown });
      }
    },
  };
};

/** Loads of one commit. `onAnswer` gets the loads of each response, `lacks` the description of a missing one. */
const loadsOf = async (
  { runId, rows, requests }: CommitEvent,
  answers: Answers,
  onAnswer: (loads: readonly TableLoad[]) => void,
  lacks: (detail: string) => void,
): Promise<readonly TableLoad[]> => {
  const loads: TableLoad[] = [];
  for (const wanted of rows) {
    const found = await loadsFrom(wanted, answers);
    if (found === null) {
      lacks(`the response to request ${wanted.requestId} of run ${runId}`);
      continue;
    }
    loads.push(...found);
    if (wanted.from !== "journal") onAnswer(found);
  }
  const loaded = new Set(rows.map(({ requestId }) => requestId));
  for (const { requestId, status } of requests) {
    if (status === 200 && !loaded.has(requestId)) answers.pass(requestId);
  }
  return loads;
};

/**
 * Applies the whole archive to `target`. `redact` removes archived values that must not be stored now. Throws
 * ARCHIVE_INCOMPLETE unless `partial`, and REPLAY_INTERRUPTED between two changes once `signal` aborts.
 */
export const replay = async (
  target: Rebuilding,
  options: {
    readonly partial: boolean;
    readonly emit: ProgressSink;
    readonly redact: Redactor | null;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Replayed> => {
  const runs = new Set<string>();
  const answers = createRunAnswers(target.archiveDir, options.redact);
  const tally = createTally(options.emit);
  const missing: string[] = [];
  const lacks = (detail: string) => {
    if (!options.partial) throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail });
    missing.push(detail);
  };
  const gap = (from: number, to: number) =>
    lacks(from === to ? `change ${from} of its journal` : `changes ${from} to ${to} of its journal`);

  let changes = 0;
  // While one change is applied, the rows of the next are read and parsed. Changes are applied one after another.
  let making: Promise<void> = Promise.resolve();
  try {
    for await (const event of readJournal(target.archiveDir, gap, target.after)) {
      if (options.signal?.aborted) throw new DuckmirrorError("REPLAY_INTERRUPTED");
      const { entry } = event;
      if (entry.kind === "run-started") runs.add(entry.runId);
      const loads = entry.kind === "commit" ? await loadsOf(entry, answers.of(entry.runId), tally.add, lacks) : [];
      await making;
      making = target.apply(event, loads);
      // The error reaches the code that awaits `making`; until then Node must not report it as unhandled.
      making.catch(() => undefined);
      if (entry.kind === "run-finished") {
        await making;
        await answers.close(entry.runId);
        await target.run("plan/drop-finished-walks.sql");
      }
      changes += 1;
      if (changes % REPORTED_EVERY === 0) tally.report();
    }
    await making;
  } finally {
    await making.catch(() => undefined);
    await answers.closeAll();
  }
  if (changes === 0 && target.after === 0)
    throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail: "its journal is empty" });
  tally.report();
  if (missing.length > 0) await target.run("warehouse/drop-progress.sql");
  return { runs: runs.size, ...tally.total, missing };
};
