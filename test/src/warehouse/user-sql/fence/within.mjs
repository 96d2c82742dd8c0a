// Runs inside the fence and tries to reach what is outside: by Node, and by raw system calls as native code would. Prints as JSON what
// each attempt came to. Arguments: places to try.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";

const { koffi: koffiPath, snapshot, secret, folder, parent, calls } = JSON.parse(process.argv[2]);
const outcomes = {};
const attempt = (name, work) => {
  try {
    work();
    outcomes[name] = "done";
  } catch (error) {
    outcomes[name] = error.code ?? String(error);
  }
};

attempt("read the snapshot", () => fs.readFileSync(snapshot));
attempt("read a secret", () => fs.readFileSync(secret));
attempt("read /etc/passwd", () => fs.readFileSync("/etc/passwd"));
attempt("list the folder", () => fs.readdirSync(folder));
attempt("list /", () => fs.readdirSync("/"));
attempt("read the parent's environment", () => fs.readFileSync(`/proc/${parent}/environ`));
attempt("read the parent's memory", () => fs.openSync(`/proc/${parent}/mem`, "r"));
attempt("write its own memory", () => fs.openSync("/proc/self/mem", "r+"));
attempt("write the snapshot", () => fs.openSync(snapshot, "r+"));
attempt("truncate the snapshot", () => fs.truncateSync(snapshot, 0));
attempt("make a file", () => fs.writeFileSync(`${folder}/new`, "x"));
attempt("make a folder", () => fs.mkdirSync(`${folder}/new`));
attempt("link", () => fs.symlinkSync(secret, `${folder}/link`));
attempt("hard link", () => fs.linkSync(secret, `${folder}/link`));
attempt("rename", () => fs.renameSync(secret, `${folder}/moved`));
attempt("remove", () => fs.unlinkSync(secret));
attempt("chmod", () => fs.chmodSync(secret, 0o777));
attempt("chown", () => fs.chownSync(secret, 0, 0));
attempt("utimes", () => fs.utimesSync(secret, 0, 0));
attempt("signal the parent", () => process.kill(parent, 0));
attempt("signal everybody", () => process.kill(-1, 0));
attempt("start a program", () => {
  const { error } = spawnSync("/bin/true");
  if (error !== undefined) throw error;
});
attempt("load a library of others", () => process.dlopen({ exports: {} }, `${folder}/library.node`));

const koffi = createRequire(import.meta.url)(koffiPath);
const syscall = koffi.load(null).func("long syscall(long number, long a, long b, long c, long d, long e)");
const refused = (name, number, ...args) =>
  attempt(name, () => {
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = args;
    if (Number(syscall(number, a, b, c, d, e)) >= 0) return;
    throw Object.assign(new Error(), { code: koffi.errno() === 38 ? "ENOSYS" : `errno ${koffi.errno()}` });
  });
// Arguments that no call would take: only the filter may answer.
for (const [name, number] of Object.entries(calls)) refused(`call ${name}`, number, -1, -1, -1, -1, -1);
if (process.arch === "x64") {
  const [SHARED, PRIVATE, ANONYMOUS, GROWS, HUGE] = [1, 2, 0x20, 0x100, 0x40000];
  const memory = (name, flags) => refused(`memory that is not counted: ${name}`, 9, 0, 4096, 3, flags, -1);
  memory("shared", SHARED | ANONYMOUS);
  memory("shared, checked", SHARED | PRIVATE | ANONYMOUS);
  memory("that grows", PRIVATE | ANONYMOUS | GROWS);
  memory("in huge pages", PRIVATE | ANONYMOUS | HUGE);
  refused("make a process", 56, 17);
  refused("make a namespace by clone", 56, 0x10000000 | 0x10000);
  refused("raise a limit", 302, 0, 7, 0x1000);
  refused("push input into a terminal", 16, 0, 0x5412, 0x1000);
  refused("send signals by a descriptor's owner", 72, 3, 8, parent);
  refused("be debugged", 157, 4, 1);
  refused("signal a thread of the parent", 234, parent, parent, 0);
}
fs.writeSync(1, JSON.stringify(outcomes));
// As the program ends: without the work of an orderly end, for which the fence lacks calls.
process.kill(process.pid, "SIGKILL");
