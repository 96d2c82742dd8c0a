// Loaded before `duckmirror deliver`: kills it, or kills or freezes the server it delivers to, at a named moment. Steps are
// statements for DuckDB with extensions, statements for Postgres, and changes of files; KILL_AT says which
// (killed-delivery.ts).
import { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync, watch, writeSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import pg from "pg";

const { step, nth, when, victim, folder, freeze } = JSON.parse(process.env.KILL_AT ?? "{}");
const wanted = new RegExp(step);
let seen = 0;
let isDone = false;

const isNow = (text) => {
  if (isDone || !wanted.test(text)) return false;
  seen += 1;
  return seen === nth;
};

/** Stops a process of Linux and its children. */
const stopAll = (parent) => {
  process.kill(parent, "SIGSTOP");
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const [, of] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      if (Number(of) === parent) process.kill(Number(pid), "SIGSTOP");
    } catch (error) {
      // It has ended.
      if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error;
    }
  }
};

const strike = () => {
  if (isDone) return;
  isDone = true;
  writeSync(2, `killed ${when} ${step}\n`);
  if (freeze === true) stopAll(victim);
  else if (typeof victim === "number") process.kill(victim, "SIGKILL");
  else process.kill(victim === "both" ? -process.pid : process.pid, "SIGKILL");
};

/** The first change of a file below `folder`. */
const onFirstChange = () => {
  if (folder !== undefined) watch(folder, { recursive: true, persistent: false }, strike);
};

const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function (...options) {
  const result = spawn.apply(this, options);
  const { send } = this;
  if (typeof send !== "function") return result;
  this.send = (message, ...rest) => {
    if (message?.kind !== "run" || !isNow(message.sql)) return send.call(this, message, ...rest);
    if (when === "before") strike();
    if (when === "during") onFirstChange();
    if (when !== "before") this.once("message", strike);
    return send.call(this, message, ...rest);
  };
  return result;
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (...args) {
  const text = typeof args[0] === "string" ? args[0] : String(args[0]?.text ?? "");
  if (!isNow(text)) return query.apply(this, args);
  if (when === "before") strike();
  const result = query.apply(this, args);
  if (when === "before") return result;
  if (typeof result.then === "function") {
    // The statement is on its way as soon as the call returns.
    if (when === "during") setImmediate(strike);
    else result.then(strike, strike);
    return result;
  }
  // A COPY: its first rows, or its end.
  const { write } = result;
  result.write = (...chunk) => {
    if (when === "during") setImmediate(strike);
    return write.apply(result, chunk);
  };
  result.once("finish", strike);
  return result;
};

for (const name of ["rename", "copyFile", "rm"]) {
  const call = files[name];
  files[name] = async (...args) => {
    if (!isNow(`${name} ${args.join(" ")}`)) return call(...args);
    if (when === "before") strike();
    const running = call(...args);
    if (when === "during") setImmediate(strike);
    await running;
    strike();
  };
}
syncBuiltinESMExports();
