// The bucket in a process of its own, which can be killed: bucket-process.ts <folder>. Prints its address.
import { startBucket } from "./bucket-server.ts";

const { endpoint } = await startBucket(process.argv[2] ?? ".");
process.stdout.write(`${endpoint}\n`);
