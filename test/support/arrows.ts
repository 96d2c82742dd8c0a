// `npm run arrows`: the structure of src/ and jobs/ in figures, and every arrow between its folders.
import { readdirSync, readFileSync } from "node:fs";
import type { SourceFile } from "./parsed-source.ts";
import { structureOf } from "./structure.ts";

const root = new URL("../../", import.meta.url);
const sources: SourceFile[] = ["src", "jobs"].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({
      path: `${folder}/${name}`,
      text: readFileSync(new URL(`${folder}/${name}`, root), "utf8"),
    })),
);

const { folders, arrows, files, functions } = structureOf(sources);
const write = (line = "") => void process.stdout.write(`${line}\n`);

write("| folder | parts | arrows | floors |");
write("| --- | --- | --- | --- |");
for (const { folder, parts, arrows: within, floors } of folders) {
  write(`| \`${folder}\` | ${parts} | ${within} | ${floors} |`);
}
write();
const median = files[Math.floor(files.length / 2)];
write(`${files.length} files; median ${median?.lines} lines; the longest:`);
for (const { path, lines } of files.slice(0, 3)) write(`  ${lines}  ${path}`);
write("longest functions, in lines:");
for (const { path, name, lines } of functions.slice(0, 10)) write(`  ${lines}  ${name}  ${path}`);
write();
for (const { from, to, imports } of arrows) write(`${from} -> ${to}  ${imports}`);
