// Job deliver: brings destinations to the published snapshot, one after another. Spends no credit and takes no writer's
// lock; one that fails does not stop the others.
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import type { DestinationSettings } from "../src/core/config/destinations/destination-settings.ts";
import { DuckmirrorError, detailOf, isCode } from "../src/core/errors.ts";
import { inSpan, noTracer, type Tracer } from "../src/core/tracing.ts";
import { type DeliveryOutcome, noteDelivery } from "../src/deliver/delivery-results.ts";
import type { Delivered } from "../src/deliver/destination.ts";
import { assertSet, openDestination, withoutAddress } from "../src/deliver/open-destination.ts";
import { type OpenSource, openSource } from "../src/deliver/source.ts";
import { followHome } from "./home.ts";

/** Request of deliveries. */
export interface DeliverRequest {
  /** Names of destinations; empty: all. */
  readonly names: readonly string[];
  /** Replace what another mirror, or a later state of this one, delivered. */
  readonly takeOver: boolean;
}

/** Result of a delivery. */
export interface DeliveryReport {
  readonly name: string;
  readonly kind: DestinationSettings["kind"];
  readonly durationMs: number;
  /** Null: it failed, and the destination holds what it held before. */
  readonly delivered: Delivered | null;
  readonly error: DuckmirrorError | null;
}

export interface DeliverContext {
  readonly clock: Pick<Clock, "now">;
  readonly signal: AbortSignal;
  readonly tracer?: Tracer;
  /** Unset: by kind. */
  readonly open?: typeof openDestination;
  /** Whether no further attempt follows this failure; unset: nobody counts attempts. */
  readonly isLast?: (failure: DuckmirrorError) => boolean;
  /** Called before each destination. */
  readonly onStart?: (name: string) => void;
}

/** The configured destinations of these names; empty: all. Throws DESTINATIONS_MISSING, DESTINATION_UNKNOWN. */
export const destinationsNamed = (
  { destinations }: Pick<Config, "destinations">,
  names: readonly string[],
): readonly DestinationSettings[] => {
  if (destinations.length === 0) throw new DuckmirrorError("DESTINATIONS_MISSING");
  const unknown = names.find((name) => !destinations.some((one) => one.name === name));
  if (unknown !== undefined) {
    const known = destinations.map(({ name }) => name).join(", ");
    throw new DuckmirrorError("DESTINATION_UNKNOWN", { name: unknown, names: known });
  }
  return destinations.filter(({ name }) => names.length === 0 || names.includes(name));
};

/** The error of a delivery, without the secrets of its address. */
const failureOf = (error: unknown, settings: DestinationSettings): DuckmirrorError => {
  if (error instanceof DuckmirrorError && error.code !== "DESTINATION_AWAY" && error.code !== "DESTINATION_FAILED") {
    return error;
  }
  const code = error instanceof DuckmirrorError ? error.code : "DESTINATION_FAILED";
  const said = error instanceof DuckmirrorError ? String(error.context.detail ?? "") : detailOf(error);
  return new DuckmirrorError(code, { name: settings.name, detail: withoutAddress(said, settings) });
};

/** The newest snapshot, opened again when another one is published. */
const createSources = (open: () => Promise<OpenSource>, first: OpenSource) => {
  let source = first;
  return {
    get: () => source,
    /** False: it is the newest already. */
    renew: async (): Promise<boolean> => {
      if (source.isNewest()) return false;
      const stale = source;
      source = await open();
      await stale.close();
      return true;
    },
    close: () => source.close(),
  };
};

const deliverTo = async (
  settings: DestinationSettings,
  sources: ReturnType<typeof createSources>,
  { takeOver }: DeliverRequest,
  { memory, azure }: Pick<Config, "memory" | "azure">,
  { signal, clock, open = openDestination }: DeliverContext,
): Promise<Delivered> => {
  const { name, tables } = settings;
  assertSet(settings);
  const destination = await open(settings, { memory, azure, clock });
  try {
    for (;;) {
      try {
        return await destination.deliver(await sources.get().sourceFor({ name, tables, takeOver }), signal);
      } catch (error) {
        // Another process may have delivered a newer snapshot meanwhile.
        if (!isCode(error, "DESTINATION_AHEAD") || !(await sources.renew())) throw error;
      }
    }
  } finally {
    await destination.close();
  }
};

/**
 * Delivers the published snapshot. Resolves also when destinations failed: see `error`. Throws DESTINATIONS_MISSING,
 * DESTINATION_UNKNOWN, SNAPSHOT_MISSING, and the reason of `signal`.
 */
export const deliverJob = async (
  config: Pick<
    Config,
    "dataDir" | "destinations" | "azure" | "memory" | "profile" | "home" | "keepSnapshots" | "checks"
  >,
  request: DeliverRequest,
  context: DeliverContext,
): Promise<readonly DeliveryReport[]> => {
  const { clock, signal, tracer = noTracer, onStart } = context;
  const { dataDir, memory, profile } = config;
  const wanted = destinationsNamed(config, request.names);
  await followHome(config, clock);
  const open = () => openSource({ dataDir, memory, now: clock.now() });
  const sources = createSources(open, await open());
  const deliverOne = async (settings: DestinationSettings): Promise<DeliveryReport> => {
    const { name, kind } = settings;
    onStart?.(name);
    const startedAt = performance.now();
    const base = () => ({ name, kind, durationMs: Math.round(performance.now() - startedAt) });
    const note = (outcome: DeliveryOutcome) => noteDelivery(dataDir, name, outcome);
    const attributes = { "duckmirror.profile": profile, "duckmirror.destination": name };
    const work = () => deliverTo(settings, sources, request, config, context);
    try {
      const delivered = await inSpan(tracer, "deliver", work, { attributes });
      const report = { ...base(), delivered, error: null };
      const { publishedAt } = sources.get();
      await note({ delivered, publishedAt, ms: report.durationMs, now: clock.now() });
      return report;
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error, settings);
      await note({ code: failure.code, isLast: context.isLast?.(failure), now: clock.now() });
      return { ...base(), delivered: null, error: failure };
    }
  };
  try {
    const reports: DeliveryReport[] = [];
    for (const settings of wanted) {
      signal.throwIfAborted();
      reports.push(await deliverOne(settings));
    }
    return reports;
  } finally {
    await sources.close();
  }
};
