// What the server's routes share: per mirror its snapshot, audit trail and actions; clock, limits, settings, and the count of crashes of users'
// SQL. Its types, and `createContext`, which makes it from the server's options.
import { z } from "zod";
import type { AlertFigures } from "../../../jobs/alerts.ts";
import { briefly } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import type { TlsFiles } from "../../core/config/secrets.ts";
import type { UserSqlSetting } from "../../core/config/settings.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Fleet, UnableProfile } from "../../core/report/fleet.ts";
import type { SyncProgress } from "../../core/report/sync-progress.ts";
import type { SyncTriggers } from "../../core/report/triggers.ts";
import type { Secret } from "../../core/secret.ts";
import type { DeliveryState } from "../../deliver/delivery-results.ts";
import type { Feedback } from "../../replica/refusal.ts";
import type { AuditTrail } from "../../warehouse/audit/trail.ts";
import { type Box, offeredBox } from "../../warehouse/user-sql/process-pool.ts";
import type { ConnectionLimits } from "../access/connection-limits.ts";
import { createKeyring, type Keyring } from "../access/key-store.ts";
import { createGuesses, createSessions, type Guesses, type Sessions } from "../access/sessions.ts";
import { openSnapshots, type Snapshot, type SnapshotSource } from "../snapshots/snapshot.ts";
import { HttpRefusal } from "./refusals.ts";

/** Response to feedback, and its cost. */
export interface FeedbackReceipt {
  readonly receipt: unknown;
  readonly credits: number;
}

/** The companies that a mirror follows (jobs/following.ts). */
export interface FollowedCompanies {
  list(): Promise<readonly unknown[]>;
  add(inputs: readonly string[]): Promise<{ readonly added: readonly string[] }>;
  remove(inputs: readonly string[], erase: boolean): Promise<{ readonly removed: readonly string[] }>;
}

/** A setting as it is in force. */
export interface ShownSetting {
  readonly name: string;
  readonly meaning: string;
  /** As text; of a secret, only that it is set. */
  readonly value: string;
  /** A flag, a variable or a line of the file; null: the default. */
  readonly from: string | null;
}

/** One organization's mirror, as passed to the server. */
export interface ServedProfile {
  readonly name: string;
  /** Path of the published snapshot. */
  readonly snapshot: string;
  /** Configured requests per minute; null: the service's limit. */
  readonly ratePerMinute: number | null;
  /** Trail of the actions on this mirror; absent: none is written. */
  readonly audit?: AuditTrail;
  /**
   * Forecast of the next sync, from the snapshot, as if this opt-in content were configured, too, and these lists alone (none: those of
   * the configuration); absent: the page does not show it. Rejects with USAGE for unknown names.
   */
  readonly plan?: (withContent: readonly string[], streams: readonly string[]) => Promise<unknown>;
  /** Configured lists; absent: all. */
  readonly streams?: readonly string[];
  /** When its next sync starts, ms since the epoch; absent: this process starts none. */
  readonly nextSyncAt?: () => number | null;
  /** What a sync of any process does now; null: none runs. */
  readonly progress?: () => Promise<SyncProgress | null>;
  /** Settings in force, without secrets; absent: this server does not show them. */
  readonly settings?: () => readonly ShownSetting[];
  /** Followed companies; absent: this server does not show them. */
  readonly following?: FollowedCompanies;
  /** Figures of the alert rules; absent: it has none. */
  readonly alerts?: () => Promise<readonly AlertFigures[]>;
  /** Results of deliveries to its destinations; absent: it has none. */
  readonly deliveries?: () => Promise<readonly DeliveryState[]>;
  /** Sends feedback to the service, which costs a credit; absent: not available. */
  readonly sendFeedback?: (feedback: Feedback) => Promise<FeedbackReceipt>;
}

export interface ServerOptions {
  /** At least one; the first is the default. */
  readonly profiles: readonly ServedProfile[];
  /** The configured key, with all rights; null: none. */
  readonly key: Secret | null;
  /** File of the named keys; absent: none. Without any key, everyone on this machine has access, and nobody else. */
  readonly keyFile?: string;
  /** Listen host, for the check of Host headers. */
  readonly listenHost: string;
  readonly clock: Clock;
  readonly version: string;
  /** Absent: this server only reads. */
  readonly triggers?: SyncTriggers;
  /** Queues, members and pauses of the fleet, if there is Redis. */
  readonly fleet?: () => Promise<Fleet>;
  /** Profiles that this process cannot sync now; absent: it syncs none. */
  readonly unable?: () => readonly UnableProfile[];
  /** Folder of the built page; default: beside this program. */
  readonly pageFolder?: URL;
  /** Certificate and key; absent: plain HTTP. */
  readonly tls?: TlsFiles | null;
  /** Limits on connections; the defaults are for production. */
  readonly limits?: Partial<ConnectionLimits>;
  /** Bytes of snapshots that one reader gets in a minute; absent or null: any. */
  readonly snapshotBytesPerMinute?: number | null;
  /** The setting `user_sql`; default box. */
  readonly userSql?: UserSqlSetting;
  /** Called for internal faults, which clients only see as 500. */
  readonly onFault: (error: unknown) => void;
}

