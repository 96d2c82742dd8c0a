import { expect, test } from "vitest";
import { change } from "../../../../support/change-mirror.ts";
import { aFolder, cli, cliIn } from "../../../../support/cli.ts";
import { aReceiver, SECRET } from "../../../alerts/a-receiver.ts";

const aMirror = async (): Promise<string> => {
  const dataDir = aFolder();
  await change(dataDir, async (warehouse) => {
    await warehouse.startRun({ runId: "run-1", mode: "full", startedAt: 1 });
    await warehouse.finishRun("run-1", { status: "failed", finishedAt: 2, summary: null, error: "no way" });
  });
  return dataDir;
};

const RULE = { name: "failed", event: "run_failed", url_env: "HOOK", secret_env: "KEY", allow_private: true };
const envOf = (dataDir: string, url: string, ...rules: object[]) => ({
  DUCKMIRROR_DATA_DIR: dataDir,
  DUCKMIRROR_ALERTS: JSON.stringify(rules),
  HOOK: url,
  KEY: SECRET,
});

test("without a rule, with an unknown one, and with an unknown word, it says what to do", async () => {
  const dataDir = await aMirror();
  const none = await cli(["alerts"], { env: { DUCKMIRROR_DATA_DIR: dataDir } });
  expect(none).toMatchObject({ code: 2, out: "", err: expect.stringContaining("error ALERTS_MISSING") });
  const { run } = cliIn({ env: envOf(dataDir, "https://x.example", RULE) });
  const problems = [
    [["send", "x"], "There is no alert rule x; configured: failed"],
    [["shout"], '"shout" is not list, send, test, replay'],
    [["replay"], "needs the name of one rule"],
    [["send", "--after", "3"], "--after belongs to `alerts replay`"],
    [["replay", "failed", "--after", "x"], "is no number of a change"],
  ] as const;
  for (const [words, problem] of problems) {
    expect(await run("alerts", ...words)).toMatchObject({ code: 2, err: expect.stringContaining(problem) });
  }
});

test("send, list, test and replay a rule", async () => {
  const { url, received } = await aReceiver((nth) => (nth === 0 ? { status: 400 } : {}));
  const { run, json } = cliIn({ env: envOf(await aMirror(), url, RULE) });
  const tried = await run("alerts", "send", "--json");
  expect([tried.code, JSON.parse(tried.out)]).toMatchObject([
    5,
    { alerts: [{ name: "failed", sent: 0, dead: 1, waiting: 0, error: { code: "ALERT_UNDELIVERED" } }] },
  ]);
  expect((await json("alerts")).alerts).toMatchObject([
    {
      name: "failed",
      event: "run_failed",
      active: [{ key: "runs" }],
      dead: [{ attempts: 1, error: "it answered 400" }],
    },
  ]);
  expect(await run("alerts", "list")).toMatchObject({
    code: 0,
    out: expect.stringContaining("it answered 400"),
  });
  expect(await run("alerts", "replay", "failed")).toMatchObject({ code: 0, err: "" });
  expect(await run("alerts", "test", "failed")).toMatchObject({
    code: 0,
    out: expect.stringContaining("The receiver took a test message."),
  });
  // The failed run is of 1970.
  expect(await json("alerts", "test", "failed", "--since", "1970-01-01")).toMatchObject({
    found: [{ type: "run.failed", at: "1970-01-01T00:00:00.002Z" }],
  });
  expect(await run("alerts", "test", "failed", "--since", "90d")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^0 events since \d{4}-/),
  });
  expect(received.map(({ body }) => [body.type, body.data.events[0]?.type])).toEqual([
    ["duckmirror.alert", "run.failed"],
    ["duckmirror.alert", "run.failed"],
    ["duckmirror.test", "run_failed"],
  ]);
});

test("a test message that is not taken is an error that says how to try again, and is not kept", async () => {
  const { url } = await aReceiver(() => ({ status: 400 }));
  const { run, json } = cliIn({ env: envOf(await aMirror(), url, RULE) });
  expect(await run("alerts", "test", "failed")).toMatchObject({
    code: 5,
    err: expect.stringMatching(/ALERT_TEST_UNDELIVERED[\s\S]*`duckmirror alerts test failed` again/),
  });
  expect((await json("alerts")).alerts).toMatchObject([{ waiting: 0, dead: [] }]);
});

test("neither address nor secret is shown, whatever fails", async () => {
  const urls = {
    REFUSED: "http://127.0.0.1:1/hush-path",
    UNKNOWN: "https://hush.invalid/hush-path",
    NO_URL: "hush-path",
    WITH_USER: "https://a:hush-path@x.example",
  };
  const rules = Object.keys(urls).flatMap((url_env, nth) => [
    { ...RULE, name: `json${nth}`, url_env },
    { ...RULE, name: `slack${nth}`, url_env, format: "slack", secret_env: undefined },
  ]);
  const { run } = cliIn({ env: { ...envOf(await aMirror(), "", ...rules), ...urls } });
  const runs = [await run("alerts", "send", "--json"), await run("alerts", "list", "--verbose")];
  for (const { name } of rules) {
    const tried = await run("alerts", "test", name, "--verbose");
    expect([name, tried.code]).not.toContain(0);
    runs.push(tried);
  }
  expect(runs[0]?.code).not.toBe(0);
  const shown = runs.map(({ out, err }) => out + err).join();
  expect(shown).not.toContain("hush-path");
  expect(shown).not.toContain(SECRET.slice("whsec_".length));
});
