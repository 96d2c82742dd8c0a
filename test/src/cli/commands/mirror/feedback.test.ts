// duckmirror feedback: what reaches the service, what it costs, and what is refused before anything is sent.
import { beforeAll, expect, test } from "vitest";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

const bodies: unknown[] = [];
const sandbox = await forFile(startSandbox({ accounts: 1, threads: 1 }));
beforeAll(async () => {
  sandbox.intercept((request, next) => {
    bodies.push(JSON.parse(request.body));
    return next();
  });
});

const env = () => ({
  DUCKMIRROR_BASE_URL: sandbox.url,
  DUCKMIRROR_TOKEN: sandbox.token,
  DUCKMIRROR_DATA_DIR: aFolder(),
});

test("sends message, category, rating and what it is about, and shows the credit it cost", async () => {
  const argv = ["feedback", "The industry", "is wrong", "--category", "wrong-data", "--rating", "2"];
  const about = ["--about", "accountId=1042", "--about", "endpoint=/v1/accounts"];
  const run = await cli([...argv, ...about, "--json"], { env: env() });
  expect([run.code, JSON.parse(run.out)]).toEqual([0, { sent: true, credits: 1, answer: { received: true } }]);
  expect(bodies.at(-1)).toEqual({
    message: "The industry is wrong",
    rating: 2,
    category: "wrong-data",
    context: { accountId: 1042, endpoint: "/v1/accounts" },
  });
});

test("takes a longer text from stdin", async () => {
  const run = await cli(["feedback", "-"], { env: env(), input: "Two\nlines\n" });
  expect([run.code, run.out]).toEqual([0, "Sent; it cost 1 credit.\n"]);
  expect(bodies.at(-1)).toEqual({ message: "Two\nlines" });
});

test.each([
  [["feedback"], "no message"],
  [["feedback", "x", "--rating", "9"], "rating"],
  [["feedback", "x", "--category", "praise"], "category"],
  [["feedback", "x", "--about", "nothing"], "name=value"],
])("%j is refused and nothing is sent", async (argv, named) => {
  const before = bodies.length;
  const run = await cli(argv, { env: env() });
  expect([run.code, run.err.includes(named), bodies.length]).toEqual([2, true, before]);
});

test("a refused token is exit code 3", async () => {
  const run = await cli(["feedback", "x"], { env: { ...env(), DUCKMIRROR_TOKEN: "wrong" } });
  expect([run.code, run.err.includes("CREDENTIALS_REFUSED")]).toEqual([3, true]);
});
