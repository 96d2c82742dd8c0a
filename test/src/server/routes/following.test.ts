import { join } from "node:path";
import { expect, test } from "vitest";
import { followingJob, followJob, unfollowJob } from "../../../../jobs/following.ts";
import { systemClock as clock } from "../../../../src/core/clock.ts";
import { createServer } from "../../../../src/server/app.ts";
import { forFile } from "../../../support/for-file.ts";
import { configOf } from "../../../support/given-config.ts";
import { serving } from "../../../support/served.ts";
import { dirForFile } from "../../warehouse/temp-dir.ts";
import { HERE } from "../served-mirror.ts";

const dataDir = dirForFile();
const config = configOf(null, { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_COMPANIES: "fixed.example" });
const profile = { snapshot: join(dataDir, "warehouse.duckdb"), ratePerMinute: null };
const server = await forFile(
  createServer({
    ...serving(),
    profiles: [
      {
        ...profile,
        name: "default",
        following: {
          list: () => followingJob(config),
          add: (inputs) => followJob(config, inputs, clock),
          remove: (inputs, erase) => unfollowJob(config, inputs, { erase, clock }),
        },
      },
      { ...profile, name: "bare" },
    ],
  }),
);

const ask = async (method: "GET" | "POST" | "DELETE", payload?: object, url = "/api/following") => {
  const answer = await server.app.inject({ method, url, headers: HERE, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.json() };
};

test("inputs are followed, listed and followed no more", async () => {
  const added = await ask("POST", { profile: "default", inputs: ["a.example", "ACME", "fixed.example"] });
  expect(added).toEqual({ status: 200, body: { added: ["a.example", "ACME"], known: ["fixed.example"] } });
  expect((await ask("GET")).body.following).toMatchObject([
    { input: "fixed.example", status: "pending", since: null },
    { input: "a.example", status: "pending" },
    { input: "ACME", status: "pending" },
  ]);
  const removed = await ask("DELETE", { profile: "default", inputs: ["ACME"], erase: true });
  expect(removed).toEqual({ status: 200, body: { removed: ["ACME"], erased: null } });
});

test.each([
  ["POST", {}, "inputs"],
  ["POST", { inputs: [".."] }, "names no company"],
  ["POST", { inputs: [7] }, "inputs.0"],
  ["DELETE", { inputs: ["fixed.example"] }, "in the configuration"],
] as const)("%s %j is refused", async (method, body, named) => {
  const { status, body: answer } = await ask(method, { profile: "default", ...body });
  expect([status, answer.error.code]).toEqual([400, "USAGE"]);
  expect(answer.error.message).toContain(named);
});

test("a mirror without such a list says so", async () => {
  expect((await ask("GET", undefined, "/api/following?profile=bare")).status).toBe(404);
  expect((await ask("POST", { inputs: ["a"], profile: "bare" })).status).toBe(404);
});
