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

async function send(method, path, body) {
  element("status").textContent = method + " " + path;
  element("answer").textContent = "";
  try {
    const answer = await ask(method, path, body);
    element("status").textContent = answer.status;
    element("answer").textContent = shown(answer.text);
  } catch (error) {
    element("status").textContent = String(error);
  }
}

function button(parent, text, action) {
  const made = added(parent, "button", text);
  made.type = "button";
  made.addEventListener("click", action);
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
  const example = Object.fromEntries(inputs.map((parameter) => [parameter.name, null]));
  const body = input(details, "Arguments of " + known.name, JSON.stringify(example, null, 2));
  const path = url + "/" + encodeURIComponent(known.name);
  button(details, "Call", () => send("POST", path, body.value));
}

function attribute(parent, url, known) {
  const details = added(parent, "details");
  added(details, "summary", (known.readonly ? "readonly attribute " : "attribute ") + known.name);
  const path = url + "/" + encodeURIComponent(known.name);
  button(details, "Read", () => send("GET", path));
  if (known.readonly) return;
  const body = input(details, "Value of " + known.name, "null");
  button(details, "Set", () => send("PUT", path, body.value));
}

async function choose(object) {
  const members = element("members");
  members.replaceChildren();
  element("name").textContent = object.name;
  element("interface").textContent = "";
  const answer = await ask("GET", object.url);
  if (!answer.ok) {
    element("status").textContent = answer.status;
    element("answer").textContent = shown(answer.text);
    return;
  }
  const described = JSON.parse(answer.text);
  element("interface").textContent = described.ids.join(", ");
  described.attributes.forEach((known) => attribute(members, object.url, known));
  described.operations.forEach((known) => operation(members, object.url, known));
}

async function load() {
  const list = element("objects");
  list.replaceChildren();
  const answer = await ask("GET", "/objects");
  element("status").textContent = answer.status;
  element("answer").textContent = answer.ok ? "" : shown(answer.text);
  if (!answer.ok) return;
  JSON.parse(answer.text).objects.forEach((object) => button(list, object.name, () => choose(object)));
}

element("load").addEventListener("click", load);
load();
