// Archived responses by id, in the order in which a replay asks for them: each run's archive is read once, from its
// beginning to its end.
import type { Redactor } from "../../api/redact.ts";
import { readArchive } from "../../warehouse/archive/read-archive.ts";
import { type ArchivedAnswer, parseArchived } from "./archived-answer.ts";
import { redactedResponse } from "./redacted-archive.ts";

/** Responses read ahead while searching for one; far more than were ever in flight. Beyond them it does not exist. */
const MOST_AHEAD = 1024;

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

export type Answers = ReturnType<typeof createAnswers>;

/** The responses of every run that is being replayed. */
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
