// Runs a statement without end on a file that is only read, while the program is asked to end. Prints the error. Argument: the file.
import { interruptSoon } from "../../../../src/core/async/interrupts.ts";
import { detailOf } from "../../../../src/core/errors.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";

const database = await openDatabase(process.argv[2] ?? "", { readOnly: true });
const running = database.cells("SELECT count(*) FROM range(1000000000000)", []);
interruptSoon();
await running.catch((error: unknown) => process.stdout.write(detailOf(error)));
await database.close();
