// Completes package-lock.json after `npm install`: npm leaves out optional packages for other platforms when the registry
// in use does not carry them, and `npm ci` then refuses the lock file. Run: node .ci/lock-platforms.mjs
import { readFileSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const packages = lock.packages;

/** Whether `name`, wanted by the package at `path`, is in the lock file. */
const isLocked = (path, name) => {
  for (let at = path; ; at = at.includes("/node_modules/") ? at.slice(0, at.lastIndexOf("/node_modules/")) : "") {
    if (packages[`${at === "" ? "" : `${at}/`}node_modules/${name}`]) return true;
    if (at === "") return false;
  }
};
const systemOf = (name) => (name.match(/android|darwin|linux|win32|freebsd|openharmony/) ?? [])[0];
const processorOf = (name) =>
  /arm-?(gnueabihf|musleabihf|eabi)/.test(name)
    ? "arm"
    : (name.match(/arm64|x64|ia32|ppc64|riscv64|s390x|loong64|mips64el/) ?? [])[0];

const missing = Object.entries(packages).flatMap(([path, entry]) =>
  Object.entries(entry.optionalDependencies ?? {})
    .filter(([name]) => !isLocked(path, name))
    .map(([name, version]) => ({ name, version, dev: entry.dev === true })),
);
for (const { name, version, dev } of missing) {
  const bare = name.split("/").at(-1);
  packages[`node_modules/${name}`] = {
    version,
    cpu: [processorOf(bare)],
    ...(dev ? { dev: true } : {}),
    ...(/linux/.test(bare) ? { libc: [/musl/.test(bare) ? "musl" : "glibc"] } : {}),
    optional: true,
    os: [systemOf(bare)],
  };
}
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
