#!/usr/bin/env node
// Refuses a Node that is too old, before any other module is loaded: a module that names what an old Node lacks fails
// before its first line runs.
import { statSync } from "node:fs";
import * as nodeModule from "node:module";
import type {} from "./start.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 18)) {
  process.stderr.write(
    `duckmirror needs Node 20.18 or newer (24 is recommended), and this is Node ${process.versions.node}.\n`,
  );
  process.exitCode = 2;
} else {
  process.umask(0o077);
  // Where Node can keep compiled modules (22.8 and newer). The folder is the user's own, also under `sudo`: a planted
  // module would run.
  const { XDG_CACHE_HOME, LOCALAPPDATA, HOME } = process.env;
  const owned = XDG_CACHE_HOME || LOCALAPPDATA || HOME;
  const owner = owned && statSync(owned, { throwIfNoEntry: false })?.uid;
  const isOwn = owner !== undefined && (process.getuid === undefined || owner === process.getuid());
  if (isOwn && "enableCompileCache" in nodeModule && typeof nodeModule.enableCompileCache === "function") {
    const caches = owned === HOME ? `${HOME}/.cache` : owned;
    nodeModule.enableCompileCache(`${caches}/duckmirror/compiled`);
  }
  // Not awaited: very old versions of Node do not know `await` here.
  void import("./start.ts");
}