/** SQL of users, as this server runs it. */
export interface UserSqlBox {
  readonly setting: UserSqlSetting;
  /** The setting, and what this system offers; tried once. */
  offered(): Promise<Box & { readonly setting: UserSqlSetting }>;
  /** How often SQL brought its process down by a fault of the engine. */
  crashes(): number;
  readonly onCrash: () => void;
}

const userSqlBox = (setting: UserSqlSetting, onFault: ServerOptions["onFault"]): UserSqlBox => {
  let box: Promise<Box> | null = null;
  let crashes = 0;
  return {
    setting,
    offered: async () => {
      box ??= offeredBox();
      return { setting, ...(await box) };
    },
    crashes: () => crashes,
    onCrash: () => {
      crashes += 1;
      onFault(
        new Error("SQL of a user brought its process down by a fault of DuckDB; the audit trail says whose it was"),
      );
    },
  };
};

export interface Mirror extends Omit<ServedProfile, "snapshot"> {
  readonly snapshots: SnapshotSource;
}

export interface ServerContext extends Omit<ServerOptions, "profiles" | "userSql"> {
  readonly userSql: UserSqlBox;
  readonly keyring: Keyring;
  readonly sessions: Sessions;
  readonly guesses: Guesses;
  readonly mirrors: readonly Mirror[];
  /** The mirror of a profile; undefined: the first one. Throws a 404 refusal. */
  mirror(name: string | undefined): Mirror;
  /** The mirror that `?profile=` names. Throws a 404 refusal, and a ZodError if it is named twice. */
  mirrorOf(request: { readonly query: unknown }): Mirror;
  /** Runs `work` on the snapshot of that mirror. Throws as `mirrorOf`, SNAPSHOT_MISSING and the errors of `work`. */
  read<T>(request: { readonly query: unknown }, work: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /**
   * The mirror of a request that changes or starts something; null: the only one. Throws a 404 refusal, and
   * PROFILE_UNKNOWN if there are several and none is named.
   */
  target(name: string | null | undefined): Mirror;
  /** Aborts when the server closes: ends event streams and queries. */
  readonly closing: AbortSignal;
}

/** Whether a request came over https, to this server or to a proxy in front of it. */
export const isSecure = (
  { headers }: { readonly headers: Readonly<Record<string, unknown>> },
  { tls }: Pick<ServerContext, "tls">,
): boolean => Boolean(tls) || headers["x-forwarded-proto"] === "https";

const profileQuery = z.object({ profile: z.string().optional() });

/** Probes, scrapes and open pages within this time get one reading of Redis, ms. */
const FLEET_KEPT_MS = 1_000;

export const createContext = (options: ServerOptions, closing: AbortSignal): ServerContext => {
  const mirrors = options.profiles.map(({ snapshot, ...profile }) => ({
    ...profile,
    snapshots: openSnapshots(snapshot),
  }));
  const names = mirrors.map(({ name }) => name);
  const keyring = createKeyring(options.key, options.keyFile ?? null, options.onFault);
  const mirror = (name: string | undefined): Mirror => {
    const found = name === undefined || name === "" ? mirrors[0] : mirrors.find((other) => other.name === name);
    if (found !== undefined) return found;
    throw new HttpRefusal(404, "NOT_FOUND", "There is no such profile.", `Profiles here: ${names.join(", ")}.`);
  };
  const mirrorOf: ServerContext["mirrorOf"] = ({ query }) => mirror(profileQuery.parse(query).profile);
  return {
    ...options,
    ...(options.fleet === undefined ? {} : { fleet: briefly(options.fleet, options.clock, FLEET_KEPT_MS) }),
    userSql: userSqlBox(options.userSql ?? "box", options.onFault),
    keyring,
    sessions: createSessions(keyring),
    guesses: createGuesses(),
    mirrors,
    closing,
    mirror,
    mirrorOf,
    read: (request, work) => mirrorOf(request).snapshots.use(work),
    target: (name) => {
      if (name || mirrors.length < 2) return mirror(name ?? undefined);
      const which = `the profiles ${names.join(", ")}`;
      throw new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: "none was named" });
    },
  };
};
