// A bucket over HTTP that keeps the conditions of writes, as much of S3's protocol as the program asks for. For benchmarks
// that are not about the storage, and for tests that kill it: with a folder, an object is on disk before it is confirmed.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";

export interface BucketServer {
  readonly endpoint: string;
  /** Requests by method. */
  readonly requests: Map<string, number>;
  /** Bytes written since the start. */
  written(): number;
  /** Bytes that it holds. */
  held(): number;
  close(): Promise<void>;
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  const body = Buffer.concat(parts);
  if (!String(request.headers["content-encoding"] ?? "").includes("aws-chunked")) return body;
  // `size;…\r\n<bytes>\r\n`, until a size of zero.
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.subarray(at, end).toString("latin1"), 16);
    if (!(size > 0)) break;
    chunks.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(chunks);
};

/** End of the name of a file that is being written. */
const UNFINISHED = "~";

const errorText = (code: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;

interface StoredObject {
  readonly body: Buffer;
  readonly etag: string;
}

const etagOf = (body: Buffer): string => `"${createHash("md5").update(body).digest("hex")}"`;

/** The objects of a folder, one file each; null: only in memory. */
const openObjects = (folder: string | null) => {
  const objects = new Map<string, StoredObject>();
  const fileOf = (key: string): string => join(folder ?? "", encodeURIComponent(key));
  const names = folder === null ? [] : readdirSync(folder).filter((name) => !name.endsWith(UNFINISHED));
  for (const name of names) {
    const body = readFileSync(join(folder ?? "", name));
    objects.set(decodeURIComponent(name), { body, etag: etagOf(body) });
  }
  return {
    all: objects,
    put: (key: string, body: Buffer): string => {
      const etag = etagOf(body);
      if (folder !== null) {
        writeFileSync(`${fileOf(key)}${UNFINISHED}`, body);
        renameSync(`${fileOf(key)}${UNFINISHED}`, fileOf(key));
      }
      objects.set(key, { body, etag });
      return etag;
    },
    delete: (key: string): void => {
      objects.delete(key);
      if (folder !== null) rmSync(fileOf(key), { force: true });
    },
  };
};

/** `folder`: where objects outlive the process; null: nowhere. */
export const startBucket = async (folder: string | null = null): Promise<BucketServer> => {
  const stored = openObjects(folder);
  const { all: objects } = stored;
  const requests = new Map<string, number>();
  let written = 0;
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { "content-type": "application/xml" }).end(errorText(code));
  };
  const list = (response: ServerResponse, prefix: string): void => {
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix));
    const items = keys.map(
      (key) => `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
    );
    response.writeHead(200, { "content-type": "application/xml" });
    response.end(`<?xml version="1.0"?><ListBucketResult>${items.join("")}</ListBucketResult>`);
  };
  const put = async (request: IncomingMessage, response: ServerResponse, key: string): Promise<void> => {
    const body = await bodyOf(request);
    const before = objects.get(key);
    const { "if-match": match, "if-none-match": none } = request.headers;
    if ((none !== undefined && before !== undefined) || (match !== undefined && match !== before?.etag))
      return refuse(response, 412, "PreconditionFailed");
    const etag = stored.put(key, body);
    written += body.length;
    response.writeHead(200, { etag }).end();
  };
  const server = createServer(async (request, response) => {
    const { method = "", url = "" } = request;
    const address = new URL(url, "http://bucket");
    requests.set(method, (requests.get(method) ?? 0) + 1);
    const key = decodeURIComponent(address.pathname).split("/").slice(2).join("/");
    if (method === "PUT") return put(request, response, key);
    if (method === "DELETE") {
      stored.delete(key);
      return void response.writeHead(204).end();
    }
    if (address.searchParams.has("list-type")) return list(response, address.searchParams.get("prefix") ?? "");
    const found = objects.get(key);
    if (found === undefined) return refuse(response, 404, "NoSuchKey");
    response.writeHead(200, { etag: found.etag, "content-length": found.body.length });
    return void response.end(found.body);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the bucket has no port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests,
    written: () => written,
    held: () => [...objects.values()].reduce((sum, { body }) => sum + body.length, 0),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
