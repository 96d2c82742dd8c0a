// A user's statement in a process of its own, with the fence or without it, and what it took.
import { ROW_CHARACTERS } from "../src/warehouse/user-sql/process-limits.ts";
import { startSqlProcess } from "../src/warehouse/user-sql/sql-process.ts";
import { cpuOfEnded } from "./process-tree.ts";

const LIMITS = { memoryMiB: 512, timeMs: 60_000 };

export interface FencedRun {
  /** Columns, then rows. */
  readonly answer: readonly unknown[];
  /** From the start of the process to its last row. */
  readonly ms: number;
  /** Processor time of the process, ms. Right only where no other child ends meanwhile. */
  readonly cpuMs: number;
}

/** `fenced`: with fence and gate. Throws where the statement fails. */
export const queryOnce = async (snapshot: string, sql: string, fenced: boolean): Promise<FencedRun> => {
  const [begun, cpuBefore] = [performance.now(), cpuOfEnded()];
  const sqlProcess = startSqlProcess(LIMITS, { snapshot, fenced, onCrash: () => undefined });
  try {
    await sqlProcess.ready;
    const run = { snapshot, sql, gated: fenced, memoryLimit: `${LIMITS.memoryMiB}MiB`, rowCharacters: ROW_CHARACTERS };
    const first = await sqlProcess.request({ kind: "run", ...run });
    if (first.kind !== "columns") throw new Error(`${sql}: ${JSON.stringify(first)}`);
    const answer: unknown[] = [first.columns];
    for (;;) {
      const next = await sqlProcess.request({ kind: "next" });
      if (next.kind !== "rows") throw new Error(`${sql}: ${JSON.stringify(next)}`);
      if (next.rows.length === 0) break;
      answer.push(...next.rows);
    }
    const ms = performance.now() - begun;
    sqlProcess.end(new Error("it has answered"));
    await sqlProcess.gone;
    return { answer, ms, cpuMs: cpuOfEnded() - cpuBefore };
  } finally {
    sqlProcess.end(new Error("it has failed"));
    await sqlProcess.gone;
  }
};
