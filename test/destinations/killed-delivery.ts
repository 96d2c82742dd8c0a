// Starts the built `duckmirror deliver` and kills it, or a server, at a named moment (kill-at.mjs).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, inject } from "vitest";

export interface Moment {
  /** Regular expression of a step: a statement, or a change of a file. */
  readonly step: string;
  /** Which one of them, from 1. */
  readonly nth: number;
  /** `during`: at the first sign that it is being done. */
  readonly when: "before" | "during" | "after";
  /** `both`: also the process of DuckDB with extensions. A number: the process of a server. */
  readonly victim: "program" | "both" | number;
  /** The server and its children are stopped, not killed: their connections stay open. */
  readonly freeze?: true;
  /** Folder whose first change is such a sign. */
  readonly folder?: string;
}

const pick = <T>(list: readonly T[], random: () => number): T | undefined => list[Math.floor(random() * list.length)];

/** A moment at one of these steps. */
export const aMoment = (
  steps: readonly string[],
  victims: readonly Moment["victim"][],
  random: () => number,
  folder?: string,
): Moment => ({
  step: pick(steps, random) ?? "",
  nth: 1 + Math.floor(random() ** 2 * 4),
  when: pick(["before", "during", "after"], random) ?? "before",
  victim: pick(victims, random) ?? "program",
  ...(folder === undefined ? {} : { folder }),
});

export interface Ended {
  /** Empty: the moment did not come. */
  readonly killed: string;
  /** Exit code; null: the program was killed. */
  readonly code: number | null;
  readonly said: string;
}

/** A moment that never comes. */
export const NEVER: Moment = { step: "^nothing", nth: 1, when: "before", victim: "program" };

export interface Kill {
  readonly dataDir: string;
  /** Folder in which relative addresses start. */
  readonly at?: string;
  /** The setting. */
  readonly destinations: string;
  readonly moment: Moment;
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the program. */
  readonly signal?: AbortSignal;
}

/** Resolves when the program has ended. */
export const killDelivery = async ({ dataDir, at = dataDir, destinations, moment, ...more }: Kill): Promise<Ended> => {
  const preload = join(import.meta.dirname, "kill-at.mjs");
  const deliver = ["--import", preload, inject("builtCli"), "deliver", "--quiet", "--data-dir", dataDir];
  const child = spawn(process.execPath, deliver, {
    cwd: at,
    env: {
      PATH: process.env.PATH,
      HOME: at,
      ...more.env,
      DUCKMIRROR_DESTINATIONS: destinations,
      KILL_AT: JSON.stringify(moment),
    },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  more.signal?.addEventListener("abort", () => void child.kill("SIGKILL"), { once: true });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += String(chunk);
  });
  const [code] = await once(child, "close");
  const [, killed = ""] = /^killed (.+)$/m.exec(said) ?? [];
  return { killed, code, said };
};

/** How often each moment came, for the report. */
export const createTally = () => {
  const counts = new Map<string, number>();
  return {
    add: (killed: string) => {
      counts.set(killed, (counts.get(killed) ?? 0) + 1);
      // A long run shows how far it is.
      if (process.env.KILLS !== undefined) process.stderr.write(`${killed}\n`);
    },
    text: () =>
      [...counts]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([killed, count]) => `${killed}: ${count}`)
        .join("\n"),
  };
};

/** Kills a delivery and answers with the moment; empty: the moment did not come, and the delivery ended well. */
export const struckAt = async (kill: Kill): Promise<string> => {
  const { killed, code, said } = await killDelivery(kill);
  if (killed === "") expect(code, said).toBe(0);
  return killed;
};

/** Repeats `round` until so many deliveries were killed; it answers with what was killed, empty: nothing. */
export const untilKilled = async (
  name: string,
  kills: number,
  round: (nth: number) => Promise<string>,
): Promise<void> => {
  const tally = createTally();
  for (let killed = 0, nth = 0; killed < kills; nth += 1) {
    if (nth > kills * 10) throw new Error(`only ${killed} of ${nth} deliveries were killed`);
    const moment = await round(nth);
    if (moment === "") continue;
    killed += 1;
    tally.add(moment);
  }
  process.stderr.write(`${name}, ${kills} kills\n${tally.text()}\n`);
};
