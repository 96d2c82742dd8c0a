// The documentation site. `npm run site` writes the pages (site/build.ts) before VitePress reads them.
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";

const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));

/** Anchors as code hosts make them, so that a link works in the repository and on the site. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

export default defineConfig({
  title: "duckmirror",
  description: "Mirrors the Account Intelligence Read API into a DuckDB file.",
  base: process.env.SITE_BASE ?? "/",
  srcDir: ".pages",
  outDir: "dist",
  cleanUrls: true,
  // Texts hold <placeholders>, which are no HTML.
  markdown: { html: false, anchor: { slugify }, languageAlias: { cron: "ini" } },
  srcExclude: ["public/**"],
  ignoreDeadLinks: "localhostLinks",
  themeConfig: {
    nav: [
      { text: "Tutorial", link: "/TUTORIAL" },
      { text: "Commands", link: "/COMMANDS" },
      { text: "Settings", link: "/SETTINGS" },
      { text: "Errors", link: "/ERRORS" },
      { text: "Tables", link: "/DATA" },
    ],
    sidebar: read("sidebar.json"),
    outline: "deep",
    search: { provider: "local", options: { miniSearch: { searchOptions: read("../search.json") } } },
  },
});
