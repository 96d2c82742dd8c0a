// DuckDB with extensions: version 1.5.5 in a process of its own (program.ts), because the mirror's version has none
// (docs/decisions/lakes.md). Its death at any moment harms nobody but its own transaction.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { DuckmirrorError } from "../../../core/errors.ts";
import { childProgram, isFromSources } from "../../../core/program-files.ts";
import type { OutValue } from "../out-values.ts";
import { type FromExtended, fromExtendedSchema, type Opening, type ToExtended } from "./messages.ts";

/** What `npm install` takes to get the client of `extended/program.ts`. */
export const CLIENT_WITH_EXTENSIONS = "duckdb-with-extensions@npm:@duckdb/node-api@1.5.5-r.5";

type Row = Readonly<Record<string, unknown>>;

/** Most characters of a row of a user's statement. */
const ROW_CHARACTERS = 100_000_000;

export interface Answered {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly batches: AsyncIterable<readonly (readonly OutValue[])[]>;
}

export interface ExtendedDuckdb {
  /**
   * Runs one statement and returns its rows as JSON values. Throws an error with DuckDB's text; the reason of the signal
   * once it is aborted.
   */
  run(sql: string): Promise<readonly Row[]>;
  /**
   * Runs a user's statement, which may only read, and streams its rows to `use`. Throws USAGE, QUERY_LIMIT, an error with
   * DuckDB's text, the signal's reason, or the error of `use`.
   */
  query<T>(sql: string, use: (answer: Answered) => Promise<T>): Promise<T>;
  /** Ends the process. What was not committed is undone. */
  close(): Promise<void>;
}

/** Where extensions and certificates are, how to reach catalogs and object stores; no token of duckmirror. */
const PASSED_ON = /^(?:HOME|PATH|TMPDIR|USERPROFILE|SystemRoot|SSL_CERT_\w+|https?_proxy|no_proxy|AWS_\w+|PG[A-Z]+)$/i;

/** Seconds that a catalog's Postgres has to take a connection, unless the environment says otherwise. */
const CONNECT = { PGCONNECT_TIMEOUT: "15" };

const start = () => {
  const passed = Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name)));
  const env = { ...CONNECT, ...passed };
  return spawn(process.execPath, childProgram("src/warehouse/duckdb/extended/program"), {
    env: isFromSources ? { ...env, TSX_DISABLE_CACHE: "1" } : env,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
  });
};

type Answer = Extract<FromExtended, { readonly kind: "rows" | "columns" | "batch" }>;

/** The answer, unless it is a failure. */
const goodAnswer = (answer: FromExtended): Answer => {
  switch (answer.kind) {
    case "rows":
    case "columns":
    case "batch":
      return answer;
    case "notReading":
      throw new DuckmirrorError("USAGE", { detail: "only one SELECT at a time is run, and nothing that writes" });
    case "tooLarge": {
      const detail = `one of its rows has more than ${ROW_CHARACTERS / 1_000_000} million characters`;
      throw new DuckmirrorError("QUERY_LIMIT", { detail });
    }
    case "failed":
      throw new Error(answer.detail);
    case "clientMissing":
      throw new DuckmirrorError("EXTENSION_CLIENT_MISSING", { packages: CLIENT_WITH_EXTENSIONS });
    case "extensionMissing": {
      const { extension, detail } = answer;
      throw new DuckmirrorError("EXTENSION_MISSING", { extension, detail, file: `${extension}.duckdb_extension` });
    }
    default:
      return answer satisfies never;
  }
};

/**
 * Starts the process, loads the extensions. An abort of `signal` kills it. Throws EXTENSION_CLIENT_MISSING,
 * EXTENSION_MISSING.
 */
export const openExtended = async (opening: Omit<Opening, "kind">, signal: AbortSignal): Promise<ExtendedDuckdb> => {
  signal.throwIfAborted();
  const child = start();
  let waiting: { resolve(answer: FromExtended): void; reject(error: unknown): void } | null = null;
  let ended = false;
  const kill = () => void child.kill("SIGKILL");
  const fail = () => {
    ended = true;
    waiting?.reject(signal.aborted ? signal.reason : new Error("the process of DuckDB with extensions ended"));
    waiting = null;
  };
  child.on("message", (message) => {
    const parsed = fromExtendedSchema.safeParse(message);
    if (!parsed.success) return kill();
    waiting?.resolve(parsed.data);
    waiting = null;
  });
  child.once("error", fail);
  child.once("disconnect", fail);
  const gone = once(child, "exit").then(fail, fail);
  signal.addEventListener("abort", kill, { once: true });
  const ask = async (message: ToExtended): Promise<Answer> => {
    signal.throwIfAborted();
    if (ended) throw new Error("the process of DuckDB with extensions ended");
    const answer = new Promise<FromExtended>((resolve, reject) => {
      waiting = { resolve, reject };
      child.send(message, (error) => error !== null && fail());
    });
    return goodAnswer(await answer);
  };
  const close = async () => {
    signal.removeEventListener("abort", kill);
    kill();
    await gone;
  };
  try {
    await ask({ kind: "open", ...opening });
  } catch (error) {
    await close();
    throw error;
  }
  async function* batches() {
    for (;;) {
      const answer = await ask({ kind: "next" });
      if (answer.kind !== "batch" || answer.batch.length === 0) return;
      yield answer.batch;
    }
  }
  return {
    run: async (sql) => {
      const answer = await ask({ kind: "run", sql });
      return answer.kind === "rows" ? answer.rows : [];
    },
    query: async (sql, use) => {
      const answer = await ask({ kind: "query", sql, rowCharacters: ROW_CHARACTERS });
      return use({ columns: answer.kind === "columns" ? answer.columns : [], batches: batches() });
    },
    close,
  };
};
