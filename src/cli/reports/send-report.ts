// `sync --report KIND[=FILE|URL]`: hands the news of a sync to the program that started it. A report that cannot be sent is a warning: the
// sync is what counts.
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { postOnce } from "../../alerts/sending/post.ts";
import type { Config } from "../../core/config/config.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { appendOwn, replaceFile } from "../../core/files/own-files.ts";
import type { SyncResult } from "../../core/report/sync-report.ts";
import { Secret } from "../../core/secret.ts";
import { isoTime } from "../../core/time.ts";
import type { CommandContext } from "../command.ts";
import { airflowLine, dagsterLines, githubAnnotations, githubSummary, pipesPlace } from "./forms.ts";
import { endEvent, failEvent, type LineageRun, startEvent } from "./openlineage.ts";
import { readNews, type SyncNews } from "./sync-news.ts";

const KINDS = ["dagster", "airflow", "github", "openlineage"] as const;
type Kind = (typeof KINDS)[number];

interface SyncReporter {
  began(): Promise<void>;
  ended(result: SyncResult): Promise<void>;
  /** The sync threw before it had a report. */
  failed(error: unknown): Promise<void>;
}

const NOBODY: SyncReporter = { began: async () => {}, ended: async () => {}, failed: async () => {} };

interface Wanted {
  readonly kind: Kind;
  /** File or address; null: the kind's own place. */
  readonly target: string | null;
}

const wantedOf = (text: string): Wanted => {
  const [name = "", ...rest] = text.split("=");
  const kind = KINDS.find((known) => known === name);
  const target = rest.join("=");
  if (kind !== undefined && (rest.length === 0 || target !== ""))
    return { kind, target: rest.length === 0 ? null : target };
  throw new DuckmirrorError("USAGE", {
    detail: `--report: "${text}" is none of ${KINDS.join(", ")}, each also with =FILE`,
  });
};

type Means = Pick<CommandContext, "env" | "terminal" | "clock" | "signal" | "version" | "cwd" | "scrubber">;

const newsOf = (result: SyncResult, { clock, scrubber }: Means): Promise<SyncNews> =>
  readNews(result, { now: clock.now(), scrub: (text) => scrubber.scrub(text) });

/** Appends lines to a file that the user, or the program above, named. */
const appendTo = (file: string, lines: readonly string[]) => appendOwn(file, lines.map((line) => `${line}\n`).join(""));

const dagsterWriter = ({ target }: Wanted, { env, terminal, cwd }: Means) => {
  const place = target === null ? pipesPlace(env.DAGSTER_PIPES_MESSAGES ?? "") : { path: resolve(cwd, target) };
  if (place === null)
    throw new DuckmirrorError("USAGE", {
      detail: "--report dagster: no messages file is named; start it with PipesSubprocessClient, or name one",
    });
  return async (lines: readonly string[]): Promise<void> => {
    if ("path" in place) return appendTo(place.path, lines);
    const text = lines.map((line) => `${line}\n`).join("");
    if (place.stdio === "stderr") terminal.err(text);
    else await terminal.out(text);
  };
};

const githubWriter = ({ target }: Wanted, { env, terminal, cwd }: Means) => {
  const file = target === null ? env.GITHUB_STEP_SUMMARY : resolve(cwd, target);
  if (file === undefined || file === "")
    throw new DuckmirrorError("USAGE", { detail: "--report github: GITHUB_STEP_SUMMARY is not set; name a file" });
  return (summary: string, annotations: readonly string[]): void => {
    appendTo(file, [summary]);
    // The runner reads commands from stderr as well; stdout carries the result of --json.
    if (annotations.length > 0) terminal.err(`${annotations.join("\n")}\n`);
  };
};

/** Where OpenLineage's own clients send events. */
const lineageUrl = (env: Means["env"]): string | null =>
  env.OPENLINEAGE_URL
    ? new URL(env.OPENLINEAGE_ENDPOINT ?? "api/v1/lineage", `${env.OPENLINEAGE_URL.replace(/\/$/, "")}/`).href
    : null;

