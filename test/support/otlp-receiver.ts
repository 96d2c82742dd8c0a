// A collector for traces on a real socket: takes OTLP over HTTP, keeps every body as it came, and reads the JSON ones.
import { once } from "node:events";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { z } from "zod";

const valueSchema = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  arrayValue: z.object({ values: z.array(z.object({ stringValue: z.string() })).default([]) }).optional(),
});
const attributesSchema = z
  .array(z.object({ key: z.string(), value: valueSchema }))
  .default([])
  .transform((list) =>
    Object.fromEntries(
      list.map(({ key, value }) => {
        const { stringValue, intValue, doubleValue, boolValue, arrayValue } = value;
        const whole = intValue === undefined ? undefined : Number(intValue);
        const texts = arrayValue?.values.map((each) => each.stringValue);
        return [key, stringValue ?? whole ?? doubleValue ?? boolValue ?? texts];
      }),
    ),
  );
const nanos = z.union([z.string(), z.number()]).transform((text) => BigInt(text));
const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(""),
  name: z.string(),
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: z.number(),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes: attributesSchema,
  /** code 2: error. */
  status: z.object({ code: z.number().default(0), message: z.string().optional() }).default({ code: 0 }),
});
export type ReceivedSpan = z.output<typeof spanSchema>;

const bodySchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface OtlpReceiver {
  /** Base address, as OTEL_EXPORTER_OTLP_ENDPOINT wants it. */
  readonly url: string;
  readonly requests: readonly Received[];
  /** Spans of all JSON bodies, in the order they came. */
  spans(): readonly ReceivedSpan[];
  /** Attributes of what sent them, of each body. */
  resources(): readonly Readonly<Record<string, unknown>>[];
  /** Resolves when a span of this name is there, in this trace. */
  until(name: string, traceId: string): Promise<ReceivedSpan>;
  close(): Promise<void>;
}

/** `mute`: takes connections and never answers. Addresses with `refuse` in them are answered with 401. */
export const startOtlpReceiver = async ({ mute = false } = {}): Promise<OtlpReceiver> => {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let arrived: () => void = () => undefined;
  const server = createServer(async (request, response) => {
    if (mute) return;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const bytes = Buffer.concat(chunks);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
    requests.push({ path: request.url ?? "", headers: request.headers, body });
    const status = request.url?.includes("refuse") ? 401 : 200;
    response.writeHead(status, { "content-type": request.headers["content-type"] ?? "" }).end();
    arrived();
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the receiver has no port");
  const parsed = () =>
    requests
      .filter(({ headers }) => headers["content-type"] === "application/json")
      .flatMap(({ body }) => bodySchema.parse(JSON.parse(body.toString("utf8"))).resourceSpans);
  const spans = () => parsed().flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    spans,
    resources: () => parsed().map(({ resource }) => resource.attributes),
    until: async (name, trace) => {
      for (;;) {
        const next = new Promise<void>((resolve) => {
          arrived = resolve;
        });
        const found = spans().find((span) => span.name === name && span.traceId === trace);
        if (found !== undefined) return found;
        await next;
      }
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
};
