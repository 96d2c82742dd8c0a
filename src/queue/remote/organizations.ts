// Organizations of a fetcher: client, limiter and ledger of each, opened from its configuration on the first request
// and kept.
import { redactorOf } from "../../../jobs/redaction.ts";
import { createClient, type HttpClient } from "../../api/client.ts";
import {
  createOrganizationLedger,
  type OrganizationLedger,
  type SharedReservation,
} from "../../budget/credits/organization-ledger.ts";
import { redisLedger, redisLimiter } from "../../budget/limits-in-redis.ts";
import { createThrottle, type Throttle } from "../../budget/rate/throttle.ts";
import { organizationKey } from "../../budget/store/in-redis.ts";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { createScrubber, type Secret } from "../../core/secret.ts";
import type { Handling } from "./packed-answer.ts";
import { createSeals, type Seals } from "./seals.ts";

export interface Organization {
  /** See organizationKey. */
  readonly key: string;
  /** The only organization whose usage may be asked for by name (`organization_id`); null: none. */
  readonly usageOf: string | null;
  readonly client: HttpClient;
  readonly throttle: Throttle;
  readonly ledger: OrganizationLedger;
  readonly seals: Seals;
  readonly handling: Handling;
}

/** Error that ends the run when no credit is left. */
export const denialOf = ({ code, resetsAt }: Extract<SharedReservation, { ok: false }>): DuckmirrorError => {
  if (code === "FENCED") return new DuckmirrorError("FENCED");
  const until = resetsAt === null ? "" : ` until ${new Date(resetsAt).toISOString()}`;
  return code === "QUOTA_SPENT" ? new DuckmirrorError(code, { until }) : new DuckmirrorError(code, { allowance: 0 });
};

/** Limits of an organization, shared by all its processes; a run's own ledger limits the run. */
export const sharedLimits = (config: Config) =>
  ({ maxCredits: null, reserve: config.reserveCredits, pace: "greedy", runEveryMs: config.syncEveryMs }) as const;

/** Limiter and ledger of the organization in Redis. */
export const openShared = (
  config: Config,
  place: { readonly connection: RedisConnection; readonly organization: string; readonly clock: Clock },
) => {
  const limits = sharedLimits(config);
  return {
    throttle: createThrottle({
      clock: place.clock,
      configured: config.rateLimitPerMinute,
      store: redisLimiter(place),
    }),
    ledger: createOrganizationLedger({ clock: place.clock, store: redisLedger(place, limits), limits }),
  };
};

export interface OrganizationsOptions {
  readonly connection: RedisConnection;
  readonly profiles: readonly Config[];
  readonly tokenOf: (config: Config) => Promise<Secret>;
  readonly version: string;
  readonly clock: Clock;
  /** Redis's clock, for the times of responses. */
  readonly storeClock: Clock;
  /** Most connections to one service. */
  readonly connections: number;
}

export interface Organizations {
  /** Throws PROFILE_UNKNOWN when this worker lacks the profile, and configuration errors. */
  open(profile: string): Promise<Organization>;
  /** The service refused the credentials; the next request reads them again. */
  drop(profile: string): void;
  close(): Promise<void>;
}

export const createOrganizations = (options: OrganizationsOptions): Organizations => {
  const { connection, profiles, tokenOf, version, clock, storeClock, connections } = options;
  const known = new Map<string, Promise<Organization>>();
  /** The latest of each profile: one that is dropped and has the same token still is opened again without a new client. */
  const opened = new Map<string, Organization>();
  const clients = new Set<HttpClient>();

  const create = async (profile: string): Promise<Organization> => {
    const config = profiles.find((each) => each.profile === profile);
    if (config === undefined) {
      const which = `the profiles ${profiles.map((each) => each.profile).join(", ")}`;
      throw new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: `"${profile}" is not one of them` });
    }
    if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
    const token = await tokenOf(config);
    const key = organizationKey(config.baseUrl, token.reveal());
    const before = opened.get(profile);
    if (before?.key === key) return before;
    const redact = await redactorOf(config, null);
    const client = createClient({
      baseUrl: config.baseUrl,
      token,
      version,
      clock: storeClock,
      timeouts: config.timeouts,
      maxBodyBytes: config.maxBodyBytes,
      connections,
      allowPlainHttp: config.allowPlainHttp,
    });
    clients.add(client);
    const scrubber = createScrubber();
    scrubber.hide(token);
    const reading = { limitBytes: config.maxBodyBytes, scrub: (text: string) => scrubber.scrub(text) };
    const shared = openShared(config, { connection, organization: key, clock });
    const organization = {
      key,
      usageOf: config.usage.organizationId,
      client,
      ...shared,
      seals: createSeals(token, key),
      handling: { reading, redact },
    };
    opened.set(profile, organization);
    return organization;
  };

  return {
    open: (profile) => {
      const found = known.get(profile);
      if (found !== undefined) return found;
      const opening = create(profile);
      known.set(profile, opening);
      // A failed opening is repeated, because a token file may be corrected meanwhile.
      opening.catch(() => known.get(profile) === opening && known.delete(profile));
      return opening;
    },
    drop: (profile) => {
      known.delete(profile);
    },
    close: async () => {
      await Promise.all([...clients].map((client) => client.close()));
    },
  };
};
