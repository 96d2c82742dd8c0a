// How the program was started.
import { expect, test } from "vitest";
import { invocationOf } from "../../../../src/cli/start.ts";

test.each([
  [
    "npx",
    "/p/node_modules/.bin/duckmirror",
    { npm_command: "exec", PATH: "/p/node_modules/.bin:/usr/bin" },
    "npx duckmirror",
  ],
  ["a global installation", "/usr/local/bin/duckmirror", { PATH: "/usr/local/bin:/usr/bin" }, "duckmirror"],
  ["a local installation", "/p/node_modules/.bin/duckmirror", { PATH: "/usr/bin" }, "npx duckmirror"],
  ["a checkout", "/p/dist/src/cli/main.js", { PATH: "/usr/bin" }, "node dist/src/cli/main.js"],
  ["npm run demo", "/p/dist/src/cli/main.js", { npm_command: "run-script" }, "node dist/src/cli/main.js"],
])("of %s, commands are suggested in its form", (_name, script, env, expected) => {
  expect(invocationOf(script, env, "/p")).toBe(expected);
});
