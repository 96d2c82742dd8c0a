// A loader as a process of its own: the built engine, whose requests are sent by fetchers. Syncs once and prints the
// report. Arguments: folder of the build. Environment: settings, as for the command line. SIGTERM ends the run cleanly.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , build = "", ...flags] = process.argv;
const from = (path) => import(pathToFileURL(join(build, path)).href);
const [{ syncJob }, { loadConfig }, { vocabulary }, { resolveToken }, { systemClock }, { remoteAccess }] =
  await Promise.all([
    from("jobs/sync.js"),
    from("src/core/config/config.js"),
    from("src/catalog/vocabulary.js"),
    from("src/core/config/secrets/token.js"),
    from("src/core/clock.js"),
    from("src/queue/remote/loader/remote-access.js"),
  ]);

const config = loadConfig({ env: process.env, cwd: "/", vocabulary: vocabulary() });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const warn = (text) => process.stderr.write(`${text}\n`);
const { report, error } = await syncJob(
  config,
  { streams: [], full: flags.includes("--full"), maxDurationMs: null, allowMassDelete: false },
  {
    clock: systemClock,
    random: Math.random,
    emit: () => undefined,
    signal: stop.signal,
    hardSignal: new AbortController().signal,
    version: "0.0.0",
    token: await resolveToken(config),
    connect: remoteAccess({ redisUrl: config.redisUrl, warn }),
  },
);
if (error !== null) warn(`${error.code}: ${error.message}`);
process.stdout.write(JSON.stringify(report));
