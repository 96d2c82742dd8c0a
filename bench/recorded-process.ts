// Answers from memory what a sandbox answered before, in a process of its own, so that it takes no time of the client's.
// Run: node recorded-process.js <file of recorded answers>; prints its address.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { recordedAnswers, recordingKey } from "./recorded-service.ts";

const answers = new Map(
  recordedAnswers
    .parse(JSON.parse(await readFile(process.argv[2] ?? "", "utf8")))
    .map(([key, { body, ...answer }]) => [key, { ...answer, body: Buffer.from(body) }]),
);
const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://recorded");
  const answer = answers.get(recordingKey(url.pathname, url.searchParams));
  if (answer === undefined) response.writeHead(404).end();
  else response.writeHead(answer.status, answer.headers).end(answer.body);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the server has no port");
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
// The parent's end of the pipe closes with the parent, whatever ended it.
process.stdin.on("close", () => process.exit()).resume();
