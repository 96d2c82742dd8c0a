// How an answer travels: compressed, late, in drops, broken off.
import type { ServerResponse } from "node:http";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Answer } from "./answer.ts";
import type { Chance } from "./random.ts";
import type { Traits } from "./traits.ts";

export type Fault = "none" | "500" | "503" | "503-wait" | "reset" | "reset-charged" | "cut";

export const drawFault = (traits: Traits, chance: Chance): Fault =>
  chance.often(traits.wire.faults) ? chance.pick(["500", "503", "503-wait", "reset", "reset-charged", "cut"]) : "none";

/** How long one answer takes, ms. */
export const drawLatency = ({ wire }: Traits, chance: Chance): number => {
  switch (wire.latency) {
    case "none":
      return 0;
    case "even":
      return wire.latencyMs;
    case "spread":
      return chance.next() * 2 * wire.latencyMs;
    case "long-tail":
      return chance.often(0.05) ? wire.latencyMs * 20 : wire.latencyMs * -Math.log(1 - chance.next());
    default:
      return wire.latency satisfies never;
  }
};

const encoded = (body: Buffer, accepted: string, { wire }: Traits): readonly [Buffer, Record<string, string>] => {
  if (wire.encoding === "gzip" && accepted.includes("gzip")) return [gzipSync(body), { "Content-Encoding": "gzip" }];
  if (wire.encoding === "br" && accepted.includes("br")) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
    return [brotliCompressSync(body, { params }), { "Content-Encoding": "br" }];
  }
  return [body, {}];
};

/** Sends the answer. `cut`: the connection ends in the middle of the body. */
export const send = (
  response: ServerResponse,
  answer: Answer,
  options: { accepted: string; traits: Traits; date: string; cut: boolean },
): void => {
  const { traits, cut } = options;
  const { wire } = traits;
  const [body, headers] = encoded(Buffer.from(answer.body), options.accepted, traits);
  response.sendDate = false;
  response.writeHead(answer.status, {
    ...answer.headers,
    ...headers,
    Date: options.date,
    ...(wire.chunked ? {} : { "Content-Length": String(body.length) }),
    ...(wire.closes ? { Connection: "close" } : {}),
  });
  if (cut) {
    response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
    return;
  }
  if (!wire.trickle) {
    response.end(body);
    return;
  }
  const third = Math.ceil(body.length / 3);
  for (let from = 0; from < body.length; from += third) response.write(body.subarray(from, from + third));
  response.end();
};
