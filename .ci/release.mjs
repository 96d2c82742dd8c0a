// `npm run release -- VERSION`: everything of a release up to publishing it. Writes the version and the changelog, packs, and puts beside the
// tarball in `release/` an SBOM, checksums and a Homebrew formula; then commits and tags. Publishes and pushes nothing.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const out = "release";
const read = (file) => readFileSync(file, "utf8");
const git = (...argv) => execFileSync("git", argv, { encoding: "utf8" }).trim();
const npm = (...argv) =>
  execFileSync(process.execPath, [process.env.npm_execpath, ...argv], { encoding: "utf8", maxBuffer: 2 ** 28 });
/** Address of the registry that npm is set to; the formula fetches the package there. */
const registry = () => npm("config", "get", "registry").trim().replace(/\/*$/, "/");
const refuse = (sentence) => {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
};

const [version = ""] = process.argv.slice(2);
const numbers = (text) => text.split(".").map(Number);
const isLater = (a, b) => {
  const at = numbers(a).findIndex((number, index) => number !== numbers(b)[index]);
  return at !== -1 && numbers(a)[at] > numbers(b)[at];
};
const present = JSON.parse(read("package.json")).version;
if (!/^\d+\.\d+\.\d+$/.test(version)) refuse("Usage: npm run release -- VERSION, for example 1.2.0");
if (!isLater(version, present)) refuse(`${version} is not later than ${present}.`);
if (git("status", "--porcelain") !== "") refuse("The checkout has changes: commit them first.");
if (git("tag", "--list", `v${version}`) !== "") refuse(`The tag v${version} exists already.`);

/** The changelog with the unreleased part under this version; if that is empty, with the subjects of the commits since the last tag. */
const released = (changelog) => {
  const [head, ...rest] = changelog.split("## Unreleased\n");
  if (rest.length !== 1) refuse('CHANGELOG.md has no single heading "## Unreleased".');
  const [notes, ...older] = rest[0].split(/^(?=## )/m);
  const last = git("tag", "--list", "v*", "--sort=-v:refname").split("\n")[0];
  const range = last === "" ? "HEAD" : `${last}..HEAD`;
  const commits = () => git("log", "--no-merges", "--format=- %s", range);
  const date = new Date(Number(git("log", "-1", "--format=%ct")) * 1000).toISOString().slice(0, 10);
  const text = notes.trim() === "" ? commits() : notes.trim();
  return { text, whole: `${head}## Unreleased\n\n## ${version} (${date})\n\n${text}\n\n${older.join("")}` };
};

const { text, whole } = released(read("CHANGELOG.md"));
npm("version", version, "--no-git-tag-version");
writeFileSync("CHANGELOG.md", `${whole.trimEnd()}\n`);
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
npm("pack", "--pack-destination", out);
const tarball = join(out, `duckmirror-${version}.tgz`);

/** Packages that the tarball holds, and those that npm installs with it, from the lock file, in CycloneDX. */
const sbom = () => {
  const names = read("dist/bundle/LICENSES.txt")
    .split(/^-{80}$/m)
    .map((entry) => entry.trim().split("\n")[0]);
  const components = Object.entries(JSON.parse(read("package-lock.json")).packages).flatMap(([path, entry]) => {
    const name = path.split("node_modules/").at(-1);
    const isIn = path !== "" && entry.link !== true && (entry.dev !== true || names.includes(name));
    if (!isIn || entry.peer === true) return [];
    const purl = `pkg:npm/${name.replace("@", "%40")}@${entry.version}`;
    const [algorithm, digest] = (entry.integrity ?? "").split("-");
    const hashes = digest
      ? [{ alg: algorithm.replace("sha", "SHA-"), content: Buffer.from(digest, "base64").toString("hex") }]
      : [];
    const licenses = entry.license ? [{ license: { name: entry.license } }] : [];
    return [{ type: "library", "bom-ref": `${purl}#${path}`, name, version: entry.version, purl, hashes, licenses }];
  });
  const component = { type: "application", name: "duckmirror", version, purl: `pkg:npm/duckmirror@${version}` };
  const whole = { bomFormat: "CycloneDX", specVersion: "1.5", version: 1, metadata: { component }, components };
  return `${JSON.stringify(whole, null, 2)}\n`;
};

const sha256 = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");
const formula = `class Duckmirror < Formula
  desc "Mirrors the Account Intelligence Read API into a DuckDB file"
  homepage "https://www.npmjs.com/package/duckmirror"
  url "${registry()}duckmirror/-/${basename(tarball)}"
  sha256 "${sha256(tarball)}"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/duckmirror --version")
  end
end
`;
writeFileSync(join(out, "duckmirror.rb"), formula);
writeFileSync(join(out, "sbom.cdx.json"), sbom());
writeFileSync(join(out, "NOTES.md"), `${text}\n`);
const files = [tarball, ...["duckmirror.rb", "sbom.cdx.json", "NOTES.md"].map((name) => join(out, name))];
writeFileSync(join(out, "SHA256SUMS"), files.map((file) => `${sha256(file)}  ${basename(file)}\n`).join(""));
git("add", "package.json", "package-lock.json", "CHANGELOG.md");
git("commit", "--quiet", "--message", `Release ${version}`);
git("tag", "--annotate", `v${version}`, "--message", `Release ${version}`);
process.stdout.write(
  `v${version} is committed and tagged; ${out}/ holds ${["SHA256SUMS", ...files.map((file) => basename(file))].join(", ")}.
Next, by hand:
  git push --follow-tags
  npm publish ./${tarball}
  docker buildx imagetools inspect node:24-bookworm-slim    # prints the digest
  docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:DIGEST --tag duckmirror:${version} .
`,
);
