// Decides from OpenTelemetry's standard environment settings whether traces are wanted. PURE, and without its
// library, which is loaded only when they are.

type Env = Readonly<Record<string, string | undefined>>;

export type Wanted =
  | { readonly kind: "no" }
  /** Wanted, but in a way that this program does not support. */
  | { readonly kind: "unknown"; readonly why: string }
  | {
      readonly kind: "yes";
      readonly protocol: "http/protobuf" | "http/json";
      /** Address of the collector, for messages, without password and path, which may contain a key. */
      readonly collector: string;
    };

const NO: Wanted = { kind: "no" };

/** An empty setting counts as unset (OpenTelemetry, "Environment Variable Specification"). */
const setting = (env: Env, name: string): string | null => {
  const value = env[name]?.trim() ?? "";
  return value === "" ? null : value;
};

const originOf = (endpoint: string | null): string => {
  if (endpoint === null) return "http://localhost:4318";
  return URL.canParse(endpoint) ? new URL(endpoint).origin : "the collector";
};

/**
 * Without an endpoint or OTEL_TRACES_EXPORTER=otlp nothing is traced. The standard's default, a collector on this
 * machine, is not assumed.
 */
export const wantedTraces = (env: Env): Wanted => {
  if (setting(env, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return NO;
  const exporters =
    setting(env, "OTEL_TRACES_EXPORTER")
      ?.split(",")
      .map((name) => name.trim()) ?? null;
  if (exporters?.includes("none")) return NO;
  if (exporters !== null && !exporters.includes("otlp")) {
    return { kind: "unknown", why: `OTEL_TRACES_EXPORTER is ${exporters.join(", ")}; duckmirror knows otlp and none` };
  }
  const endpoint = setting(env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? setting(env, "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (endpoint === null && exporters === null) return NO;
  const protocol =
    setting(env, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") ??
    setting(env, "OTEL_EXPORTER_OTLP_PROTOCOL") ??
    "http/protobuf";
  if (protocol === "http/protobuf" || protocol === "http/json") {
    return { kind: "yes", protocol, collector: originOf(endpoint) };
  }
  return {
    kind: "unknown",
    why: `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}; duckmirror knows http/protobuf and http/json`,
  };
};
