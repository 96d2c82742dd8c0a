// Memory available to this process: the machine's, or less where a container limits it (cgroup v1, v2).
import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path/posix";

const readText = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Not Linux, or no control group of this version.
    return "";
  }
};

/** A folder and every folder above it: `/a/b` → `/a/b`, `/a`, `/`. A limit on any of them applies. */
const withParents = (folder: string): readonly string[] => {
  const names = folder.split("/").filter((name) => name !== "" && name !== "..");
  return [...names, ""].map((_, index) => `/${names.slice(0, names.length - index).join("/")}`);
};

/** Files that may contain a limit, from the lines of /proc/self/cgroup: `0::/path` (v2), `9:memory:/path` (v1). */
const limitFiles = (lines: string): readonly string[] =>
  lines.split("\n").flatMap((line) => {
    const [number, controllers = "", ...rest] = line.split(":");
    const folders = withParents(rest.join(":"));
    if (number === "0" && controllers === "") return folders.map((folder) => join(folder, "memory.max"));
    if (!controllers.split(",").includes("memory")) return [];
    return folders.map((folder) => join("memory", folder, "memory.limit_in_bytes"));
  });

/** Available bytes. Tests replace the file system (`root`) and the machine's memory. */
export const machineMemory = (root = "/", machineBytes = totalmem()): number => {
  const files = limitFiles(readText(join(root, "proc/self/cgroup")));
  const limits = files.map((file) => readText(join(root, "sys/fs/cgroup", file)).trim());
  // `max`, and in v1 a number near 2^63, mean that there is no limit.
  return Math.min(machineBytes, ...limits.filter((text) => /^[1-9]\d*$/.test(text)).map(Number));
};