const lineageWriter = ({ target }: Wanted, { env, signal, cwd, scrubber }: Means) => {
  const place = target ?? lineageUrl(env);
  if (place === null)
    throw new DuckmirrorError("USAGE", {
      detail: "--report openlineage: OPENLINEAGE_URL is not set; name a file or an address",
    });
  if (!/^https?:\/\//.test(place))
    return async (event: object) => appendTo(resolve(cwd, place), [JSON.stringify(event)]);
  const key = env.OPENLINEAGE_API_KEY;
  if (key) scrubber.hide(new Secret(key));
  const headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
  return async (event: object): Promise<void> => {
    // An interrupted sync ends with an event, too.
    const post = {
      url: place,
      headers,
      body: JSON.stringify(event),
      allowPrivate: true,
      signal: signal.aborted ? new AbortController().signal : signal,
    };
    const attempt = await postOnce(post);
    if (attempt.kind === "away") throw new Error(attempt.detail);
    if (attempt.status >= 300) throw new Error(`it answered ${attempt.status}`);
  };
};

const lineageReporter = (wanted: Wanted, config: Config, means: Means): SyncReporter => {
  const { clock, version, scrubber } = means;
  const send = lineageWriter(wanted, means);
  const run: LineageRun = {
    id: randomUUID(),
    profile: config.profile,
    service: config.baseUrl ?? "duckmirror",
    warehouse: snapshotPath(config.dataDir),
    version,
  };
  return {
    began: () => send(startEvent(run, isoTime(clock.now()))),
    ended: async (result) => send(endEvent(run, await newsOf(result, means))),
    failed: (error) => send(failEvent(run, scrubber.scrub(detailOf(error)), isoTime(clock.now()))),
  };
};

const reporterOf = (wanted: Wanted, config: Config, means: Means): SyncReporter => {
  const { terminal, cwd } = means;
  switch (wanted.kind) {
    case "dagster": {
      const write = dagsterWriter(wanted, means);
      return { ...NOBODY, ended: async (result) => write(dagsterLines(await newsOf(result, means))) };
    }
    case "airflow": {
      const { target } = wanted;
      const write = (line: string) =>
        target === null ? terminal.out(`${line}\n`) : replaceFile(resolve(cwd, target), `${line}\n`);
      return { ...NOBODY, ended: async (result) => write(airflowLine(await newsOf(result, means))) };
    }
    case "github": {
      const write = githubWriter(wanted, means);
      const ended = async (result: SyncResult) => {
        const found = await newsOf(result, means);
        write(githubSummary(found), githubAnnotations(found));
      };
      return { ...NOBODY, ended };
    }
    case "openlineage":
      return lineageReporter(wanted, config, means);
    default:
      return wanted.kind satisfies never;
  }
};

/**
 * Runs a sync between its reports. `text`: of the option; unset: nobody hears. Throws USAGE for a kind, or a place, that is not known, and
 * the errors of `work`.
 */
export const reporting = async (
  text: string | undefined,
  config: Config,
  means: Means,
  work: () => Promise<SyncResult>,
): Promise<{ readonly result: SyncResult; readonly report: () => Promise<void> }> => {
  if (text === undefined) return { result: await work(), report: async () => {} };
  const wanted = wantedOf(text);
  const reporter = reporterOf(wanted, config, means);
  const careful = (sending: Promise<void>): Promise<void> =>
    sending.catch((error: unknown) => means.terminal.err(`warning: --report ${wanted.kind}: ${detailOf(error)}\n`));
  await careful(reporter.began());
  try {
    const result = await work();
    return { result, report: () => careful(reporter.ended(result)) };
  } catch (error) {
    await careful(reporter.failed(error));
    throw error;
  }
};
