// Replay: rebuilds the working database from the archive, without a request. The journal gives the order of loads,
// deletions and states; the archived responses give the rows, read with the present catalog, so a column added later
// is filled as if it had always existed.
import type { Redactor } from "../../api/redact.ts";
import type { StreamName } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { ProgressSink } from "../../core/report/progress-events.ts";
import { readArchive } from "../../warehouse/archive/read-archive.ts";
import type { Rebuilding } from "../../warehouse/file/rebuild.ts";
import type { JournalEvent, JournalRows } from "../../warehouse/journal/journal-event.ts";
import { readJournal } from "../../warehouse/journal/read-journal.ts";
import type { TableLoad } from "../../warehouse/record/checkpoint.ts";
import { type ArchivedAnswer, archivedLoads, parseArchived } from "./archived-answer.ts";
import { redactedResponse } from "./redacting.ts";

export interface Replayed {
  readonly runs: number;
  /** Number of archived responses that were loaded. */
  readonly responses: number;
  /** Number of records in them, before duplicates were merged. */
  readonly rows: number;
  /** Descriptions of what the archive lacks; empty when it is complete. */
  readonly missing: readonly string[];
}

/** Responses read ahead while searching for one; far more than were ever in flight. Beyond them it does not exist. */
const MOST_AHEAD = 1024;
/** Changes between two progress events. */
const TOLD_EVERY = 200;

/** Responses of one run by id. They are requested nearly in the order in which they were archived. */
const createAnswers = (archiveDir: string, runId: string, redact: Redactor | null) => {
  const responses = readArchive(archiveDir, { runId })[Symbol.asyncIterator]();
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
type CommitEvent = Extract<JournalEvent["entry"], { kind: "commit" }>;

const loadsFrom = async (rows: JournalRows, answers: Answers): Promise<readonly TableLoad[] | null> => {
  if (rows.from === "journal") {
    const { from, asked, ...load } = rows;
    return [{ ...load, asked: new Set(asked) }];
  }
  const answer = await answers.take(rows.requestId);
  return answer === null ? null : archivedLoads(answer, rows.walkId);
};

/**
 * Applies the whole archive to `target`. `redact` removes archived values that must not be stored now. Throws
 * ARCHIVE_INCOMPLETE unless `partial`.
 */
export const replay = async (
  target: Rebuilding,
  options: { readonly partial: boolean; readonly emit: ProgressSink; readonly redact: Redactor | null },
): Promise<Replayed> => {
  const runs = new Set<string>();
  const open = new Map<string, Answers>();
  const missing: string[] = [];
  const counts = new Map<StreamName, { responses: number; rows: number }>();
  let responses = 0;
  let rows = 0;

  const lacks = (detail: string) => {
    if (!options.partial) throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail });
    missing.push(detail);
  };
  const tell = () => {
    for (const [stream, counted] of counts) {
      const { responses: requests, rows: records } = counted;
      options.emit({
        kind: "page",
        stream,
        requests,
        credits: 0,
        rows: records,
        pagesDone: requests,
        pagesTotal: null,
        rowsTotal: null,
      });
    }
  };
  const answersOf = (runId: string): Answers => {
    const known = open.get(runId) ?? createAnswers(target.archiveDir, runId, options.redact);
    open.set(runId, known);
    return known;
  };
  const closeRun = async (runId: string) => {
    await open.get(runId)?.close();
    open.delete(runId);
  };

  const commitLoads = async (entry: CommitEvent): Promise<readonly TableLoad[]> => {
    const answers = answersOf(entry.runId);
    const loads: TableLoad[] = [];
    const loaded = new Set(entry.rows.map(({ requestId }) => requestId));
    for (const wanted of entry.rows) {
      const found = await loadsFrom(wanted, answers);
      if (found === null) {
        lacks(`the response to request ${wanted.requestId} of run ${entry.runId}`);
        continue;
      }
      loads.push(...found);
      const [main] = found;
      if (wanted.from === "journal" || main === undefined) continue;
      const counted = counts.get(main.stream) ?? { responses: 0, rows: 0 };
      counts.set(main.stream, { responses: counted.responses + 1, rows: counted.rows + main.records.length });
      responses += 1;
      rows += found.reduce((sum, { records }) => sum + records.length, 0);
    }
    for (const { requestId, status } of entry.requests) {
      if (status === 200 && !loaded.has(requestId)) answers.pass(requestId);
    }
    return loads;
  };

  let changes = 0;
  // While one change is applied, the rows of the next are read and parsed. Changes are applied one after another.
  let making: Promise<void> = Promise.resolve();
  const gap = (from: number, to: number) =>
    lacks(from === to ? `change ${from} of its journal` : `changes ${from} to ${to} of its journal`);
  try {
    for await (const event of readJournal(target.archiveDir, gap, target.after)) {
      const { entry } = event;
      if (entry.kind === "run-started") runs.add(entry.runId);
      const loads = entry.kind === "commit" ? await commitLoads(entry) : [];
      await making;
      making = target.apply(event, loads);
      // The error reaches the code that awaits `making`; until then Node must not report it as unhandled.
      making.catch(() => undefined);
      if (entry.kind === "run-finished") {
        await making;
        await closeRun(entry.runId);
        await target.run("plan/drop-finished-walks.sql");
      }
      changes += 1;
      if (changes % TOLD_EVERY === 0) tell();
    }
    await making;
  } finally {
    await making.catch(() => undefined);
    for (const runId of [...open.keys()]) await closeRun(runId);
  }
  if (changes === 0 && target.after === 0)
    throw new DuckmirrorError("ARCHIVE_INCOMPLETE", { detail: "its journal is empty" });
  tell();
  if (missing.length > 0) await target.run("warehouse/forget-progress.sql");
  return { runs: runs.size, responses, rows, missing };
};
