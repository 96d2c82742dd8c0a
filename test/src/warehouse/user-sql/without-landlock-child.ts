// Becomes this program's SQL on a system without Landlock: a filter lets its first call fail, as an old kernel does. Prints what becomes of a
// statement under each setting. Argument: the snapshot.
import { detailOf } from "../../../../src/core/errors.ts";
import {
  become,
  keepStandardFiles,
  renounceRights,
  restrictCalls,
} from "../../../../src/warehouse/user-sql/fence/kernel.ts";
import { offeredBox } from "../../../../src/warehouse/user-sql/process-pool.ts";
import { runUserQuery } from "../../../../src/warehouse/user-sql/user-query.ts";

const [, program = "", snapshot = "", isWithout] = process.argv;
const CREATE_RULESET = 444;

const instruction = (code: number, value: number, yes = 0, no = 0): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(yes, 2);
  bytes.writeUInt8(no, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
};

if (isWithout === undefined) {
  renounceRights();
  keepStandardFiles();
  const fails = [instruction(0x20, 0), instruction(0x15, CREATE_RULESET, 0, 1), instruction(0x06, 0x50026)];
  restrictCalls(Buffer.concat([...fails, instruction(0x06, 0x7fff0000)]));
  const argv = [process.execPath, ...process.execArgv, program, snapshot, "without"];
  become(process.execPath, argv, [`PATH=${process.env.PATH}`]);
}
const outcomes: Record<string, unknown> = { offered: await offeredBox() };
for (const source of ["box", "trusted", "owner", "off"] as const) {
  const limits = { timeMs: 60_000, memoryMiB: 128 };
  outcomes[source] = await runUserQuery({ snapshot, sql: "FROM t" }, limits, source).then(
    ({ rows }) => rows,
    (error: unknown) => detailOf(error),
  );
}
process.stdout.write(JSON.stringify(outcomes));
