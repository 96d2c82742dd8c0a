// A service of its own process whose list of signals is as long as wanted: rows are made from their id when a page asks for
// them, so its length costs no memory. Run: node dist/bench/long-list-service.js <rows>; prints its address.
import { once } from "node:events";
import { createServer } from "node:http";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const ROWS = Number(process.argv[2] ?? 100_000);
const LARGEST_PAGE = 1000;
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

/** About 500 bytes, of which most differ from row to row. */
const signal = (id: number): string => {
  const noise = Math.imul(id, 2_654_435_761) >>> 0;
  const company = pick(COMPANIES, noise);
  const place = pick(PLACES, noise >>> 4);
  const at = new Date(Date.UTC(2020, 0, 1) + id * 15_000).toISOString();
  const headline = `${company} ${pick(EVENTS, noise >>> 8)} ${place}`;
  return `{"id":${id},"organizationId":"org-1","accountId":${noise % 20_000},"type":"${pick(TYPES, noise >>> 12)}","headline":"${headline}","description":"${headline}, as the company said in note ${noise.toString(36)}. The site in ${place} takes on ${noise % 900} people.","date":"${at}","sources":["https://news.example/${noise.toString(16)}"],"relevance":{"score":${noise % 100},"why":"${company} is named in ${noise % 7} places"},"createdAt":"${at}","updatedAt":"${at}"}`;
};

/** A page in descending order of id; of date it is the same order. */
const page = (number: number, perPage: number): string => {
  const first = ROWS - (number - 1) * perPage;
  const rows = Array.from({ length: Math.max(0, Math.min(perPage, first)) }, (_, index) => signal(first - index));
  const totalPages = Math.ceil(ROWS / perPage);
  const timestamp = new Date().toISOString();
  return `{"data":[${rows.join(",")}],"meta":{"page":${number},"perPage":${perPage},"totalCount":${ROWS},"totalPages":${totalPages},"timestamp":"${timestamp}"},"usage":{"limit":100000000,"used":${number},"remaining":${100_000_000 - number},"resetsAt":"2099-01-01T00:00:00Z"}}`;
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const perPage = Number(url.searchParams.get("perPage") ?? 20);
  if (url.pathname !== "/v1/signals") return void response.writeHead(404).end("{}");
  if (perPage > LARGEST_PAGE) return void response.writeHead(400).end(`{"error":"perPage is at most ${LARGEST_PAGE}"}`);
  const body = await gzipAsync(page(Number(url.searchParams.get("page") ?? 1), perPage), {
    level: constants.Z_BEST_SPEED,
  });
  response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(body);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
if (address === null || typeof address === "string") throw new TypeError("the service has no port");
process.stdout.write(`http://127.0.0.1:${address.port}\n`);
