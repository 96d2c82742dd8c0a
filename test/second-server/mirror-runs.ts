// Two ways to run duckmirror as its users do: the library's job in this process, and the built program as a child.
import { spawn } from "node:child_process";
import type { syncJob } from "../../jobs/sync.ts";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import type { Clock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { type SyncReport, syncReportSchema } from "../../src/core/report/sync-report.ts";
import { Secret } from "../../src/core/secret.ts";
import { readOutput } from "../support/child-output.ts";
import { chanceOf } from "./random.ts";
import type { SecondServer } from "./service.ts";

export interface SyncAsk {
  readonly full?: boolean;
  readonly maxCredits?: number;
  readonly allowMassDelete?: boolean;
  /** Ends the run at this request: asked to end, or killed where it is a process. */
  readonly endAtRequest?: number;
}

export interface SyncEnd {
  /** The contract's exit code; null after a kill. */
  readonly code: number | null;
  readonly report: SyncReport | null;
  readonly message: string;
}

export interface MirrorRuns {
  sync(ask: SyncAsk): Promise<SyncEnd>;
}

export interface MirrorSettings {
  readonly dataDir: string;
  readonly inputs: readonly string[];
  readonly content: readonly string[];
}

/** No sync here takes so long, ms of real time: one that does hangs. */
const HANGS_MS = 240_000;

/** The error and where it came from, in a line. */
const briefly = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message).split("\n").slice(0, 3).join(" ") : String(error);

const endAt = (server: SecondServer, request: number | undefined, end: () => void): void => {
  const first = server.log.length;
  server.onRequest(() => {
    if (request !== undefined && server.log.length - first >= request) end();
  });
};

export const inProcess = (
  server: SecondServer,
  settings: MirrorSettings,
  { clock, job }: { readonly clock: Clock; readonly job: typeof syncJob },
): MirrorRuns => {
  const chance = chanceOf(`${server.traits.seed}/client`);
  return {
    sync: async (ask) => {
      const config = resolveConfig({
        flags: {
          base_url: server.url,
          token: server.token,
          data_dir: settings.dataDir,
          ...(settings.inputs.length > 0 ? { companies: [...settings.inputs] } : {}),
          ...(settings.content.length > 0 ? { content: [...settings.content] } : {}),
          ...(ask.maxCredits === undefined ? {} : { max_credits: String(ask.maxCredits) }),
        },
        env: {},
        file: null,
        cwd: settings.dataDir,
        vocabulary: vocabulary(),
      });
      const [soft, hard] = [new AbortController(), new AbortController()];
      endAt(server, ask.endAtRequest, () => soft.abort());
      const watch = setTimeout(() => {
        soft.abort();
        hard.abort();
      }, HANGS_MS);
      try {
        const { report, error } = await job(
          config,
          { streams: [], full: ask.full ?? false, maxDurationMs: null, allowMassDelete: ask.allowMassDelete ?? false },
          {
            clock,
            random: chance.next,
            emit: () => undefined,
            signal: soft.signal,
            hardSignal: hard.signal,
            version: "0.0.0",
            token: new Secret(server.token),
          },
        );
        return { code: error?.exitCode ?? 0, report, message: error === null ? "" : `${error.code} ${error.message}` };
      } catch (error) {
        const code = error instanceof DuckmirrorError ? error.exitCode : 1;
        return { code, report: null, message: briefly(error) };
      } finally {
        clearTimeout(watch);
        server.onRequest(null);
      }
    },
  };
};

/** The built program, with nothing in its environment but what a user sets. */
export const asProcess = (server: SecondServer, settings: MirrorSettings, program: string): MirrorRuns => ({
  sync: async (ask) => {
    const argv = [
      "sync",
      "--json",
      ...(ask.full ? ["--full"] : []),
      ...(ask.allowMassDelete ? ["--allow-mass-delete"] : []),
      ...(ask.maxCredits === undefined ? [] : ["--max-credits", String(ask.maxCredits)]),
    ];
    const child = spawn(process.execPath, [program, ...argv], {
      cwd: settings.dataDir,
      env: {
        PATH: process.env.PATH,
        DUCKMIRROR_BASE_URL: server.url,
        DUCKMIRROR_TOKEN: server.token,
        DUCKMIRROR_DATA_DIR: settings.dataDir,
        DUCKMIRROR_COMPANIES: settings.inputs.join(","),
        DUCKMIRROR_CONTENT: settings.content.join(","),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    endAt(server, ask.endAtRequest, () => child.kill("SIGKILL"));
    const watch = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
    const { code, out, err } = await readOutput(child).ended;
    clearTimeout(watch);
    server.onRequest(null);
    const report = out === "" ? null : syncReportSchema.parse(JSON.parse(out));
    return { code, report, message: err.slice(-2_000) };
  },
});
