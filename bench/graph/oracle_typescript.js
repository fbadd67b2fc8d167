// Ask the TypeScript checker where every call of a repository leads, and write the pairs as JSON.
// For measuring alone: node oracle_typescript.js REPOSITORY OUT.json. Needs the npm package typescript.
const ts = require("typescript");
const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");

const repository = path.resolve(process.argv[2]);
const listed = execFileSync("git", ["-C", repository, "ls-files", "-z"], { maxBuffer: 1 << 28 }).toString();
const files = listed
  .split("\0")
  .filter((name) => /\.(ts|tsx|mts|cts|js|mjs|cjs|jsx)$/.test(name))
  .map((name) => path.join(repository, name));
const program = ts.createProgram(files, { ...configuration(), allowJs: true, noEmit: true, skipLibCheck: true });
const checker = program.getTypeChecker();
const records = program
  .getSourceFiles()
  .filter((source) => files.includes(source.fileName))
  .flatMap(callsOf);
fs.writeFileSync(process.argv[3], JSON.stringify(records));

function configuration() {
  const found = path.join(repository, "tsconfig.json");
  const given = fs.existsSync(found)
    ? ts.parseJsonConfigFileContent(ts.readConfigFile(found, ts.sys.readFile).config, ts.sys, repository).options
    : {};
  return {
    strict: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    jsx: ts.JsxEmit.Preserve,
    allowImportingTsExtensions: true,
    ...given,
  };
}

function callsOf(source) {
  const records = [];
  const visit = (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) records.push(record(source, node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return records;
}

function record(source, call) {
  let callee = call.expression;
  while (ts.isParenthesizedExpression(callee) || ts.isNonNullExpression(callee)) callee = callee.expression;
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declarations = (symbol && symbol.declarations) || [];
  const targets = declarations.map(place).filter((found) => !found[0].startsWith(".."));
  const state = targets.length ? "found" : declarations.length ? "foreign" : "unknown";
  const line = source.getLineAndCharacterOfPosition(name.getStart()).line + 1;
  return { path: path.relative(repository, source.fileName), line, name: name.getText().slice(0, 60), state, targets };
}

function place(declaration) {
  const file = declaration.getSourceFile();
  const named = declaration.name || declaration;
  const line = file.getLineAndCharacterOfPosition(named.getStart()).line + 1;
  return [path.relative(repository, file.fileName), line, named.getText().slice(0, 60)];
}
