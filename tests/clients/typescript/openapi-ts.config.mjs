// Node needs the extension in imports between files.
export default { output: { path: "generated", module: { extension: ".js" } } };
