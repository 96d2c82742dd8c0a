// Runs the command line inside the test: what it writes is collected, questions are answered from a list.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import pc from "picocolors";
import type { CliDeps } from "../../src/cli/command.ts";
import { runCli } from "../../src/cli/program.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createScrubber } from "../../src/core/secret.ts";
import { afterTest } from "./after-test.ts";
import { copyMigratedMirror } from "./migrated-mirror.ts";

export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CliSetup {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stdin holds. */
  readonly input?: string;
  /** Answers to questions, in order; with them the terminal counts as a terminal. */
  readonly answers?: readonly string[];
  readonly columns?: number;
  readonly signal?: AbortSignal;
  readonly clock?: CliDeps["clock"];
  /** Called with everything written to stdout so far, whenever something is. */
  readonly onOut?: (text: string) => void;
  /** The same for stderr. */
  readonly onErr?: (text: string) => void;
}

/** Commands that create the mirror where there is none. */
const CREATES_MIRROR = ["sync", "lookup"];

/**
 * Runs `duckmirror <argv>` in process. A data directory that the environment names and that does not exist is migrated
 * already.
 */
export const cli = async (argv: readonly string[], setup: CliSetup = {}): Promise<CliRun> => {
  const dataDir = setup.env?.DUCKMIRROR_DATA_DIR;
  if (dataDir !== undefined && CREATES_MIRROR.includes(argv[0] ?? "")) await copyMigratedMirror(dataDir);
  let out = "";
  let err = "";
  const answers = [...(setup.answers ?? [])];
  const isTty = setup.answers !== undefined;
  const answer = (): string => {
    const next = answers.shift();
    if (next === undefined) throw new Error("a question was asked that the test has no answer to");
    return next;
  };
  const colours = pc.createColors(false);
  const code = await runCli(argv, {
    terminal: {
      out: async (text) => {
        out += text;
        setup.onOut?.(out);
      },
      err: (text) => {
        err += text;
        setup.onErr?.(err);
      },
      readInput: async () => setup.input ?? "",
      isTty: { in: isTty, out: isTty, err: isTty },
      columns: setup.columns ?? 10_000,
      errColumns: setup.columns ?? 10_000,
      outColours: colours,
      errColours: colours,
      errStream: new Writable({
        write: (chunk, _encoding, done) => {
          err += String(chunk);
          done();
        },
      }),
    },
    ask: {
      text: async ({ problem }) => {
        const text = answer();
        const wrong = problem?.(text) ?? null;
        if (wrong === null) return text;
        err += `${wrong}\n`;
        return answer();
      },
      choice: async ({ choices }) => {
        const value = answer();
        const found = choices.find((choice) => choice.value === value);
        if (!found) throw new Error(`${value} is not among the choices`);
        return found.value;
      },
    },
    env: setup.env ?? {},
    cwd: setup.cwd ?? "/",
    clock: setup.clock ?? systemClock,
    signal: setup.signal ?? new AbortController().signal,
    scrubber: createScrubber(),
    version: "1.2.3",
    invocation: "duckmirror",
  });
  return { code, out, err };
};

/** A folder of its own for one test, removed after it. */
export const aFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-test-"));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** The program in one place: `run` answers with what it wrote, `json` with the value that it prints with --json. */
export const cliIn = (setup: CliSetup) => {
  const run = (...argv: readonly string[]) => cli(argv, setup);
  return { run, json: async (...argv: readonly string[]) => JSON.parse((await run(...argv, "--json")).out) };
};

type Service = { readonly url: string; readonly token: string };

/** Where a mirror of a service can be made, and the program there. `more`: further settings. */
export const aPlaceFor = ({ url, token }: Service, more: Readonly<Record<string, string>> = {}) => {
  const cwd = aFolder();
  const dataDir = join(cwd, "data");
  const env = { DUCKMIRROR_BASE_URL: url, DUCKMIRROR_TOKEN: token, DUCKMIRROR_DATA_DIR: dataDir, ...more };
  return { cwd, dataDir, env, ...cliIn({ env, cwd }) };
};

/** A mirror of a sandbox's contacts that `sync` made. */
export const aContactsMirror = async (service: Service, more: Readonly<Record<string, string>> = {}) => {
  const place = aPlaceFor(service, { DUCKMIRROR_STREAMS: "contacts", ...more });
  const { code, err } = await place.run("sync", "--quiet");
  if (code !== 0) throw new Error(err);
  return place;
};

/** A command that goes on until it is stopped, at the latest when the test ends. */
export const startCli = (argv: readonly string[], setup: CliSetup = {}) => {
  const stopping = new AbortController();
  const said = { out: "", err: "" };
  const ended = cli(argv, {
    ...setup,
    signal: stopping.signal,
    onOut: (text) => {
      said.out = text;
    },
    onErr: (text) => {
      said.err = text;
    },
  });
  const stop = () => {
    stopping.abort();
    return ended;
  };
  afterTest(stop);
  return { said, ended, stop };
};
