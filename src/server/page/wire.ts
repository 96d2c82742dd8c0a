// The page's requests and the types of their responses, which are those of the server's functions.
import type { SyncProgress } from "../../core/report/sync-progress.ts";
import type { Verdict } from "../../core/report/verdict.ts";
import type { readFindings } from "../figures/findings.ts";
import type { readOverview, readRowsOverTime, readRuns } from "../figures/overview.ts";
import type { readRun, readRunRequests } from "../figures/run-detail.ts";

export type Overview = Awaited<ReturnType<typeof readOverview>> & {
  readonly now: number;
  readonly profile: string;
  readonly verdict: Verdict;
  readonly rate_allowed: number | null;
};
export type Growth = { readonly growth: Awaited<ReturnType<typeof readRowsOverTime>> };
export type Findings = Awaited<ReturnType<typeof readFindings>>;
export type Runs = { readonly runs: Awaited<ReturnType<typeof readRuns>> };
export type Run = Runs["runs"][number];
export type RunDetail = Awaited<ReturnType<typeof readRun>>;
export type RunRequests = { readonly requests: Awaited<ReturnType<typeof readRunRequests>>; readonly more: boolean };

export interface Abilities {
  readonly version: string;
  readonly profiles: readonly {
    readonly name: string;
    readonly published: boolean;
    readonly plan: boolean;
    readonly feedback: boolean;
    readonly following: boolean;
    readonly destinations: boolean;
    /** Why it cannot be synced; null: it can, or this server syncs nothing. */
    readonly problem: { readonly message: string; readonly hint: string } | null;
  }[];
  readonly syncs: boolean;
  readonly verify: boolean;
  readonly queues: boolean;
  readonly fleet: boolean;
  readonly login: boolean;
  /** Opt-in content that a plan may be asked for with. */
  readonly content: readonly string[];
}

export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
  readonly ms: number;
}

export interface SavedQuery {
  readonly name: string;
  readonly question: string;
  readonly answer: string;
  readonly sql: string;
}

export interface PlanAnswer {
  readonly requests: number;
  readonly at_least: boolean;
  readonly streams: readonly {
    readonly stream: string;
    readonly scopes: number;
    readonly requests: number;
    readonly at_least: boolean;
    readonly because: readonly { readonly reason: string; readonly scopes: number }[];
  }[];
  readonly minutes: number | null;
  readonly credits_per_day: number;
  readonly left_at_reset: number | null;
  readonly short: number | null;
  readonly empty_on: string | null;
  /** Lists of unknown length. */
  readonly unknown: readonly string[];
  /** Price of the content asked about. */
  readonly content: readonly { readonly name: string; readonly text: string }[];
}

export interface ActiveRun {
  readonly run_id: string;
  readonly state: string;
  readonly asked_at: number;
  readonly error: { readonly message: string; readonly hint: string } | null;
  readonly due_at: number | null;
  readonly progress: SyncProgress | null;
  /** Absent without Redis, and once it has ended. */
  readonly paused?: boolean;
}

/** A refusal of the server, with a hint. */
export class Refused extends Error {
  readonly hint: string;
  readonly status: number;
  constructor(status: number, message: string, hint: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

let profile = "";
export const chooseProfile = (name: string): void => {
  profile = name;
};
export const chosenProfile = (): string => profile;

const withProfile = (path: string): string =>
  `${path}${path.includes("?") ? "&" : "?"}profile=${encodeURIComponent(profile)}`;

const read = async (response: Response) => {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  if (response.status === 401) location.assign("/login");
  const { message = `status ${response.status}`, hint = "" } = body.error ?? {};
  throw new Refused(response.status, String(message), String(hint));
};

/** GET of this profile. The caller gives the type of the response. */
export const ask = async <T>(path: string): Promise<T> => read(await fetch(withProfile(path)));

/** A request that changes or runs something. */
export const send = async <T>(
  method: "POST" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> =>
  read(
    await fetch(path, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );

/** Address of the event stream of this profile. */
export const eventsUrl = (): string => withProfile("/api/events");
