// `npm run site`: builds the documentation site from docs/ into site/dist, with a page per command from the code, each page also as Markdown,
// and llms.txt. Fails on a link that leads nowhere. VitePress has a package.json of its own here, so `npm ci` does not install it.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { COMMAND_GROUPS, COMMANDS } from "../src/cli/command-table.ts";
import { addShared } from "../src/cli/completion.ts";
import { SECTIONS, sectionOf } from "./sections.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const site = join(root, "site");
const pagesDir = join(site, ".pages");
const files = join(pagesDir, "public");

/** Pages that are kept outside of docs/, and their place on the site. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "README.md": "index",
  "CONTRIBUTING.md": "CONTRIBUTING",
  "SECURITY.md": "SECURITY",
  "CHANGELOG.md": "CHANGELOG",
  "src/sync/list/SPEC.md": "SPEC",
};

/** Place on the site of a page of the repository, without ending; null: it is not on the site. */
const placeOf = (path: string): string | null => {
  const elsewhere = ELSEWHERE[path];
  if (elsewhere !== undefined) return elsewhere;
  if (!path.startsWith("docs/") || !path.endsWith(".md")) return null;
  return path.slice("docs/".length, -".md".length).replace(/(^|\/)README$/, "$1index");
};

const addressOf = (place: string): string => `/${place.replace(/(^|\/)index$/, "$1")}`;

/** Where a link of a page leads on the site; null: to a file that only the repository has. Throws when it leads nowhere. */
const target = (page: string, link: string): string | null => {
  if (/^[a-z]+:|^#/.test(link)) return link;
  const [path = "", anchor] = link.split("#");
  const found = normalize(join(dirname(page), path)).replace(/\/$/, "");
  if (!existsSync(join(root, found))) throw new Error(`${page}: ${link} leads nowhere`);
  const isFolder = statSync(join(root, found)).isDirectory();
  const place = placeOf(isFolder ? join(found, "README.md") : found);
  const isPage = place !== null && existsSync(join(root, isFolder ? join(found, "README.md") : found));
  if (isPage) return `${addressOf(place)}${anchor === undefined ? "" : `#${anchor}`}`;
  return found.startsWith("docs/") && !isFolder ? found.slice("docs".length) : null;
};

/** A page with links as the site has them. Code is left as it is. */
const forSite = (page: string, text: string): string =>
  text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part) =>
      part.startsWith("```")
        ? part
        : part.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_, image: string, label: string, link: string) => {
            const to = target(page, link);
            return to === null ? label : `${image}[${label}](${to})`;
          }),
    )
    .join("");

/** For a reader of plain Markdown, links lead to the Markdown of pages. */
const plainLinks = (text: string): string =>
  text.replaceAll(/\]\((\/[^)#\s]*)/g, (whole, address: string) =>
    /\.\w+$/.test(address) ? whole : `](${address.replace(/\/$/, "/index")}.md`,
  );

interface Page {
  readonly place: string;
  readonly text: string;
}

const pagesOfDocs = (): readonly Page[] =>
  [
    ...Object.keys(ELSEWHERE),
    ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => join("docs", name)),
  ].flatMap((path) => {
    const place = placeOf(path);
    return place === null ? [] : [{ place, text: forSite(path, readFileSync(join(root, path), "utf8")) }];
  });

/** A page per command: what its --help prints. */
const pagesOfCommands = (): Promise<readonly Page[]> =>
  Promise.all(
    COMMANDS.map(async ({ name, group, summary, load }) => {
      let help = "";
      const command = addShared(new Command("duckmirror").command(name)).description(`${summary}.`);
      command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 100 });
      (await load()).command.configure(command);
      command.outputHelp();
      const heading = `# duckmirror ${name}\n\n${summary}. Group: ${COMMAND_GROUPS[group]}. All commands: [COMMANDS](/COMMANDS).`;
      return { place: `commands/${name}`, text: `${heading}\n\n\`\`\`text\n${help.trim()}\n\`\`\`\n` };
    }),
  );

const titleOf = ({ place, text }: Page): string => (/^# (.+)$/m.exec(text)?.[1] ?? basename(place)).replaceAll("`", "");

/** The index for language models (llmstxt.org): every page by section, as Markdown. */
const llms = (pages: readonly Page[]): string => {
  const [, first = ""] = /\n\n([^#`[]+?)\n\n/.exec(pages.find(({ place }) => place === "index")?.text ?? "") ?? [];
  const sections = SECTIONS.map(({ title }) => {
    const lines = pages
      .filter(({ place }) => sectionOf(place) === title)
      .map((page) => `- [${titleOf(page)}](/${page.place}.md)`);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  return `# duckmirror\n\n> ${first.replaceAll("\n", " ")}\n\n${sections.join("\n\n")}\n`;
};

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

const npm = (...argv: readonly string[]): void => {
  const { npm_execpath: npmCli } = process.env;
  const [file, first] = npmCli === undefined ? ["npm", []] : [process.execPath, [npmCli]];
  // Files with these endings are no pages to VitePress.
  const env = { ...process.env, VITE_EXTRA_EXTENSIONS: "py,sql" };
  execFileSync(file, [...first, ...argv], { cwd: site, env, stdio: "inherit" });
};

const pages = [...pagesOfDocs(), ...(await pagesOfCommands())];
rmSync(pagesDir, { recursive: true, force: true });
const isFile = (source: string) => !source.endsWith(".md") && !source.includes("node_modules");
cpSync(join(root, "docs"), files, { recursive: true, filter: isFile });
for (const page of pages) {
  write(join(pagesDir, `${page.place}.md`), page.text);
  write(join(files, `${page.place}.md`), plainLinks(page.text));
}
write(join(files, "llms.txt"), llms(pages));
const sidebar = SECTIONS.map(({ title, isOpen }) => ({
  text: title,
  collapsed: !isOpen,
  items: pages
    .filter(({ place }) => sectionOf(place) === title)
    .map((page) => ({ text: titleOf(page), link: addressOf(page.place) })),
}));
write(join(site, ".vitepress/sidebar.json"), JSON.stringify(sidebar));
if (!existsSync(join(site, "node_modules/vitepress"))) npm("ci", "--ignore-scripts", "--no-audit", "--no-fund");
npm("exec", "--", "vitepress", "build");
