// A source file as its text shows it: what it imports, the globals it touches, the dates it reads, how long and how
// branched its functions are. Pure.
import { dirname, posix } from "node:path";
import ts from "typescript";

export interface SourceFile {
  /** From the repository's root, e.g. `src/api/client.ts`. */
  readonly path: string;
  readonly text: string;
}

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  /** `import()`: loaded when reached, not at start. */
  readonly lazy: boolean;
}

export interface Parsed extends SourceFile {
  readonly imports: readonly Import[];
  /** Globals of the process that the file touches. */
  readonly globals: readonly string[];
  /** Places that read a time from text by `Date`, as written. */
  readonly datesRead: readonly string[];
  /** Fields of classes that other files can change. */
  readonly openFields: readonly string[];
  /** Every function: its lines, and its branches without those of functions inside it. */
  readonly functions: readonly { readonly name: string; readonly lines: number; readonly branches: number }[];
}

export const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

const isTypeOnly = (node: ts.ImportDeclaration): boolean => {
  const clause = node.importClause;
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const named = clause.namedBindings;
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.length > 0 &&
    named.elements.every((element) => element.isTypeOnly)
  );
};

/** `Date.parse` in any use; `new Date` or `Date` of what is visibly a text. */
const readsDate = (node: ts.Node): boolean => {
  const isDate = (part: ts.Node) => ts.isIdentifier(part) && part.text === "Date";
  if (ts.isPropertyAccessExpression(node)) return isDate(node.expression) && node.name.text === "parse";
  if (ts.isVariableDeclaration(node)) return node.initializer !== undefined && isDate(node.initializer);
  if (!ts.isNewExpression(node) || !isDate(node.expression)) return false;
  const [first, second] = node.arguments ?? [];
  if (first === undefined || second !== undefined) return false;
  const isString =
    ts.isCallExpression(first) && ts.isIdentifier(first.expression) && first.expression.text === "String";
  return isString || ts.isStringLiteralLike(first) || ts.isTemplateExpression(first);
};

/** A field of a class that others can assign, or a collection that others can fill. */
const isOpenField = (node: ts.Node): node is ts.PropertyDeclaration => {
  if (!ts.isPropertyDeclaration(node) || ts.isPrivateIdentifier(node.name)) return false;
  const isReadonly = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword) === true;
  const isView = node.type === undefined ? false : /^(readonly|Readonly)/.test(node.type.getText());
  return !isReadonly || (!isView && /^(new (Map|Set)\b|\[)/.test(node.initializer?.getText() ?? ""));
};

/** The name a function is called by, also where it is the value of a variable or a property. */
const nameOf = (node: ts.Node): string => {
  const named = [node, node.parent].find(
    (part) =>
      ts.isFunctionDeclaration(part) ||
      ts.isMethodDeclaration(part) ||
      ts.isVariableDeclaration(part) ||
      ts.isPropertyAssignment(part),
  );
  const name = named === undefined ? undefined : ts.getNameOfDeclaration(named);
  return name?.getText() ?? "(unnamed)";
};

const LOGICAL = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.QuestionQuestionEqualsToken,
  ts.SyntaxKind.BarBarEqualsToken,
]);

/** Ways to go on: conditions, cases, loops, and what is left out behind `&&`, `||` and `??`. */
const isBranch = (node: ts.Node): boolean =>
  ts.isIfStatement(node) ||
  ts.isConditionalExpression(node) ||
  ts.isCaseClause(node) ||
  ts.isIterationStatement(node, false) ||
  ts.isCatchClause(node) ||
  (ts.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind));

const branchesIn = (node: ts.Node): number => {
  let branches = 0;
  ts.forEachChild(node, (child) => {
    if (!ts.isFunctionLike(child)) branches += branchesIn(child) + (isBranch(child) ? 1 : 0);
  });
  return branches;
};

const parseAnew = (file: SourceFile): Parsed => {
  const imports: Import[] = [];
  const globals: string[] = [];
  const datesRead: string[] = [];
  const openFields: string[] = [];
  const functions: { name: string; lines: number; branches: number }[] = [];
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2022, true);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    if (readsDate(node)) datesRead.push(node.getText());
    if (isOpenField(node)) openFields.push(node.name.getText());
    if (ts.isFunctionLike(node)) {
      const lines = lineAt(node.getEnd()) - lineAt(node.getStart()) + 1;
      functions.push({ name: nameOf(node), lines, branches: branchesIn(node) });
    }
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      imports.push({ specifier: node.moduleSpecifier.text, typeOnly: isTypeOnly(node), lazy: false });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      imports.push({ specifier: node.moduleSpecifier.text, typeOnly: node.isTypeOnly, lazy: false });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [target] = node.arguments;
      if (target && ts.isStringLiteral(target)) imports.push({ specifier: target.text, typeOnly: false, lazy: true });
    } else if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) {
      const { expression } = node;
      if (ts.isIdentifier(expression) && /^(process|console)$/.test(expression.text)) globals.push(expression.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { ...file, imports, globals, datesRead, openFields, functions };
};

/** Parsed files: parsing all takes seconds, and several checks read them. */
const known = new WeakMap<SourceFile, Parsed>();

export const parse = (file: SourceFile): Parsed => {
  const parsed = known.get(file) ?? parseAnew(file);
  known.set(file, parsed);
  return parsed;
};

export const isRelative = (specifier: string) => specifier.startsWith(".");
export const resolveFrom = (path: string, specifier: string) => posix.normalize(`${dirname(path)}/${specifier}`);
