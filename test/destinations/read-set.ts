// What programs of Python read of a delivered set in object storage, compared with the snapshot (read_set.py).
import { join } from "node:path";
import { inject } from "vitest";
import { z } from "zod";
import { runWell } from "../clients/programs.ts";

export const compared = z.object({ rows: z.number(), missing: z.number(), extra: z.number() });

/** Runs a script of this folder; its output is JSON. */
export const python = async (script: string, ...args: readonly string[]): Promise<unknown> => {
  const program = join(inject("destinationsVenv"), "bin/python");
  const env = { PYTHONDONTWRITEBYTECODE: "1" };
  return JSON.parse(await runWell(program, [join(import.meta.dirname, script), ...args], { env }));
};

/** Differences by table. `where`: endpoint and bucket; account and key say that it is Azure's. */
export const readsSet = async (
  engine: string,
  where: Readonly<Record<string, string>>,
  prefix: string,
  snapshot: string,
): Promise<Readonly<Record<string, z.output<typeof compared>>>> =>
  z
    .record(z.string(), compared)
    .parse(await python("read_set.py", engine, JSON.stringify(where), prefix, snapshot, inject("extensions")));
