// Requests that are HTTP, with bodies and parameters at and beyond every limit.
import { getting, posting, type RawAttack } from "./raw-request.ts";

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const BODIES: readonly (readonly [string, string | Buffer, string?])[] = [
  ["nothing", ""],
  ["null", "null"],
  ["a number", "1e999"],
  ["a text", '"FROM accounts"'],
  ["a list", '["FROM accounts"]'],
  ["100,000 brackets", nested("[", "]", 100_000)],
  ["40,000 objects", `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`],
  ["a member twice", '{"sql":"SELECT 1","sql":"FROM accounts","limit":-1}'],
  ["half an object", '{"sql":'],
  ["half a character", '{"sql":"\\ud800"}'],
  ["NUL bytes", '{"sql":"SELECT \\u0000"}'],
  ["bad UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ["a mark of byte order", '\ufeff{"sql":"SELECT 1"}'],
  ["UTF-16", Buffer.from('{"sql":"SELECT 1"}', "utf16le")],
  ["a limit that is no number", '{"sql":"SELECT 1","limit":"5000"}'],
  ["a limit beyond", '{"sql":"SELECT 1","limit":1e308}'],
  ["SQL that is a list", '{"sql":["SELECT 1"]}'],
  ["SQL of 99,000 characters", JSON.stringify({ sql: `SELECT ${"(".repeat(98_000)}` })],
  ["a profile that is an object", '{"sql":"SELECT 1","profile":{"toString":1}}'],
  ["members without number", `{${Array.from({ length: 20_000 }, (_, nth) => `"k${nth}":1`).join()}}`],
  ["polluting", '{"__proto__":{"required":false},"sql":"SELECT 1"}'],
  ["polluting by constructor", '{"constructor":{"prototype":{"isAdmin":true}},"sql":"SELECT 1"}'],
  ["polluting by an escape", '{"\\u005f_proto__":{"limit":1},"sql":"SELECT 1"}'],
  ["polluting deeper", '{"streams":[{"__proto__":{"a":1}}],"context":{"__proto__":{"a":1}}}'],
  ["two objects", '{"sql":"SELECT 1"}{"sql":"SELECT 2"}'],
  ["XML with an entity", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "text/xml"],
  ["a form", "sql=FROM+accounts", "application/x-www-form-urlencoded"],
  [
    "parts",
    '--x\r\nContent-Disposition: form-data; name="sql"\r\n\r\nSELECT 1\r\n--x--',
    "multipart/form-data; boundary=x",
  ],
  ["compressed", Buffer.from("1f8b0800000000000003", "hex"), "application/json\r\nContent-Encoding: gzip"],
  ["a type of nothing", "{}", ""],
  ["a type that is long", "{}", `application/json; charset=${"x".repeat(5_000)}`],
  ["an unknown encoding", '{"sql":"SELECT 1"}', "application/json; charset=utf-7"],
];

const POSTED: readonly RawAttack[] = ["/api/query", "/api/syncs", "/api/feedback"].flatMap((path) =>
  BODIES.map(([name, body, type]) => ({ name: `body of ${path}: ${name}`, bytes: posting(path, body, type) })),
);

const EDGES = [
  "-1",
  "0",
  "1e308",
  "NaN",
  "Infinity",
  "9007199254740993",
  "0x10",
  "%00",
  "%ff",
  "a%20b",
  "[]",
  "1&1",
  "%27%20OR%201=1--",
  "%F0%9F%92%A5",
];
const PARAMETERS: readonly RawAttack[] = [
  ...getting(
    "parameter",
    EDGES.flatMap((value) => [
      `/api/runs?before=${value}`,
      `/api/runs/x/requests?offset=${value}&stream=${value}`,
      `/v1/accounts?page=${value}&perPage=${value}`,
      `/v1/signals?sort=${value}&createdAt=${value}&onlyWithFields=${value}&include=${value}`,
      `/api/status?profile=${value}`,
    ]),
  ),
  ...getting("parameter", [
    "/v1/accounts?page=1&page=2",
    "/v1/accounts?page[]=1",
    "/v1/accounts?__proto__[a]=1&constructor.prototype.b=2",
    `/v1/accounts?${"a=1&".repeat(4_000)}`,
    `/v1/accounts?onlyWithFields=${"id,".repeat(4_000)}`,
    "/v1/accounts?perPage=1000&page=99999999999",
    "/v1/accounts?=&&&=%",
    "/api/events?profile=none",
    "/openapi.json?x=%",
  ]),
];

export const POSTED_REQUESTS: readonly RawAttack[] = [...POSTED, ...PARAMETERS];
