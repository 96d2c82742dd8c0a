// A service of its own process whose list of signals is as long as wanted: rows are made from their id when a page asks for
// them, so its length costs no memory. One contact, so that one can be forgotten.
// Run: node dist/bench/long-list-service.js <rows> [<bytes of each description> <rows a page>]; prints its address.
import { once } from "node:events";
import { createServer } from "node:http";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const ROWS = Number(process.argv[2] ?? 100_000);
const TEXT_BYTES = Number(process.argv[3] ?? 0);
const LARGEST_PAGE = Number(process.argv[4] ?? 1000);
const CONTACT = "8a6e0804-2bd0-4672-b79d-d97027f9071a";
const gzipAsync = promisify(gzip);

const COMPANIES = [
  "Ardent",
  "Bluefin",
  "Corvid",
  "Dovetail",
  "Emberline",
  "Fathom",
  "Galena",
  "Harrow",
  "Ivory",
  "Juno",
];
const EVENTS = [
  "opens a plant in",
  "hires a head of sales for",
  "wins a tender in",
  "closes its office in",
  "lists in",
];
const PLACES = ["Lyon", "Osaka", "Austin", "Gdansk", "Porto", "Leeds", "Tallinn", "Quito", "Cork", "Malmo", "Turin"];
const TYPES = ["relevant-news", "hiring-alert", "press-release", "funding-alert", "podcast", "earnings-call"];

const pick = (words: readonly string[], number: number): string => words[number % words.length] ?? "";

/** `TEXT_BYTES` of text that is another in each row. */
const longText = (id: number): string =>
  ` ${(Math.imul(id, 2_654_435_761) >>> 0).toString(36)} and so on`.repeat(TEXT_BYTES / 16).slice(0, TEXT_BYTES);

/** About 500 bytes without a long text, of which most differ from row to row. */
const signal = (id: number): string => {
  const noise = Math.imul(id, 2_654_435_761) >>> 0;
  const company = pick(COMPANIES, noise);
  const place = pick(PLACES, noise >>> 4);
  const at = new Date(Date.UTC(2020, 0, 1) + id * 15_000).toISOString();
  const headline = `${company} ${pick(EVENTS, noise >>> 8)} ${place}`;
  return `{"id":${id},"organizationId":"org-1","accountId":${noise % 20_000},"type":"${pick(TYPES, noise >>> 12)}","headline":"${headline}","description":"${headline}, as the company said in note ${noise.toString(36)}. The site in ${place} takes on ${noise % 900} people.${longText(id)}","date":"${at}","sources":["https://news.example/${noise.toString(16)}"],"relevance":{"score":${noise % 100},"why":"${company} is named in ${noise % 7} places"},"createdAt":"${at}","updatedAt":"${at}"}`;
};

/** Rows of each type. */
const counts = (): string => {
  const found = Array.from(TYPES, () => 0);
  for (let id = 1; id <= ROWS; id++) {
    const type = (Math.imul(id, 2_654_435_761) >>> 12) % TYPES.length;
    found[type] = (found[type] ?? 0) + 1;
  }
  return JSON.stringify(Object.fromEntries(TYPES.map((type, index) => [type, found[index]])));
};

const USAGE = '"usage":{"limit":100000000,"used":1,"remaining":99999999,"resetsAt":"2099-01-01T00:00:00Z"}';
/** Answer about one thing; null: there is none. */
const single = (path: string): string | null => {
  if (path === "/v1/signals/counts") return `{"data":${counts()},"meta":{},${USAGE}}`;
  const id = Number(/^\/v1\/signals\/(\d+)$/.exec(path)?.[1] ?? 0);
  return id >= 1 && id <= ROWS ? `{"data":${signal(id)},"meta":{},${USAGE}}` : null;
};

const envelope = (rows: readonly string[], number: number, perPage: number, totalCount: number): string => {
  const meta = `{"page":${number},"perPage":${perPage},"totalCount":${totalCount},"totalPages":${Math.ceil(totalCount / perPage)},"timestamp":"${new Date().toISOString()}"}`;
  return `{"data":[${rows.join(",")}],"meta":${meta},${USAGE}}`;
};

/** A page in descending order of id; of date it is the same order. */
const page = (number: number, perPage: number): string => {
  const first = ROWS - (number - 1) * perPage;
  const rows = Array.from({ length: Math.max(0, Math.min(perPage, first)) }, (_, index) => signal(first - index));
  return envelope(rows, number, perPage, ROWS);
};

const contact = `{"id":"${CONTACT}","accountId":1,"firstName":"Ada","lastName":"Lovelace","email":"ada@example.com"}`;

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const perPage = Number(url.searchParams.get("perPage") ?? 20);
  const lists = ["/v1/signals", "/v1/contacts"];
  if (!lists.includes(url.pathname)) {
    const one = single(url.pathname);
    return void response.writeHead(one === null ? 404 : 200, { "content-type": "application/json" }).end(one ?? "{}");
  }
  if (perPage > LARGEST_PAGE) return void response.writeHead(400).end(`{"error":"perPage is at most ${LARGEST_PAGE}"}`);
  const number = Number(url.searchParams.get("page") ?? 1);
  const isSignals = url.pathname === lists[0];
  const text = isSignals ? page(number, perPage) : envelope(number === 1 ? [contact] : [], number, perPage, 1);
  const body = await gzipAsync(text, { level: constants.Z_BEST_SPEED });
  response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(body);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
if (address === null || typeof address === "string") throw new TypeError("the service has no port");
process.stdout.write(`http://127.0.0.1:${address.port}\n`);
