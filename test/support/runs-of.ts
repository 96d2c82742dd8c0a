// Settings and context of syncs that a test runs, and what they tell.
import type { Clock } from "../../src/core/clock.ts";
import type { ProgressEvent } from "../../src/core/report/sync-progress.ts";
import { Secret } from "../../src/core/secret.ts";
import { configOf } from "./given-config.ts";

interface Runs {
  readonly url: string;
  readonly dataDir: string;
  /** More settings. */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly random: () => number;
}

export const runsOf = ({ url, dataDir, env, clock, random }: Runs) => {
  const events: ProgressEvent[] = [];
  return {
    events,
    configOf: (more: Readonly<Record<string, string>> = {}) =>
      configOf(null, {
        DUCKMIRROR_BASE_URL: url,
        DUCKMIRROR_TOKEN: "test-token",
        DUCKMIRROR_DATA_DIR: dataDir,
        DUCKMIRROR_RATE_LIMIT: "100000",
        ...env,
        ...more,
      }),
    context: (signal: AbortSignal = new AbortController().signal) => ({
      clock,
      random,
      emit: (event: ProgressEvent) => void events.push(event),
      signal,
      version: "0.0.0",
      token: new Secret("test-token"),
    }),
  };
};
