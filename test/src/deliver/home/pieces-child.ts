// Cuts a file into pieces, and writes a copy and a pack of them, in a process of its own. Prints what each write ended with.
import { join } from "node:path";
import { detailOf } from "../../../../src/core/errors.ts";
import { cutFile, joinFile, type LocalPiece, writePack } from "../../../../src/deliver/home/pieces.ts";

const [source = "", folder = ""] = process.argv.slice(2);

const main = async (): Promise<void> => {
  const local = new Map<string, LocalPiece>();
  const pieces = await cutFile(source, local);
  const ended = (work: Promise<unknown>) => work.then(() => "written", detailOf);
  const copy = await ended(joinFile(join(folder, "copy"), pieces, { local, packed: () => null }));
  const pack = await ended(writePack(join(folder, "pack"), pieces, local));
  process.stdout.write(JSON.stringify({ copy, pack }));
};

void main();
