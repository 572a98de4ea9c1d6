// Uses the generated client as an application would: node scenario.js BASE_URL TOKEN WORKBOOK
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { createClient } from "./generated/client/index.js";
import { formDataBodySerializer } from "./generated/core/bodySerializer.gen.js";
import {
  assetList,
  assetXform,
  assignmentCreation,
  assignmentList,
  eventList,
  importCreation,
  importDetail,
  permissionList,
} from "./generated/index.js";
import type {
  ImportAccepted,
  ImportCreationResponses,
  ImportPreview,
  ImportRequestMultipart,
} from "./generated/index.js";

const [, , baseUrl = "", token = "", workbook = ""] = process.argv;
const client = createClient({
  baseUrl,
  auth: (scheme) => (scheme.type === "apiKey" ? `Token ${token}` : undefined),
  throwOnError: true,
});
const options = { client, throwOnError: true } as const;
const content = readFileSync(workbook);

// The function for imports sends JSON, with the file in base64.
const sent = await importCreation({ ...options, body: { base64Encoded: content.toString("base64"), name: "As JSON" } });

// The same client sends the multipart body.
const body: ImportRequestMultipart = { file: new File([content], basename(workbook)), name: "As multipart" };
const uploaded = await client.post<ImportCreationResponses, unknown, true>({
  ...formDataBodySerializer,
  url: "/api/v2/imports/",
  body,
  headers: { "Content-Type": null },
  security: [{ name: "Authorization", type: "apiKey" }],
});

// The response of a dry run has another type.
function uidOf(response: ImportAccepted | ImportPreview): string {
  if ("dry_run" in response) throw new Error("It was only checked.");
  return response.uid;
}

async function createdAsset(uid: string): Promise<string> {
  for (;;) {
    const { data } = await importDetail({ ...options, path: { uid } });
    if (data.status === "error") throw new Error(JSON.stringify(data.messages));
    const created = data.messages["created"];
    if (data.status === "complete" && Array.isArray(created)) return created[0].uid;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const assets = [await createdAsset(uidOf(sent.data)), await createdAsset(uidOf(uploaded.data))];
const [asset = ""] = assets;
await assignmentCreation({ ...options, path: { uid: asset }, body: { user: "bashir", permission: "view_asset" } });
const assignments = (await assignmentList({ ...options, path: { uid: asset } })).data;
const xform = (await assetXform({ ...options, path: { uid: asset }, parseAs: "text" })).data;
const permissions = (await permissionList(options)).data;
const events = (await eventList({ ...options, query: { limit: 2 } })).data;
const listed = (await assetList(options)).data;

console.log(
  JSON.stringify({
    assets,
    listed: listed.results.map((each) => each.name),
    permissions: permissions.results.map((each) => each.codename),
    events: [events.count, events.results.length],
    assignments: assignments.map((each) => `${each.user} ${each.permission}`),
    xform,
  }),
);
