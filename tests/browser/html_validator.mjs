// Reads pages as lines of JSON ({"html": …}), and writes a line with a list of errors for each.
import { createInterface } from "node:readline";
import { HtmlValidate } from "html-validate";

const validator = new HtmlValidate({
  extends: ["html-validate:standard"],
  rules: {},
});

for await (const line of createInterface({ input: process.stdin })) {
  const report = await validator.validateString(JSON.parse(line).html);
  const messages = report.results.flatMap((result) => result.messages);
  const errors = messages.map((each) => `${each.line}:${each.column} ${each.ruleId}: ${each.message}`);
  process.stdout.write(JSON.stringify(errors) + "\n");
}
