// Requests of the page to its server, and the types of their responses, which are those of the server's functions.

import type { AlertFigures } from "../../../jobs/alerts.ts";
import type { planJson } from "../../../jobs/plan.ts";
import type { DictionaryTable } from "../../catalog/dictionary.ts";
import type { SyncProgress } from "../../core/report/sync-progress.ts";
import type { readRuns } from "../../warehouse/read/read-run.ts";
import type { readAccount, readAccounts } from "../figures/accounts.ts";
import type { readFindings, readRowsOverTime } from "../figures/overview.ts";
import type { readRun, readRunRequests } from "../figures/run-detail.ts";
import type { readTable } from "../figures/tables.ts";
import type { ShownSetting } from "../http/server-context.ts";
import type { abilitiesOf, statusOf } from "../routes/page-api.ts";
import type { runJson } from "../routes/syncs.ts";

export type Overview = Awaited<ReturnType<typeof statusOf>>;
export type Table = Overview["tables"][number];
export type Schema = { readonly tables: readonly DictionaryTable[]; readonly functions: readonly string[] };
export type TableDetail = Awaited<ReturnType<typeof readTable>>;
export type AccountRow = Omit<Awaited<ReturnType<typeof readAccounts>>[number], "total">;
export type AccountList = { readonly accounts: readonly AccountRow[]; readonly total: number; readonly more: boolean };
export type Account = Awaited<ReturnType<typeof readAccount>>;
export type Settings = { readonly settings: readonly ShownSetting[] };
export type Growth = { readonly growth: Awaited<ReturnType<typeof readRowsOverTime>> };
export type Findings = Awaited<ReturnType<typeof readFindings>>;
export type Runs = { readonly runs: Awaited<ReturnType<typeof readRuns>> };
export type Run = Runs["runs"][number];
export type RunDetail = Awaited<ReturnType<typeof readRun>>;
export type RunRequests = { readonly requests: Awaited<ReturnType<typeof readRunRequests>>; readonly more: boolean };

/** As `plan --json` prints it. */
export type PlanAnswer = ReturnType<typeof planJson>;
export type Abilities = ReturnType<typeof abilitiesOf>;

export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
  readonly ms: number;
}

export type Progress = { readonly progress: SyncProgress | null };
export type Alerts = { readonly alerts: readonly AlertFigures[] };

export type ActiveRun = ReturnType<typeof runJson>;

/** A refusal of the server, with a hint. */
export class Refused extends Error {
  readonly code: string;
  readonly hint: string;
  readonly status: number;
  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** Any failure of a request as a refusal. */
export const refusalOf = (error: unknown): Refused =>
  error instanceof Refused ? error : new Refused(0, "", `The page failed: ${String(error)}`, "Load it again.");

/** The profile in the page's address; empty: the first one. */
export const chosenProfile = (): string => new URLSearchParams(location.search).get("profile") ?? "";

/** The member of a request's body that names the chosen profile; none for the first one. */
export const profileMember = (): { readonly profile?: string } =>
  chosenProfile() === "" ? {} : { profile: chosenProfile() };

/** The address of a page or route, with the chosen profile. */
export const withProfile = (path: string): string =>
  chosenProfile() === ""
    ? path
    : `${path}${path.includes("?") ? "&" : "?"}profile=${encodeURIComponent(chosenProfile())}`;

const read = async (response: Response) => {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  if (response.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  const { code = "", message = `status ${response.status}`, hint = "" } = body.error ?? {};
  throw new Refused(response.status, String(code), String(message), String(hint));
};

/** GET of this profile. The caller gives the type of the response. */
export const ask = async <T>(path: string): Promise<T> => read(await fetch(withProfile(path)));

const request = (method: "POST" | "DELETE", path: string, body: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(path, {
    method,
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });

/** A request that changes or runs something. */
export const send = async <T>(
  method: "POST" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> => read(await request(method, path, body, signal));

/** A POST whose response is a file. */
export const sendForFile = async (path: string, body: unknown, signal: AbortSignal) => {
  const response = await request("POST", path, body, signal);
  if (!response.ok) return read(response);
  return { file: await response.blob(), rows: Number(response.headers.get("x-duckmirror-rows")) };
};

/** Address of the event stream of this profile. */
export const eventsUrl = (): string => withProfile("/api/events");
