// HTTP server of the sandbox: passes every request to one function and compresses its response.
import type { IncomingHttpHeaders } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { codingFor, compressed } from "../replica/compress.ts";
import { openApiDocument } from "../replica/openapi/document.ts";
import type { SandboxRequest, SandboxResponse } from "./service.ts";

const plainHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );

const pathAndQuery = (url: string) => {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = Object.fromEntries(new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)));
  return { path, query };
};

/** Breaks the connection before the first byte, or in the middle of the body. */
const breakOff = (reply: FastifyReply, response: SandboxResponse, bytes: Buffer): void => {
  reply.hijack();
  if (response.drop === "silent") {
    reply.raw.destroy();
    return;
  }
  reply.raw.writeHead(response.status, { ...response.headers, "content-length": bytes.length });
  reply.raw.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => reply.raw.destroy());
};

const send = async (reply: FastifyReply, response: SandboxResponse, accept: string | undefined): Promise<void> => {
  const plain = Buffer.from(response.body);
  const encoding = codingFor(accept, plain.length);
  const bytes = encoding === undefined ? plain : await compressed(plain, encoding);
  if (response.drop !== undefined) return breakOff(reply, response, bytes);
  reply.code(response.status).headers(response.headers).header("vary", "accept-encoding");
  if (encoding !== undefined) reply.header("content-encoding", encoding);
  await reply.send(bytes);
};

/** A server for `respond`, not listening yet. `serverUrl` is called once the port is known. */
export const createHttp = (
  respond: (request: SandboxRequest) => Promise<SandboxResponse>,
  serverUrl: () => string,
): FastifyInstance => {
  const app = Fastify({ logger: false, forceCloseConnections: true, routerOptions: { maxParamLength: 4096 } });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.get("/openapi.json", async () => openApiDocument(serverUrl()));
  app.all("/*", async (request, reply) => {
    const body = typeof request.body === "string" ? request.body : "";
    const headers = plainHeaders(request.headers);
    const response = await respond({ method: request.method, ...pathAndQuery(request.raw.url ?? "/"), headers, body });
    await send(reply, response, headers["accept-encoding"]);
    return reply;
  });
  return app;
};
