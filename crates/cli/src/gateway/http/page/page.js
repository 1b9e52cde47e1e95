"use strict";

// All data is written with textContent, so that no text of a server becomes markup.

const element = (id) => document.getElementById(id);

function added(parent, tag, text) {
  const child = document.createElement(tag);
  if (text !== undefined) child.textContent = text;
  parent.append(child);
  return child;
}

async function ask(method, path, body) {
  const headers = {};
  const token = element("token").value;
  if (token) headers["Authorization"] = "Bearer " + token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body });
  const text = await answer.text();
  return { ok: answer.ok, status: answer.status + " " + answer.statusText, text };
}

function shown(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Number of the last request.
let last = 0;

// Sends a request, and shows its answer, unless another request was sent meanwhile. Returns the JSON of an answer that
// is no error.
async function send(method, path, body) {
  const own = ++last;
  const show = (status, text) => {
    if (own !== last) return;
    element("status").textContent = status;
    element("answer").textContent = text;
  };
  show(method + " " + path, "");
  try {
    const answer = await ask(method, path, body);
    show(answer.status, shown(answer.text));
    return answer.ok && answer.text ? JSON.parse(answer.text) : undefined;
  } catch (error) {
    show(String(error), "");
    return undefined;
  }
}

const numbers = ["octet", "short", "unsigned short", "long", "unsigned long", "long long", "unsigned long long", "float",
  "double", "long double"];

// Returns an example of a value, from the JSON of its type.
function example(type, state = { known: new Map(), open: new Set(), left: 1000 }) {
  state.left -= 1;
  if (state.left < 0 || state.open.has(type)) return null;
  if (typeof type === "string") return exampleOfName(type);
  if (type?.kind === "recursive") return example(state.known.get(type.id) ?? null, state);
  if (type?.id) state.known.set(type.id, type);
  state.open.add(type);
  const value = exampleOfObject(type, state);
  state.open.delete(type);
  return value;
}

function exampleOfName(type) {
  if (type.startsWith("sequence<") || type.endsWith("]")) return [];
  if (type.startsWith("string") || type.startsWith("wstring")) return "";
  if (type.startsWith("fixed<")) return "0";
  if (type === "char" || type === "wchar") return " ";
  if (type === "boolean") return false;
  return numbers.includes(type) ? 0 : null;
}

function exampleOfObject(type, state) {
  const members = type?.members ?? [];
  const values = (some) => Object.fromEntries(some.map((member) => [member.name, example(member.type, state)]));
  switch (type?.kind) {
    case "typedef":
      return example(type.type, state);
    case "sequence":
    case "array":
      return [];
    case "enum":
      return members[0] ?? null;
    case "struct":
      return values(members);
    case "union":
      return values(members.slice(0, 1));
    default:
      // References and valuetypes may be null. An any without a value is null, too.
      return null;
  }
}

function button(parent, text, action) {
  const made = added(parent, "button", text);
  made.type = "button";
  made.addEventListener("click", () => action(made));
}

function input(parent, label, text) {
  const made = added(parent, "textarea");
  made.spellcheck = false;
  made.setAttribute("aria-label", label);
  made.value = text;
  return made;
}

function operation(parent, url, known) {
  const details = added(parent, "details");
  added(details, "summary", known.idl);
  const inputs = known.parameters.filter((parameter) => parameter.direction !== "out");
  const values = Object.fromEntries(inputs.map((parameter) => [parameter.name, example(parameter.type)]));
  const body = input(details, "Arguments of " + known.name, JSON.stringify(values, null, 2));
  const path = url + "/" + encodeURIComponent(known.name);
  button(details, "Call", () => send("POST", path, body.value));
}

function attribute(parent, url, known) {
  const details = added(parent, "details");
  added(details, "summary", (known.readonly ? "readonly attribute " : "attribute ") + known.name);
  const path = url + "/" + encodeURIComponent(known.name);
  button(details, "Read", () => send("GET", path));
  if (known.readonly) return;
  const body = input(details, "Value of " + known.name, JSON.stringify(example(known.type), null, 2));
  button(details, "Set", () => send("PUT", path, body.value));
}

// Object that was chosen last. The description of another one may arrive later.
let chosen;

async function choose(object, chooser) {
  chosen = object;
  element("objects").querySelector("[aria-current]")?.removeAttribute("aria-current");
  chooser.setAttribute("aria-current", "true");
  const members = element("members");
  members.replaceChildren();
  element("name").textContent = object.name;
  element("interface").textContent = "";
  const described = await send("GET", object.url);
  if (described === undefined || chosen !== object) return;
  element("answer").textContent = "";
  members.replaceChildren();
  element("interface").textContent = described.ids.join(", ");
  described.attributes.forEach((known) => attribute(members, object.url, known));
  described.operations.forEach((known) => operation(members, object.url, known));
}

async function load() {
  const list = element("objects");
  const answer = await send("GET", "/objects");
  list.replaceChildren();
  if (answer === undefined) return;
  element("answer").textContent = "";
  answer.objects.forEach((object) => button(list, object.name, (made) => choose(object, made)));
}

element("load").addEventListener("click", load);
// A link would be followed without the token.
element("openapi").addEventListener("click", () => send("GET", "/openapi.json"));
load();
