// Requests that are no HTTP, or two things at once: request lines, headers, lengths, chunks, hidden requests, upgrades.
import { bytesOf, HOST, headOf, ORDINARY, posting, type RawAttack } from "./raw-request.ts";

const named = (family: string, texts: Readonly<Record<string, string>>, more: Partial<RawAttack> = {}): RawAttack[] =>
  Object.entries(texts).map(([name, text]) => ({ name: `${family}: ${name}`, bytes: bytesOf(text), ...more }));

const lines = (...texts: readonly string[]) =>
  Object.fromEntries(texts.map((text) => [JSON.stringify(text.slice(0, 60)), headOf(text)]));

const REQUEST_LINES = named("request line", {
  ...lines(
    "",
    " GET /v1/accounts HTTP/1.1",
    "GET  /v1/accounts HTTP/1.1 ",
    "GET\t/v1/accounts\tHTTP/1.1",
    "GET /v1/accounts HTTP/9.9",
    "GET /v1/accounts HTTP/1.",
    "GET /v1/accounts http/1.1",
    "GET /v1/accounts ICE/1.0",
    "GET v1/accounts HTTP/1.1",
    "GET /v1/acc\0ounts HTTP/1.1",
    "GET /v1/acc\rounts HTTP/1.1",
    "GET /v1/\xff\xfe\x80 HTTP/1.1",
    "GET /v1/accounts#x HTTP/1.1",
    "PRI * HTTP/2.0",
    "\0\0\0\0",
    "* * *",
  ),
  "ten thousand characters without a blank": headOf("G".repeat(10_000)),
  "an address of 60 kB": headOf(`GET /v1/${"a".repeat(60_000)} HTTP/1.1`),
  "a greeting of TLS": `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"\x11".repeat(300)}\r\n\r\n`,
  "a command of Redis": "*1\r\n$4\r\nPING\r\n\r\n",
  "HTTP 1.0 without a host": "GET /v1/accounts HTTP/1.0\r\n\r\n",
});

const HEADERS = named("header", {
  "2,500 of them": headOf("GET /v1/accounts HTTP/1.1", [
    ...ORDINARY,
    ...Array.from({ length: 2_500 }, (_, nth) => `X-${nth}: a`),
  ]),
  "60 kB in one": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, `X-A: ${"a".repeat(60_000)}`]),
  "a name of 60 kB": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, `${"X".repeat(60_000)}: a`]),
  "no colon": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "nothing"]),
  "no name": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, ": a"]),
  "a blank before the colon": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "X-A : a"]),
  "a continued line": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "X-A: a", "\tb"]),
  "a NUL in a value": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "X-A: a\0b"]),
  "a NUL in a name": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "X\0A: b"]),
  "a bare CR in a value": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "X-A: a\rX-B: b"]),
  "a bare LF between headers": `GET /v1/accounts HTTP/1.1\nHost: ${HOST}\nConnection: close\n\n`,
  "bad UTF-8 in values": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "X-A: \xc3\x28\xa0\xa1\xf0\x28\x8c\xbc"]),
  "__proto__ as a name": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "__proto__: a", "constructor: b"]),
  "an Accept that is long": headOf("GET / HTTP/1.1", [...ORDINARY, `Accept: ${"text/html,".repeat(1_000)}`]),
  "an Accept-Encoding of nothing known": headOf("GET /page/app.js HTTP/1.1", [
    ...ORDINARY,
    "Accept-Encoding: ;;;,,q=-1",
  ]),
  "a range beyond the end": headOf("GET /page/app.js HTTP/1.1", [...ORDINARY, "Range: bytes=999999999999999-,0-0,-1"]),
  "a tag that is a pattern": headOf("GET /page/app.js HTTP/1.1", [
    ...ORDINARY,
    `If-None-Match: ${'W/"'.repeat(3_000)}`,
  ]),
  "a date that is none": headOf("GET /page/app.js HTTP/1.1", [...ORDINARY, "If-Modified-Since: Thu, 99 Foo 99999"]),
  "an expectation": headOf("POST /login HTTP/1.1", [...ORDINARY, "Expect: 200-maybe", "Content-Length: 0"]),
  "no end, closed by length": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "Trailer: Content-Length"]),
});

const withLength = (...headers: readonly string[]) =>
  `${headOf("POST /login HTTP/1.1", [...ORDINARY, ...headers])}key=a`;

