// Whether traces are wanted, as the standard environment settings say it.
import { describe, expect, test } from "vitest";
import { wantedTraces } from "../../../src/telemetry/wanted.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:secret@collector.example:4318/key" };

describe("traces are wanted", () => {
  test.each([
    ["with an endpoint", endpoint],
    ["with an endpoint of their own", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector.example/v1/traces" }],
    ["by the exporter alone", { OTEL_TRACES_EXPORTER: "otlp" }],
    ["among other exporters", { OTEL_TRACES_EXPORTER: "console, otlp" }],
    ["when disabling is spelled false", { ...endpoint, OTEL_SDK_DISABLED: "false" }],
    ["when disabling is empty", { ...endpoint, OTEL_SDK_DISABLED: "", OTEL_TRACES_EXPORTER: "" }],
  ])("%s, as Protobuf", (_, env) => {
    expect(wantedTraces(env)).toMatchObject({ kind: "yes", protocol: "http/protobuf" });
  });

  test("as JSON; what is said for traces wins over what is said for all", () => {
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json", ...endpoint };
    expect(wantedTraces(env)).toMatchObject({ kind: "yes", protocol: "http/json" });
  });

  test("the collector is named without password and path", () => {
    expect(wantedTraces(endpoint)).toMatchObject({ collector: "https://collector.example:4318" });
    expect(wantedTraces({ OTEL_TRACES_EXPORTER: "otlp" })).toMatchObject({ collector: "http://localhost:4318" });
    expect(wantedTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: "no address" })).toMatchObject({ collector: "the collector" });
  });
});

describe("they are not", () => {
  test.each([
    ["where nothing is set", {}],
    ["where all of it is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: " ", OTEL_TRACES_EXPORTER: "" }],
    ["where only a name is set", { OTEL_SERVICE_NAME: "mirror" }],
    ["where the SDK is disabled", { ...endpoint, OTEL_SDK_DISABLED: "TRUE" }],
    ["where the exporter is none", { ...endpoint, OTEL_TRACES_EXPORTER: "none" }],
  ])("%s", (_, env) => {
    expect(wantedTraces(env)).toEqual({ kind: "no" });
  });

  test.each([
    ["an exporter", { OTEL_TRACES_EXPORTER: "zipkin" }, "zipkin"],
    ["a protocol", { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "grpc"],
  ])("in %s that is not known, and it is said which", (_, env, name) => {
    const wanted = wantedTraces(env);
    expect(wanted.kind === "unknown" && wanted.why).toContain(name);
  });
});
