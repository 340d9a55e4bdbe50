"use strict";
/* What the API answers becomes text nodes and attributes, never markup: names of items, columns and classes are
 * whatever the data had. The policy of the page (require-trusted-types-for) lets the browser refuse anything else. */
(() => {
  const REFRESH_MS = 2000;
  const SAMPLES = 60;
  const MOST_REASONS = 12;
  const MOST_OPEN = 2; // cards of a kind that are open at the start
  const MOST_SUGGESTED = 20;
  const MOST_IN_EXAMPLE = 30; // numbers of a row
  const TYPING_MS = 150; // a pause that ends what someone types
  const REASONS = 2; // of a recommended item

  // ---- Elements ----

  let ids = 0;
  const newId = () => `e${++ids}`;

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
      if (value !== false && value !== undefined && value !== null)
        node.setAttribute(name, value === true ? "" : value);
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const shape = (tag, attributes, ...children) =>
      fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  /* Figures are replaced only where they differ, so that a selection in the page stays. */
  function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  // ---- Numbers ----

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const count = (value) => (isNumber(value) ? value.toLocaleString("en") : String(value ?? "–"));
  const total = (value) => (value >= 1e7 ? brief(value) : count(value));
  const short = (value, digits = 4) => (isNumber(value) ? String(Number(value.toPrecision(digits))) : "–");
  const decimals = (value) => (value < 10 ? 2 : value < 100 ? 1 : 0);
  const milliseconds = (value) => (isNumber(value) ? `${value.toFixed(decimals(value))} ms` : "–");
  const rate = (value) => (isNumber(value) ? `${value < 100 ? value.toFixed(1) : count(Math.round(value))}/s` : "–");

  function size(value) {
    if (!isNumber(value)) return "–";
    const unit = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([least]) => value >= least);
    return unit ? `${short(value / unit[0], 3)} ${unit[1]}` : `${value} B`;
  }

  /* A number with few digits to read, and all of them for programs. */
  const number = (value, digits = 6) =>
      el("data", {value: String(value ?? "")}, isNumber(value) ? short(value, digits) : count(value));

  function moment(text) {
    const shown = String(text ?? "–").replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
    return text ? el("time", {datetime: text}, shown) : shown;
  }

  /* A number as it was written: ids and times may have more digits than a double. */
  class Digits {
    constructor(text) {
      this.text = text;
    }
  }

  function json(value) {
    if (value instanceof Digits) return value.text;
    if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
    if (value && typeof value === "object")
      return `{${Object.entries(value).map(([name, v]) => `${JSON.stringify(name)}:${json(v)}`).join(",")}}`;
    return JSON.stringify(value);
  }

  const readJson = (text) =>
      JSON.parse(text, (_, value, context) => Number.isInteger(value) && !Number.isSafeInteger(value) &&
                                                      /^-?\d+$/.test(context?.source ?? "")
                                                  ? context.source
                                                  : value);

  // ---- The API ----

  class Problem extends Error {
    constructor(status, found) {
      super([found.detail || found.title || `the answer was ${status}`, found.token && `(${found.token})`]
                .filter(Boolean)
                .join(" "));
      this.status = status;
      this.pointer = found.pointer;
      this.hint = found.hint;
    }
    get text() {
      return this.hint ? `${this.message}. ${this.hint}` : this.message;
    }
  }

  const secret = {
    get: () => sessionStorage.getItem("token"),
    set: (text) => (text ? sessionStorage.setItem("token", text) : sessionStorage.removeItem("token")),
  };

  async function problemOf(answer) {
    let found = {};
    try {
      found = JSON.parse(await answer.text());
    } catch {
      /* a proxy's page, or a text */
    }
    const wait = answer.headers.get("Retry-After");
    if (wait && !found.hint) found.hint = `Try again in ${wait} s.`;
    return new Problem(answer.status, {title: answer.statusText, ...found});
  }

  async function askText(path, body) {
    const headers = {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (secret.get()) headers.Authorization = `Bearer ${secret.get()}`;
    let answer;
    try {
      answer = await fetch(path, {method: body === undefined ? "GET" : "POST", headers, body, cache: "no-store"});
    } catch {
      throw new Problem(0, {detail: "the server does not answer"});
    }
    if (!answer.ok) throw await problemOf(answer);
    try {
      return await answer.text();
    } catch {
      throw new Problem(answer.status, {detail: "the answer was cut off"});
    }
  }

  async function ask(path, body) {
    const text = await askText(path, body);
    try {
      return readJson(text);
    } catch {
      throw new Problem(200, {detail: "the answer is not JSON"});
    }
  }

  const post = (call) => ask(call.path, json(call.body));

  // ---- Commands to copy ----

  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  function curlOf(call) {
    const token = secret.get() ? ' -H "Authorization: Bearer $FURROW_TOKEN"' : "";
    const address = new URL(call.path, document.baseURI).href;
    return `curl -sS ${quote(address)}${token} -H 'Content-Type: application/json' --data-binary ${
        quote(json(call.body))}`;
  }

  /* The clipboard is there only on https and on localhost; elsewhere a selection is copied. */
  async function copy(node) {
    try {
      await navigator.clipboard.writeText(node.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(node);
      return document.execCommand("copy");
    }
  }

  function command(call) {
    const text = el("pre", {"data-curl": true}, curlOf(call));
    const button = el("button", {type: "button", class: "plain"}, "Copy");
    const said = el("span", {role: "status", class: "soft"});
    button.addEventListener("click", async () => {
      setText(said, (await copy(text)) ? "Copied" : "Select the text to copy it");
      setTimeout(() => setText(said, ""), 2000);
    });
    return el("div", {class: "command"}, text, el("div", {}, button, " ", said));
  }

  // ---- Fields ----

  /* pointer: the place in the request that problem documents call the field by. */
  function field(label, pointer, input, options = {}) {
    const id = newId();
    const problem = el("p", {class: "problem", id: `${id}p`});
    const hint = options.hint && el("p", {class: "hint", id: `${id}h`}, options.hint);
    fill(input, {id, "aria-describedby": `${hint ? `${id}h ` : ""}${id}p`, autocomplete: "off", spellcheck: "false"},
         []);
    const row = el("div", {class: options.long ? "field long" : "field"}, el("label", { for: id
                   }, label, options.note && el("span", {class: "soft"}, ` ${options.note}`)), input, hint, problem);
    const fail = (text) => {
      setText(problem, text);
      text ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
    };
    return {row, input, pointer, fail, text: () => input.value.trim()};
  }

  const textInput = (value) => el("input", {type: "text", value});
  const numberInput = (value, attributes) => el("input", {type: "number", value, step: "any", ...attributes});
  const countField = (label, name, value, options) =>
      field(label, `/${name}`, numberInput(value, {min: 1, step: 1, inputmode: "numeric"}), options);

  class Mistake extends Error {
    constructor(of, text) {
      super(text);
      this.field = of;
    }
  }

  function readNumber(of) {
    if (of.input.validity.badInput) throw new Mistake(of, "is not a number");
    const text = of.text();
    return text === "" ? undefined : new Digits(jsonNumber(text));
  }

  /* "+1", "01" and ".5" are numbers to people, but not in JSON. */
  const jsonNumber = (text) => (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? text : String(Number(text)));

  function needText(of, what) {
    if (of.text() === "") throw new Mistake(of, `${what} is missing`);
    return of.text();
  }

  /* The field of the longest pointer that the problem's begins with. */
  function fieldOf(fields, pointer) {
    const fits = fields.filter((f) => pointer === f.pointer || pointer.startsWith(`${f.pointer}/`));
    return fits.sort((a, b) => b.pointer.length - a.pointer.length)[0];
  }

  // ---- Forms ----

  /* calls(): the requests that submitting makes; throws Mistake. show(answers, calls): {said, nodes}. Requests after
   * the first are allowed to fail: their answer is a Problem. starts: what fills in examples when the form is shown. */
  class AskForm {
    constructor({title, button, fields, calls, show, note, starts}) {
      Object.assign(this, {fields, calls, show, starts: starts || []});
      this.button = el("button", {type: "submit"}, button);
      this.status = el("p", {class: "status", role: "status"});
      this.result = el("div", {class: "result"});
      this.commands = el("div", {});
      this.form = el("form", {novalidate: true}, note && el("p", {class: "soft"}, note),
                     el("div", {class: "fields"}, ...fields.map((f) => f.row)), this.button,
                     el("details", {class: "curl"}, el("summary", {}, "The same with curl"), this.commands),
                     this.status, this.result);
      this.box = el("details", {open: true}, el("summary", {}, el("h4", {}, title)), this.form);
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.submit();
      });
      this.form.addEventListener("input", () => this.tellCommands());
      this.form.addEventListener("keydown", (event) => this.submitFromTextarea(event));
      this.tellCommands();
    }

    submitFromTextarea(event) {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.target.tagName !== "TEXTAREA") return;
      event.preventDefault();
      this.form.requestSubmit();
    }

    tellCommands() {
      let calls = [];
      try {
        calls = this.calls();
      } catch (error) {
        if (!(error instanceof Mistake)) throw error;
      }
      this.commands.replaceChildren(
          ...(calls.length > 0 ? calls.map(command) : [el("p", {class: "soft"}, "Fill in the fields first.")]));
    }

    async submit() {
      if (this.button.getAttribute("aria-disabled") === "true") return;
      this.fields.forEach((f) => f.fail(""));
      this.setBusy(true);
      try {
        const calls = this.calls();
        const answers = [await post(calls[0])];
        for (const call of calls.slice(1)) answers.push(await post(call).catch((error) => error));
        const {said, nodes} = this.show(answers, calls);
        this.say(said, false);
        this.result.replaceChildren(...nodes);
      } catch (error) {
        this.fail(error);
      } finally {
        this.setBusy(false);
      }
    }

    setBusy(busy) {
      this.button.setAttribute("aria-disabled", String(busy));
      this.result.setAttribute("aria-busy", String(busy));
      if (busy) this.say("Working…", false);
    }

    say(text, failed) {
      setText(this.status, text);
      this.status.classList.toggle("failed", failed);
    }

    fail(error) {
      this.result.replaceChildren();
      if (!(error instanceof Problem) && !(error instanceof Mistake)) {
        this.say("The page cannot show this answer; curl can.", true);
        throw error;
      }
      const of = error.field || (error.pointer && fieldOf(this.fields, error.pointer));
      const text = error.text || error.message;
      this.say(of ? "The request was not accepted." : text, true);
      if (error.status === 401) askForToken();
      if (!of) return;
      of.fail(text);
      of.input.focus();
    }
  }

  // ---- Bars and tables ----

  /* A bar from zero; `least` and `most` are the extremes of all bars in the chart. */
  function gauge(value, least, most) {
    const low = Math.min(0, least), span = Math.max(0, most) - low || 1;
    const at = (v) => ((v - low) / span) * 100;
    const v = isNumber(value) ? value : 0;
    return shape(
        "svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
        shape("rect",
              {class: v < 0 ? "minus" : "plus", x: Math.min(at(v), at(0)), width: Math.abs(at(v) - at(0)), height: 10}),
        low < 0 && shape("path", {class: "zero", d: `M${at(0)} 0V10`}));
  }

  function meter(part) {
    return el("div", {class: "meter"},
              shape("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
                    shape("rect", {class: "track", width: 100, height: 10}),
                    shape("rect", {class: "plus", width: part * 100, height: 10})));
  }

  /* columns: [{name, number, gauge}]; rows: arrays of nodes or texts. */
  function table(caption, columns, rows, quiet) {
    const kind = (c) => (c.gauge ? "gauge" : c.number ? (c.name === "rank" ? "n rank" : "n") : c.key ? "id" : "words");
    const narrow = columns.every((c) => c.number);
    return el(
        "table", {class: narrow && "narrow"}, el("caption", {class: quiet && "quiet"}, caption),
        el("thead", {},
           el("tr", {},
              ...columns.map((c) => el(c.gauge ? "td" : "th", {scope: c.gauge ? undefined : "col", class: kind(c)},
                                       c.name || "")))),
        el("tbody", {},
           ...rows.map((row) => el("tr", {}, ...row.map((cell, i) => el("td", {class: kind(columns[i])}, cell))))));
  }

  const extremes = (values) => {
    const known = values.filter(isNumber);
    return [Math.min(0, ...known), Math.max(0, ...known)];
  };

  // ---- Figures that change ----

  function tile(name) {
    const value = el("dd", {}, "–");
    return {node: el("dl", {}, el("dt", {}, name), value), set: (text) => setText(value, text)};
  }

  /* A line of the last samples; null is a gap. */
  class LiveChart {
    constructor(name, format, late) {
      this.format = format;
      this.values = [];
      this.path = shape("path", {class: late ? "line late" : "line"});
      this.description = shape("desc", {}, "nothing yet");
      this.now = el("span", {class: "now"}, "–");
      this.most = el("div", {class: "most"});
      const plot = shape("svg", {viewBox: `0 0 ${SAMPLES - 1} 100`, preserveAspectRatio: "none", role: "img"},
                         shape("title", {}, `${name}, the last two minutes`), this.description,
                         shape("path", {class: "base", d: `M0 99H${SAMPLES}`}), this.path);
      this.node = el("div", {class: "wide"}, el("div", {}, el("span", {class: "name"}, name), this.now),
                     el("div", {class: "plot"}, this.most, plot));
    }

    push(value) {
      this.values.push(isNumber(value) ? value : null);
      this.values = this.values.slice(-SAMPLES);
      const most = Math.max(...this.values);
      const start = SAMPLES - this.values.length;
      let path = "", pen = "M";
      this.values.forEach((v, i) => {
        path += v === null ? "" : `${pen}${start + i} ${(97 - (most > 0 ? v / most : 0) * 92).toFixed(1)}`;
        pen = v === null ? "M" : "L";
      });
      this.path.setAttribute("d", path);
      setText(this.now, this.format(value));
      setText(this.most, most > 0 ? `most ${this.format(most)}` : "");
      setText(this.description, `now ${this.format(value)}, most ${this.format(most)}`);
    }
  }

  class Live {
    constructor() {
      this.requests = tile("requests");
      this.errors = tile("errors");
      this.p50 = tile("p50");
      this.rate = new LiveChart("requests/s", rate, false);
      this.late = new LiveChart("p99", milliseconds, true);
      this.node = el("div", {class: "live"}, this.requests.node, this.errors.node, this.p50.node, this.rate.node,
                     this.late.node);
    }

    /* A rate needs the answer before: not after a pause, nor after a restart of the server. */
    update(doc, now) {
      const before = this.before && now - this.before.at < 3 * REFRESH_MS && doc.requests >= this.before.requests
                         ? this.before
                         : null;
      this.requests.set(total(doc.requests));
      this.errors.set(total(doc.errors));
      this.p50.set(milliseconds(doc.p50_ms));
      this.rate.push(before ? ((doc.requests - before.requests) / (now - before.at)) * 1000 : null);
      this.late.push(doc.p99_ms);
      this.before = {requests: doc.requests, at: now};
    }
  }

  const facts = (pairs) => el("dl", {class: "facts"},
                              ...pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
                                  .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

  /* What models and indexes have in common. `same`: what the forms depend on; a card whose forms would differ is
   * rebuilt. */
  class Card {
    constructor(kind, doc) {
      this.id = `${kind}-${doc.name}`;
      this.live = new Live();
      this.version = el("span", {class: "soft"});
      this.facts = el("div", {});
      this.refused = el("p", {class: "refused", hidden: true});
      this.box = el("details", {class: "whole", open: true},
                    el("summary", {}, el("h3", {id: `${this.id}-title`}, doc.name), " ", this.version), this.facts,
                    this.refused, this.live.node);
      this.node = el("article", {class: "card", id: this.id, "aria-labelledby": `${this.id}-title`}, this.box);
    }

    /* Examples are asked for when the card is first seen. */
    startWhenOpen(starts) {
      let started = false;
      this.box.addEventListener("toggle", (event) => {
        if (event.target !== this.box || !this.box.open || started) return;
        started = true;
        starts.forEach((start) => start());
      });
    }

    update(doc, pairs, now) {
      const state = doc.state && doc.state !== "AVAILABLE" ? `, ${doc.state}` : "";
      setText(this.version,
              `version ${count(doc.version)}${state}${doc.last_error ? ", the last reload was refused" : ""}`);
      const list = facts(pairs);
      if (list.textContent !== this.facts.textContent) this.facts.replaceChildren(list);
      setText(this.refused, doc.last_error ? `The last reload was refused: ${doc.last_error}` : "");
      this.refused.hidden = !doc.last_error;
      this.live.update(doc, now);
    }
  }

  const unitVector = (dimension) => Array.from({length: dimension}, (_, i) => (i === 0 ? 1 : 0));

  // ---- Names ----

  const suggestedName = (found) => (typeof found === "string" ? found : found.item);
  const suggestion = (found) => el("option", {value: suggestedName(found), label: found.name});

  /* Completes names of users or items (`kind`) while someone types. The returned function puts the most frequent name
   * into the field, so that the form works at once; what is typed then takes its place. */
  function completeNames(of, path, kind) {
    const list = el("datalist", {id: newId()});
    const input = of.input;
    let asked = 0, timer = 0, example = "";
    input.setAttribute("list", list.id);
    of.row.append(list);
    const suggest = async () => {
      const turn = ++asked;
      const answer = await ask(`${path}:suggest`, json({[kind]: of.text(), k: MOST_SUGGESTED})).catch(() => null);
      const found = turn === asked && answer ? answer[kind] : [];
      if (answer && turn === asked) list.replaceChildren(...found.map(suggestion));
      return found;
    };
    input.addEventListener("input", () => {
      clearTimeout(timer);
      if (!example || input.value !== example) timer = setTimeout(suggest, TYPING_MS); // with the example, the list stays whole
    });
    input.addEventListener("focus", () => input.value !== "" && input.value === example && input.select());
    return async () => {
      const [first] = await suggest();
      if (!first || input.value !== "" || document.activeElement === input) return;
      input.value = example = suggestedName(first);
      input.dispatchEvent(new Event("input", {bubbles: true}));
    };
  }

  // ---- Predictions ----

  const FEATURES = {
    number: ["number"],
    category: ["category"],
    set: ["set", "Values as in the training data, with their separator."],
    text: ["text"],
    time: ["time", "Written as in the training data."],
  };

  function columnField(column) {
    const [note, hint] = FEATURES[column.as];
    const input = column.as === "number" ? numberInput("", {}) : textInput("");
    const pointer = `/instances/0/${column.name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const of = field(column.name, pointer, input,
                     {note: column.role && column.role !== column.as ? `${note}, ${column.role}` : note, hint});
    return {...of, column};
  }

  function eventInstance(fields) {
    const instance = {};
    for (const f of fields) {
      const value = f.column.as === "number" ? readNumber(f) : f.text() || undefined;
      if (value !== undefined) instance[f.column.name] = value;
    }
    return {instances: [instance]};
  }

  /* A line as in the training data, or JSON: an array of numbers or an object of feature names. */
  function rowInstance(of) {
    const text = needText(of, "a row");
    if (!/^[[{]/.test(text)) return {rows: text.split(/\r?\n/).filter((line) => line.trim() !== "")};
    try {
      return {instances: [JSON.parse(text)]};
    } catch (error) {
      throw new Mistake(of, `is not JSON: ${error.message}`);
    }
  }

  /* A row that works, where it is short. */
  const exampleRow = (features) => (features > 0 && features <= MOST_IN_EXAMPLE ? json(unitVector(features)) : "");

  function predictionFields(doc) {
    if (doc.kind === "events") return (doc.columns || []).filter((column) => FEATURES[column.as]).map(columnField);
    const forms = ["a line as in the training data (0 1:0.5 2:1)", `an array of ${count(doc.features)} numbers`];
    if (doc.named) forms.push("an object of feature names and values");
    const row = field("Row", "", el("textarea", {rows: 3}, exampleRow(doc.features)), {
      long: true,
      hint: `${forms.slice(0, -1).join(", ").replace(/^a/, "A")} or ${forms[forms.length - 1]}. Enter sends it.`
    });
    return [row];
  }

  function showClasses(doc, probabilities) {
    const names = doc.classes || [];
    const rows = probabilities.map((p, i) => [String(names[i] ?? i), number(p), gauge(p, 0, 1)]);
    return table("Probability of each class", [{name: "class"}, {name: "probability", number: true}, {gauge: true}],
                 rows);
  }

  function showOne(doc, found) {
    if (found.probabilities) {
      const best = found.probabilities.indexOf(Math.max(...found.probabilities));
      return {
        said: `Class ${found.label ?? doc.classes?.[best] ?? best}`,
        nodes: [showClasses(doc, found.probabilities)]
      };
    }
    if (doc.task === "ranking")
      return {
        said: `Score: ${short(found.score, 4)}`,
        nodes: [
          facts([["score", number(found.score)]]),
          el("p", {class: "soft"}, "The model ranks: scores order items and mean nothing by themselves.")
        ]
      };
    if (!isNumber(found.probability))
      return {said: `Value: ${short(found.score, 4)}`, nodes: [facts([["score", number(found.score)]])]};
    const of = doc.classes?.[1] ?? "the positive class";
    const nodes = [
      meter(found.probability), facts([
        ["probability", number(found.probability)], ["score", number(found.score)],
        ["label", found.label === undefined ? undefined : String(found.label)]
      ])
    ];
    return {said: `Probability of ${of}: ${short(found.probability, 4)}`, nodes};
  }

  function showMany(doc, list) {
    const rows =
        list.map((found, i) => [count(i + 1), String(found.label ?? ""), number(found.probability ?? found.score)]);
    return {
      said: `${list.length} rows`,
      nodes: [table("Predictions",
                    [
                      {name: "row", number: true}, {name: "label"},
                      {name: doc.task === "binary" ? "probability" : "score", number: true}
                    ],
                    rows)]
    };
  }

  const ofClass = (value, k) => (Array.isArray(value) ? value[k] : value);

  function reasons(explanation, k) {
    const list = explanation.contributions || [];
    const values = list.map((c) => ofClass(c.value, k));
    const [least, most] = extremes([...values, ofClass(explanation.bias, k)]);
    const line = (name, v) => [name, number(v), gauge(v, least, most)];
    const rows = list.map((c, i) => line(String(c.feature ?? c.index), values[i]));
    return table(`The ${rows.length} largest contributions to the score, and the bias`,
                 [{name: "feature"}, {name: "contribution", number: true}, {gauge: true}],
                 [...rows, line("bias", ofClass(explanation.bias, k))]);
  }

  function showWhy(doc, answer) {
    const title = el("h5", {}, "Why");
    if (answer instanceof Error) return [title, el("p", {class: "problem"}, answer.text || answer.message)];
    const explanation = answer.explanations[0];
    const key = el("p", {class: "soft"}, el("span", {class: "key up"}), "raises the score",
                   el("span", {class: "key down"}), "lowers it");
    if (!Array.isArray(explanation.bias)) return [title, key, reasons(explanation, 0)];
    const box = el("div", {});
    const select =
        el("select", {}, ...explanation.bias.map((_, i) => el("option", {value: i}, String(doc.classes?.[i] ?? i))));
    const scores = explanation.score;
    select.value = String(Array.isArray(scores) ? scores.indexOf(Math.max(...scores)) : 0);
    const draw = () => box.replaceChildren(reasons(explanation, Number(select.value)));
    select.addEventListener("change", draw);
    draw();
    return [title, key, field("Class", "", select).row, box];
  }

  const PLURALS = {user: "users", item: "items"};

  function predictForm(doc, path) {
    const fields = predictionFields(doc);
    const sides = doc.can?.includes("suggest") ? fields.filter((f) => PLURALS[f.column?.role]) : [];
    const starts = sides.map((f) => completeNames(f, path, PLURALS[f.column.role]));
    const request = () => (doc.kind === "events" ? eventInstance(fields) : rowInstance(fields[0]));
    const explains = doc.can?.includes("explain");
    const calls = () => {
      const body = request();
      const list = [{path: `${path}:predict`, body: {...body, details: true}}];
      if (explains && (body.rows || body.instances).length === 1)
        list.push({path: `${path}:explain`, body: {...body, top: MOST_REASONS}});
      return list;
    };
    const show = ([answer, why]) => {
      const list = answer.predictions;
      const {said, nodes} = list.length === 1 ? showOne(doc, list[0]) : showMany(doc, list);
      const warnings = (answer.warnings || []).map((text) => el("p", {class: "warning"}, String(text)));
      return {said, nodes: [...warnings, ...nodes, ...(why ? showWhy(doc, why) : [])]};
    };
    return new AskForm({
      title: "Try a prediction",
      button: "Predict",
      fields,
      calls,
      show,
      starts,
      note: doc.kind === "events" ? "Fields that stay empty are unknown to the model." : undefined
    });
  }

  // ---- Recommendations ----

  /* Similarities lie close together: their bars begin a little below the smallest. */
  function barScale(values, fromSmallest) {
    const known = values.filter(isNumber), smallest = Math.min(...known), largest = Math.max(...known);
    const [least, most] = extremes(values);
    if (!fromSmallest || known.length < 2 || smallest === largest) return {bar: (v) => gauge(v, least, most)};
    const start = smallest - (largest - smallest) / 20;
    return {bar: (v) => gauge(v - start, 0, largest - start), title: `from ${short(start, 3)}`};
  }

  function itemRows(list, measure, open) {
    const named = list.some((found) => found.name !== undefined);
    const {bar, title} = barScale(list.map((found) => found[measure]), measure === "similarity");
    const because = list.some((found) => found.because);
    const columns = [
      {name: "rank", number: true}, named && {name: "name"}, {name: "item", key: true}, {name: measure, number: true},
      {name: title, gauge: true}, because && {name: "because of"}
    ];
    const reason = (found) => String(found.name || found.item);
    const rows = list.map((found, i) => [count(i + 1), named && String(found.name ?? ""),
                                         open ? opener(String(found.item), open) : String(found.item),
                                         number(found[measure]), bar(found[measure]),
                                         because && (found.because || []).map(reason).join(", ")]
                                            .filter((cell) => cell !== false));
    return [columns.filter(Boolean), rows];
  }

  function opener(text, open) {
    const button = el("button", {type: "button", class: "link", title: "Show what is similar"}, text);
    button.addEventListener("click", () => open(text));
    return button;
  }

  function similarForm(path) {
    const item = field("Item", "/items", textInput(""));
    const starts = [completeNames(item, path, "items")];
    const k = countField("How many", "k", 10);
    const calls = () => [{path: `${path}:similar`, body: {items: [needText(item, "an item")], k: readNumber(k) ?? 10}}];
    const open = (name) => {
      item.input.value = name;
      form.tellCommands();
      form.form.requestSubmit();
    };
    const show = ([answer]) => {
      const {item: of, items} = answer.similar[0];
      return {
        said: `${items.length} items similar to ${of}`,
        nodes: [table(`Similar to ${of}`, ...itemRows(items, "similarity", open), true)]
      };
    };
    const form = new AskForm({title: "Similar items", button: "Find similar", fields: [item, k], calls, show, starts});
    return {form, open};
  }

  function recommendForm(doc, path, open) {
    const user = field("User", "/users", textInput(""));
    const starts = [completeNames(user, path, "users")];
    const k = countField("How many", "k", 10);
    const more = doc.kind === "recommender" ? {reasons: REASONS} : {};
    const calls =
        () => [{path: `${path}:recommend`, body: {users: [needText(user, "a user")], k: readNumber(k) ?? 10, ...more}}];
    const show = ([answer]) => {
      const {user: of, items} = answer.recommendations[0];
      return {
        said: `${items.length} items for ${of}`,
        nodes: [table(`Recommended to ${of}`, ...itemRows(items, "score", open), true)]
      };
    };
    return new AskForm({
      title: "Recommendations",
      button: "Recommend",
      fields: [user, k],
      calls,
      show,
      starts,
      note: open ? "Choose an item of the answer to see similar ones." : undefined
    });
  }

  // ---- Models ----

  const modelKey = (doc) => json([
    doc.kind, doc.task, doc.columns ?? null, doc.classes ?? null, doc.can ?? null, doc.features ?? null, !!doc.named
  ]);

  /* What a recommender was chosen from, and how good it was on events that were held out. */
  function rankingFacts(ranking) {
    const chosen = ranking?.candidates.find((c) => c.chosen), popular = ranking?.candidates[0];
    if (!chosen) return [];
    return [
      ["recommends by", chosen.name], [`NDCG@${ranking.k}`, short(chosen.ndcg, 3)],
      ["of popular items", chosen === popular ? "" : short(popular.ndcg, 3)]
    ];
  }

  class ModelCard extends Card {
    constructor(doc) {
      super("model", doc);
      this.key = modelKey(doc);
      const path = `v1/models/${encodeURIComponent(doc.name)}`;
      const can = (what) => doc.can?.includes(what);
      const similar = can("similar") ? similarForm(path) : null;
      const forms = [
        can("predict") && predictForm(doc, path), can("recommend") && recommendForm(doc, path, similar?.open),
        similar?.form
      ].filter(Boolean);
      this.box.append(...forms.map((form) => form.box));
      this.startWhenOpen(forms.flatMap((form) => form.starts));
    }

    update(doc, now) {
      const classes = doc.classes?.length > 0 ? doc.classes.join(", ") : "";
      super.update(doc,
                   [
                     ["algorithm", doc.algorithm], ["task", doc.task], ["classes", classes], ["data", doc.kind],
                     ["features", isNumber(doc.features) ? count(doc.features) : ""],
                     ["users", doc.users ? count(doc.users) : ""], ["items", doc.items ? count(doc.items) : ""],
                     ...rankingFacts(doc.ranking),
                     ["loaded", moment(doc.loaded_at)]
                   ],
                   now);
    }
  }

  // ---- Searches ----

  function readVector(of) {
    const text = needText(of, "a vector");
    const parts = text.replace(/^\[|\]$/g, "").split(/[\s,;]+/).filter((part) => part !== "");
    const wrong = parts.find((part) => !Number.isFinite(Number(part)));
    if (wrong !== undefined) throw new Mistake(of, `“${wrong}” is not a number`);
    return parts.map((part) => new Digits(jsonNumber(part)));
  }

  function readItemId(of) {
    const text = needText(of, "an id");
    if (!/^\d+$/.test(text)) throw new Mistake(of, "is not a number of digits alone");
    return new Digits(text.replace(/^0+(?=\d)/, ""));
  }

  const idField = (options) => field("Id", "/ids", el("input", {type: "text", inputmode: "numeric"}), options);
  const nameField = () => field("Name", "/names", textInput(""));
  const vectorField = (doc) => field("Vector", "/vectors", el("textarea", {rows: 3}), {
    long: true,
    hint: `${count(doc.dimension)} numbers, with blanks or commas between them. Enter sends them.`
  });

  /* How stored vectors are called: [word of the request, label, field, how it is read]. */
  const storedKinds = (doc) => [doc.named && ["names", "the item with a name", nameField(),
                                              (of) => needText(of, "a name")],
                                ["ids", "the item with an id", idField(), readItemId]]
                                   .filter(Boolean);

  const queryKinds = (doc) => [...(doc.by_id ? storedKinds(doc) : []),
                               ["vectors", "a vector", vectorField(doc), readVector]];

  /* A list to choose one of the kinds from, of which only that one's field is shown. */
  function chooser(label, kinds) {
    const select = el("select", {}, ...kinds.map(([word, text]) => el("option", {value: word}, text)));
    const choose = (word) => {
      select.value = word;
      kinds.forEach(([name, , of]) => (of.row.hidden = name !== word));
    };
    select.addEventListener("change", () => choose(select.value));
    choose(kinds[0][0]);
    const read = () => {
      const [word, , of, reader] = kinds.find(([name]) => name === select.value);
      return {[word]: [reader(of)]};
    };
    return {fields: [field(label, "none", select), ...kinds.map(([, , of]) => of)], choose, read};
  }

  function neighborRows(doc, list, open) {
    const [least, most] = extremes(list.map((found) => found.distance));
    const columns = [
      {name: "rank", number: true}, {name: "id", key: true}, doc.named && {name: "name"},
      {name: "distance", number: true}, {gauge: true}
    ];
    const rows = list.map(
        (found,
         i) => [count(i + 1), open ? opener(String(found.id), open) : String(found.id),
                doc.named && String(found.name ?? ""), number(found.distance), gauge(found.distance, least, most)]
                   .filter((cell) => cell !== false));
    return [columns.filter(Boolean), rows];
  }

  /* Fills the fields of names and ids with what lies near some vector, so that the form works at once; lists have more. */
  async function exampleStored(doc, path, kinds) {
    const body = json({vectors: [unitVector(doc.dimension)], k: MOST_SUGGESTED});
    const answer = await ask(`${path}:search`, body).catch(() => null);
    const found = answer ? answer.neighbors[0] : [];
    const values = {names: found.map((of) => of.name).filter(Boolean), ids: found.map((of) => String(of.id))};
    for (const [word, , {input, row}] of kinds) {
      if (!values[word]?.length || input.value !== "" || document.activeElement === input) continue;
      const list = el("datalist", {id: newId()}, ...values[word].map((value) => el("option", {value})));
      row.append(list);
      input.setAttribute("list", list.id);
      input.value = values[word][0];
      input.dispatchEvent(new Event("input", {bubbles: true}));
    }
  }

  function searchForm(doc, path) {
    const kinds = queryKinds(doc);
    const query = chooser("Neighbours of", kinds);
    const k = countField("How many", "k", 10);
    const nprobe = doc.lists > 1 ? countField("Lists to scan (nprobe)", "nprobe", "",
                                              {hint: `Empty: ${count(doc.nprobe)} of ${count(doc.lists)}`})
                                 : null;
    const calls = () => {
      const body = {...query.read(), k: readNumber(k) ?? 10};
      const lists = nprobe && readNumber(nprobe);
      return [{path: `${path}:search`, body: lists ? {...body, nprobe: lists} : body}];
    };
    const open = doc.by_id ? (id) => {
      query.choose("ids");
      kinds.find(([word]) => word === "ids")[2].input.value = id;
      form.tellCommands();
      form.form.requestSubmit();
    } : null;
    const show = ([answer]) => {
      const list = answer.neighbors[0];
      return {
        said: `${list.length} neighbours`,
        nodes: [table(`Nearest first, by ${doc.metric}`, ...neighborRows(doc, list, open))]
      };
    };
    const fields = [...query.fields, k, nprobe].filter(Boolean);
    const starts = doc.by_id ? [() => exampleStored(doc, path, kinds)] : [];
    const form = new AskForm({title: "Nearest neighbours", button: "Search", fields, calls, show, starts});
    return form;
  }

  // ---- Changes ----

  function addForm(doc, path) {
    const vector = vectorField(doc);
    const name = doc.named ? nameField() : null;
    const id = idField({hint: "Empty: the one that follows the largest."});
    const calls = () => {
      const body = {vectors: [readVector(vector)]};
      if (name) body.names = [needText(name, "a name")];
      if (id.text() !== "") body.ids = [readItemId(id)];
      return [{path: `${path}:add`, body}];
    };
    const show = ([answer]) => {
      turn();
      return {said: `Added with the id ${answer.ids[0]}`, nodes: []};
    };
    const fields = [vector, name, id].filter(Boolean);
    return new AskForm({title: "Add a vector", button: "Add", fields, calls, show});
  }

  function removeForm(doc, path) {
    const stored = chooser("Remove", storedKinds(doc));
    const calls = () => [{path: `${path}:remove`, body: stored.read()}];
    const show = ([answer]) => {
      turn();
      return {said: answer.removed > 0 ? "Removed" : "There was nothing to remove", nodes: []};
    };
    return new AskForm({title: "Remove a vector", button: "Remove", fields: stored.fields, calls, show});
  }

  // ---- Recall against speed ----

  /* 1, 2, 5, 10 …; where there are too few of them, equal steps. */
  function logTicks(least, most) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++)
      for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
    const inside = ticks.filter((tick) => tick >= least && tick <= most);
    return inside.length > 2 ? inside : linearTicks(least, most, 4);
  }

  function linearTicks(least, most, wanted) {
    const raw = (most - least) / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((digit) => digit * power >= raw * 0.999);
    const first = Math.ceil(least / step - 1e-9);
    return Array.from({length: Math.floor(most / step + 1e-9) - first + 1},
                      (_, i) => Number(((first + i) * step).toPrecision(6)));
  }

  const brief = (value) => (value >= 1e6 ? `${short(value / 1e6, 3)}M`
                            : value >= 1e3 ? `${short(value / 1e3, 3)}k`
                                           : short(value, 3));

  /* Drawn for the width that there is, so that letters keep their size. */
  function drawCurve(points, k, width) {
    const height = 270, left = 52, right = width - 34, top = 22, bottom = height - 46;
    const speeds = points.map((p) => p.queries_per_second);
    const least = Math.min(...points.map((p) => p.recall)), x0 = Math.max(0, least - (1 - least) * 0.08 - 0.002);
    const y0 = Math.min(...speeds) / 1.3, y1 = Math.max(...speeds) * 1.3;
    const x = (recall) => left + ((recall - x0) / (1 - x0)) * (right - left);
    const y = (speed) => bottom - (Math.log(speed / y0) / Math.log(y1 / y0)) * (bottom - top);
    const across = logTicks(y0, y1).flatMap(
        (v) => [shape("path", {class: "grid", d: `M${left} ${y(v)}H${right}`}),
                shape("text", {class: "tick", x: left - 7, y: y(v) + 4, "text-anchor": "end"}, brief(v))]);
    const along =
        linearTicks(x0, 1, width < 480 ? 4 : 8)
            .flatMap(
                (v) => [shape("path", {class: "grid", d: `M${x(v)} ${top}V${bottom}`}),
                        shape("text", {class: "tick", x: x(v), y: bottom + 17, "text-anchor": "middle"}, String(v))]);
    const line =
        points.map((p, i) => `${i > 0 ? "L" : "M"}${x(p.recall).toFixed(1)} ${y(p.queries_per_second).toFixed(1)}`)
            .join("");
    return shape(
        "svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img"},
        shape("title", {}, "Recall against speed"),
        shape("desc", {}, `${points.length} settings of nprobe; the table below has the numbers`), ...across, ...along,
        shape("path", {class: "line", d: line}), ...curveDots(points, x, y),
        shape("text", {x: (left + right) / 2, y: height - 6, "text-anchor": "middle"}, `recall of the ${k} nearest`),
        shape("text", {x: 4, y: 13}, "queries per second; points are nprobe"));
  }

  /* A label that would cover the one before is left out. */
  function curveDots(points, x, y) {
    let lastX = -99, lastY = -99;
    return points.flatMap((p) => {
      const at = [x(p.recall), y(p.queries_per_second)];
      const dot = shape("circle", {class: "dot", cx: at[0], cy: at[1], r: 5}, shape("title", {}, `nprobe ${p.nprobe}`));
      if (Math.abs(at[0] - lastX) < 20 && Math.abs(at[1] - lastY) < 15) return [dot];
      [lastX, lastY] = at;
      return [dot, shape("text", {class: "tick", x: at[0] + 8, y: at[1] - 6}, String(p.nprobe))];
    });
  }

  function curveFigure(points, k) {
    const figure = el("figure", {class: "curve"});
    let drawn = 0;
    const draw = () => {
      const width = Math.round(Math.min(760, figure.clientWidth));
      if (width === drawn || width < 100) return;
      drawn = width;
      figure.replaceChildren(drawCurve(points, k, width));
    };
    new ResizeObserver(draw).observe(figure);
    return figure;
  }

  function curveForm(doc, path) {
    const queries = countField("Queries", "queries", 200, {hint: "Stored vectors that are searched for."});
    const k = countField("How many", "k", 10);
    const calls = () => [{path: `${path}:curve`, body: {queries: readNumber(queries) ?? 200, k: readNumber(k) ?? 10}}];
    const show = ([answer]) => {
      const points = answer.points.filter((p) => isNumber(p.recall) && p.queries_per_second > 0);
      const rows =
          points.map((p) => [count(p.nprobe), number(p.recall),
                             el("data", {value: p.queries_per_second}, count(Math.round(p.queries_per_second)))]);
      const columns =
          [{name: "nprobe", number: true}, {name: "recall", number: true}, {name: "queries per second", number: true}];
      return {
        said: `${points.length} points measured with ${count(answer.queries)} queries`,
        nodes:
            [...(points.length > 1 ? [curveFigure(points, answer.k)] : []), table("What was measured", columns, rows)]
      };
    };
    return new AskForm({
      title: "Recall against speed",
      button: "Measure",
      fields: [queries, k],
      calls,
      show,
      note: "Searches with more and more lists, and counts how many of the true neighbours are found."
    });
  }

  // ---- Indexes ----

  const indexKey = (doc) =>
      json([doc.dimension, doc.metric, doc.lists ?? 0, doc.nprobe ?? 0, !!doc.named, !!doc.by_id, !!doc.writable]);

  class IndexCard extends Card {
    constructor(doc) {
      super("index", doc);
      this.key = indexKey(doc);
      const path = `v1/indexes/${encodeURIComponent(doc.name)}`;
      const search = searchForm(doc, path);
      this.box.append(search.box);
      this.startWhenOpen(search.starts);
      if (doc.writable) this.box.append(addForm(doc, path).box, removeForm(doc, path).box);
      if (doc.lists > 1) this.box.append(curveForm(doc, path).box);
    }

    update(doc, now) {
      const changes = `${count(doc.fresh)} added, ${count(doc.removed)} removed`;
      const edits = doc.writable ? [["not in the file yet", changes], ["log", size(doc.log_bytes)]] : [];
      super.update(doc,
                   [
                     ["kind", doc.kind], ["metric", doc.metric], ["dimension", count(doc.dimension)],
                     ["vectors", count(doc.vectors)], ["lists", doc.lists ? count(doc.lists) : ""],
                     ["nprobe", doc.nprobe ? count(doc.nprobe) : ""],
                     ["code", doc.code_bytes ? `${count(doc.code_bytes)} B` : ""],
                     ["writable", doc.writable ? "yes" : "no"], ...edits, ["loaded", moment(doc.loaded_at)]
                   ],
                   now);
    }
  }

  // ---- The page ----

  const at = (id) => document.getElementById(id);
  const cards = {models: new Map(), indexes: new Map()};
  const kinds = {models: [ModelCard, modelKey, "Models"], indexes: [IndexCard, indexKey, "Indexes"]};

  function setState(text, kind) {
    setText(at("state"), text);
    at("state").className = `state ${kind}`;
  }

  /* Cards stay as they are while what they show is the same: what was typed must not vanish. */
  function updateCards(which, docs, now) {
    const [Kind, keyOf, title] = kinds[which];
    const known = cards[which];
    for (const [place, doc] of docs.entries()) {
      let card = known.get(doc.name);
      if (!card || card.key !== keyOf(doc)) {
        const next = new Kind(doc);
        next.box.open = card ? card.box.open : place < MOST_OPEN;
        card ? card.node.replaceWith(next.node) : at(which).append(next.node);
        known.set(doc.name, (card = next));
      }
      card.update(doc, now);
    }
    for (const [name, card] of known)
      if (!docs.some((doc) => doc.name === name)) {
        card.node.remove();
        known.delete(name);
      }
    if (docs.length > 0 && !at(which).querySelector("h2")) at(which).prepend(el("h2", {}, title));
  }

  function updateNav() {
    const all = [...cards.models.values(), ...cards.indexes.values()].map((card) => card.id);
    const shown = [...at("nav").querySelectorAll("a")].map((a) => a.getAttribute("href").slice(1));
    if (String(all) === String(shown)) return;
    at("nav").replaceChildren(
        el("ul", {}, ...all.map((id) => el("li", {}, el("a", {href: `#${id}`}, id.replace(/^.*?-/, ""))))));
  }

  /* Where a link leads, the card is open. */
  function openTarget() {
    const box = at(decodeURIComponent(location.hash.slice(1)))?.querySelector("details.whole");
    if (box) box.open = true;
  }

  /* A link does not send the token: the text is shown here. */
  async function showMetrics(event) {
    if (!secret.get()) return;
    event.preventDefault();
    const box = at("metrics-text");
    box.hidden = !box.hidden;
    if (!box.hidden) setText(box, await askText("metrics").catch((error) => error.text));
  }

  function askForToken() {
    setState("needs a token", "bad");
    if (!at("login").hidden) return;
    at("login").hidden = false;
    for (const which of Object.keys(cards)) {
      cards[which].clear();
      at(which).replaceChildren();
    }
    updateNav();
    setText(at("token-problem"), secret.get() ? "The server does not accept this token." : "");
    secret.set(null);
    at("forget").hidden = at("metrics").hidden = at("metrics-text").hidden = true;
    setText(at("metrics-text"), "");
    at("token").focus();
  }

  async function readState() {
    const answer = await fetch("readyz", {cache: "no-store"});
    const problem = answer.ok ? null : await problemOf(answer);
    if (!problem)
      setState("ready", "good");
    else
      setState(/stopping|draining/.test(problem.message) ? "draining" : "not ready", "bad");
    return problem;
  }

  /* One of the lists may fail while the other one is shown. */
  async function refresh() {
    const found = await Promise.allSettled([ask("v1/models"), ask("v1/indexes")]);
    const now = performance.now();
    const failed = found.filter((f) => f.status === "rejected").map((f) => f.reason);
    const fatal = failed.find((error) => error.status === 401 || error.status === 0);
    if (fatal) throw fatal;
    at("login").hidden = true;
    at("forget").hidden = !secret.get();
    at("metrics").hidden = false;
    if (found[0].value) updateCards("models", found[0].value.models, now);
    if (found[1].value) updateCards("indexes", found[1].value.indexes, now);
    updateNav();
    const state = await readState();
    setText(at("trouble"), [...failed, state].filter(Boolean).map((error) => error.text).join(" "));
  }

  let timer = 0, running = false;

  async function turn() {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    try {
      await refresh();
    } catch (error) {
      if (error.status === 401)
        askForToken();
      else if (error.status === 0 || error instanceof TypeError)
        setState("not reachable", "bad");
      else
        setText(at("trouble"), error.text || error.message);
      if (!(error instanceof Problem)) console.error(error);
    }
    running = false;
    if (at("login").hidden) timer = setTimeout(turn, REFRESH_MS);
  }

  at("login").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = at("token").value.trim();
    if (!/^[\x21-\x7e]+$/.test(text)) {
      setText(at("token-problem"), "A token has letters, digits and signs of ASCII, without blanks.");
      return;
    }
    secret.set(text);
    at("token").value = "";
    setText(at("token-problem"), "");
    at("login").hidden = true;
    turn();
  });
  at("forget").addEventListener("click", () => {
    secret.set(null);
    turn();
  });
  at("nav").addEventListener("click", () => setTimeout(openTarget));
  at("metrics").addEventListener("click", showMetrics);
  document.addEventListener("visibilitychange", turn);
  turn();
})();