const LENGTHS = named("length", {
  negative: withLength("Content-Length: -1"),
  "with a plus": withLength("Content-Length: +5"),
  hexadecimal: withLength("Content-Length: 0x5"),
  "with a comma": withLength("Content-Length: 5,5"),
  "twice the same": withLength("Content-Length: 5", "Content-Length: 5"),
  "twice, different": withLength("Content-Length: 5", "Content-Length: 0"),
  empty: withLength("Content-Length: "),
  "a word": withLength("Content-Length: five"),
  "a fraction": withLength("Content-Length: 5.0"),
  "beyond 64 bits": withLength(`Content-Length: ${"9".repeat(40)}`),
  "beyond the limit of bodies": withLength("Content-Length: 10000000000"),
  "shorter than the body": withLength("Content-Length: 1"),
  "of a GET": headOf("GET /v1/accounts HTTP/1.1", [...ORDINARY, "Content-Length: 0"]),
});

const chunked = (body: string, ...more: readonly string[]) =>
  headOf("POST /login HTTP/1.1", [...ORDINARY, ...more, "Transfer-Encoding: chunked"]) + body;

const CHUNKS = named("chunks", {
  "a size that is no number": chunked("zz\r\nkey=\r\n0\r\n\r\n"),
  "a negative size": chunked("-4\r\nkey=\r\n0\r\n\r\n"),
  "a size beyond 64 bits": chunked(`${"f".repeat(20)}\r\nkey=\r\n0\r\n\r\n`),
  "a size with a prefix": chunked("0x4\r\nkey=\r\n0\r\n\r\n"),
  "a size smaller than the chunk": chunked("1\r\nkey=\r\n0\r\n\r\n"),
  "an extension of 100 kB": chunked(`4;${"a".repeat(100_000)}\r\nkey=\r\n0\r\n\r\n`),
  "an extension with a bare LF": chunked("4;a\nkey=\r\n0\r\n\r\n"),
  "no CR at the end": chunked("4\nkey=\n0\n\n"),
  trailers: chunked("4\r\nkey=\r\n0\r\nAuthorization: Bearer x\r\nContent-Length: 9\r\n\r\n"),
  "trailers of 100 kB": chunked(`0\r\nX-A: ${"a".repeat(100_000)}\r\n\r\n`),
  "ten thousand chunks of a byte": chunked(
    `${"1\r\na\r\n".repeat(10_000)}0\r\n\r\n`,
    "Content-Type: application/x-www-form-urlencoded",
  ),
  "a body of 2 MB": chunked(`200000\r\n${"a".repeat(0x200000)}\r\n0\r\n\r\n`, "Content-Type: application/json"),
  "an unknown coding": chunked("0\r\n\r\n").replace("chunked", "gzip, cow"),
});

/** What a request hides behind the first one's end. */
const HIDDEN = headOf("GET /v1/accounts HTTP/1.1");
const hiding = (...headers: readonly string[]) =>
  `${headOf("POST /login HTTP/1.1", [...ORDINARY, "Content-Type: application/x-www-form-urlencoded", ...headers])}0\r\n\r\n${HIDDEN}`;

const SMUGGLED = named(
  "smuggling",
  {
    "length and chunks": hiding("Content-Length: 5", "Transfer-Encoding: chunked"),
    "chunks and length": hiding("Transfer-Encoding: chunked", "Content-Length: 5"),
    "chunks written oddly": hiding("Content-Length: 5", "Transfer-Encoding: xchunked"),
    "chunks after a blank": hiding("Content-Length: 5", "Transfer-Encoding : chunked"),
    "chunks after a tab": hiding("Content-Length: 5", "Transfer-Encoding:\tchunked"),
    "chunks twice": hiding("Content-Length: 5", "Transfer-Encoding: chunked", "Transfer-Encoding: x"),
    "chunks before identity": hiding("Transfer-Encoding: chunked, identity", "Content-Length: 5"),
    "chunks in a continued line": hiding("Content-Length: 5", "Transfer-Encoding:\r\n chunked"),
    "chunks in capitals with a vertical tab": hiding("Content-Length: 5", "Transfer-Encoding: \x0bchunked"),
    "two lengths": hiding("Content-Length: 0", "Content-Length: 5"),
    "a length of nothing": hiding("Content-Length: 0"),
    "a body of a GET": `${headOf("GET /healthz HTTP/1.1", [...ORDINARY, `Content-Length: ${HIDDEN.length}`])}${HIDDEN}`,
    "a header that ends with a bare CR": `GET /healthz HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nX: a\r\r\n${HIDDEN}`,
    "a new line in an encoded address": headOf(
      "GET /healthz%20HTTP/1.1%0d%0aHost:%20x%0d%0a%0d%0aGET%20/v1/accounts HTTP/1.1",
    ),
  },
  { answers: 1, closed: true },
);

