// Options of a sandbox: defaults and limits of each value. The command line's text of latencies is parsed here, too.
import { type Clock, systemClock } from "../core/clock.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { PLANS, type PlanName } from "./limits/credits.ts";

export interface SandboxOptions {
  /** The same seed, accounts and `now` give the same rows. Default 1. */
  readonly seed?: number | undefined;
  /** Tracked accounts. Default 40. */
  readonly accounts?: number | undefined;
  /** Default `pro`. */
  readonly plan?: PlanName | undefined;
  /** Requests per minute and token instead of the plan's. */
  readonly requestsPerMinute?: number | undefined;
  /** Credits per month instead of the plan's. */
  readonly credits?: number | undefined;
  /** Default `full`. */
  readonly tier?: "full" | "public" | undefined;
  /** Address to listen on. Default 127.0.0.1: this machine only. */
  readonly host?: string | undefined;
  /** 0 (default): any free port. */
  readonly port?: number | undefined;
  /** Default: derived from the seed. */
  readonly token?: string | undefined;
  /** Further keys of the same organization. */
  readonly moreTokens?: readonly string[] | undefined;
  /** Time before each answer in ms: a number, or `min-max`. Default 0. */
  readonly latencyMs?: number | string | undefined;
  /** Changes per minute while running. Default 0. */
  readonly evolve?: number | undefined;
  /** Larger pages are refused with 400. Default 100. */
  readonly maxPerPage?: number | undefined;
  /** Keeps the generated warehouse; default: a temporary directory, removed on close. */
  readonly dir?: string | undefined;
  /** Present time of the data, ms since the epoch. Default: the last midnight UTC. */
  readonly now?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Numeric ids above 2^53. Default false. */
  readonly bigIds?: boolean | undefined;
  /** Threads of the sandbox's database. Default: one per core. */
  readonly threads?: number | undefined;
}

const DAY_MS = 86_400_000;

/** `800` or `200-900` → [min, max] in ms. Throws USAGE for anything else. */
const parseLatency = (latency: number | string): readonly [min: number, max: number] => {
  const match = /^(\d+)(?:-(\d+))?$/.exec(String(latency));
  const min = Number(match?.[1]);
  const max = Number(match?.[2] ?? match?.[1]);
  if (match === null || min > max) {
    throw new DuckmirrorError("USAGE", { detail: `latency must be milliseconds or min-max, not ${latency}` });
  }
  return [min, max];
};

const whole = (name: string, value: number, min: number): number => {
  if (Number.isInteger(value) && value >= min) return value;
  throw new DuckmirrorError("USAGE", { detail: `${name} must be a whole number of at least ${min}, not ${value}` });
};

/** Options with defaults filled in and checked. Throws USAGE. */
export const resolveOptions = (options: SandboxOptions) => {
  const { clock = systemClock, plan = "pro" } = options;
  return {
    seed: whole("seed", options.seed ?? 1, 0),
    accounts: whole("accounts", options.accounts ?? 40, 1),
    requestsPerMinute: whole("requests per minute", options.requestsPerMinute ?? PLANS[plan].requestsPerMinute, 1),
    creditsPerMonth: whole("credits", options.credits ?? PLANS[plan].creditsPerMonth, 0),
    plan,
    tier: options.tier ?? "full",
    host: options.host ?? "127.0.0.1",
    port: whole("port", options.port ?? 0, 0),
    latencyMs: parseLatency(options.latencyMs ?? 0),
    evolve: options.evolve ?? 0,
    maxPerPage: whole("maximum page size", options.maxPerPage ?? 100, 1),
    now: options.now ?? Math.floor(clock.now() / DAY_MS) * DAY_MS,
    clock,
    bigIds: options.bigIds ?? false,
  };
};