const ROWS = `GET /v1/accounts?perPage=1000 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;
const PIPELINED: readonly RawAttack[] = [
  { name: "pipeline: 1,000 reads of rows", bytes: bytesOf(ROWS.repeat(1_000) + headOf("GET /healthz HTTP/1.1")) },
  {
    name: "pipeline: 5,000 requests for nothing",
    bytes: bytesOf(`GET /none HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`.repeat(5_000) + headOf("GET /healthz HTTP/1.1")),
  },
  {
    name: "pipeline: a wrong request between right ones",
    bytes: bytesOf(`GET /healthz HTTP/1.1\r\nHost: ${HOST}\r\n\r\nNONSENSE\r\n\r\n${HIDDEN}`),
    answers: 2,
    closed: true,
  },
];

const upgrading = (line: string, ...headers: readonly string[]) =>
  headOf(line, [`Host: ${HOST}`, "Connection: Upgrade, close", ...headers]);

const UPGRADES = named("upgrade", {
  "a websocket": upgrading(
    "GET /api/status HTTP/1.1",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  ),
  "HTTP 2 in clear": upgrading("GET /v1/accounts HTTP/1.1", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
  TLS: upgrading("OPTIONS * HTTP/1.1", "Upgrade: TLS/1.0"),
  "of a POST": upgrading("POST /api/query HTTP/1.1", "Upgrade: websocket", "Content-Length: 2").concat("{}"),
  "a tunnel": headOf("CONNECT 127.0.0.1:6379 HTTP/1.1"),
  "a tunnel to a name": headOf("CONNECT metadata.internal:80 HTTP/1.1"),
});

const METHODS: readonly RawAttack[] = [
  ...named("method", {
    ...lines(
      "TRACE /v1/accounts HTTP/1.1",
      "OPTIONS * HTTP/1.1",
      "PUT /v1/accounts HTTP/1.1",
      "DELETE /v1/accounts HTTP/1.1",
      "PATCH /api/syncs HTTP/1.1",
      "PROPFIND / HTTP/1.1",
      "PURGE /v1/accounts HTTP/1.1",
      "SEARCH /v1/accounts HTTP/1.1",
      "get /v1/accounts HTTP/1.1",
      "HEAD /v1/accounts HTTP/1.1",
      "FOO /v1/accounts HTTP/1.1",
      "G\xcbT /v1/accounts HTTP/1.1",
    ),
  }),
  {
    name: "method: another one by header",
    bytes: posting("/login", "{}", "application/json", ["X-HTTP-Method-Override: DELETE", "X-Method: GET"]),
  },
];

const HELD = named(
  "held",
  {
    "nothing is sent": "",
    "half a request line": "GET /v1/acc",
    "half a header": `GET /healthz HTTP/1.1\r\nHost: ${HOST}\r\nX-A: `,
    "a body that does not come": headOf("POST /login HTTP/1.1", [...ORDINARY, "Content-Length: 1000"]),
    "a body of which half comes": `${headOf("POST /api/query HTTP/1.1", [...ORDINARY, "Content-Type: application/json", "Content-Length: 100"])}{"sql":`,
    "a chunk of which half comes": chunked("ff\r\nkey="),
    "chunks without the last": chunked("4\r\nkey=\r\n"),
    "a promise to send more": headOf("POST /login HTTP/1.1", [
      ...ORDINARY,
      "Expect: 100-continue",
      "Content-Length: 1000",
    ]),
    "a line that never ends": "X".repeat(200),
  },
  { held: true },
);

export const BROKEN_REQUESTS: readonly RawAttack[] = [
  ...REQUEST_LINES,
  ...HEADERS,
  ...LENGTHS,
  ...CHUNKS,
  ...SMUGGLED,
  ...PIPELINED,
  ...UPGRADES,
  ...METHODS,
  ...HELD,
];
