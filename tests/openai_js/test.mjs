// OpenAI's official JavaScript client against Weir over the scripted model. WEIR_URL says where.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.WEIR_URL + "/v1", apiKey: "none", maxRetries: 0, timeout: 60000 });
const ask = (text, more = {}, options = {}) =>
  client.chat.completions.create(
    { model: "scripted", messages: [{ role: "user", content: text }], ...more }, options);

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
const joined = (chunks, index = 0) =>
  chunks.flatMap((c) => c.choices).filter((c) => c.index === index).map((c) => c.delta.content ?? "").join("");

test("models are listed and found", async () => {
  const models = await collect(await client.models.list());
  assert.deepEqual(models.map((m) => m.id), ["scripted"]);
  assert.equal((await client.models.retrieve("scripted")).object, "model");
});

test("chat answers whole", async () => {
  const answer = await ask("say hello there");
  assert.equal(answer.choices[0].message.content, "hello there");
  assert.equal(answer.choices[0].message.refusal, null);
  assert.equal(answer.choices[0].finish_reason, "stop");
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  assert.equal(answer.usage.prompt_tokens_details.cached_tokens, 0);
});

test("chat streams in OpenAI's shape", async () => {
  const chunks = await collect(await ask("say hello there", { stream: true, stream_options: { include_usage: true } }));
  assert.equal(new Set(chunks.map((c) => c.id)).size, 1);
  assert.deepEqual(chunks[0].choices[0].delta, { role: "assistant", content: "", refusal: null });
  assert.equal(joined(chunks), "hello there");
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.ok(chunks.at(-1).usage.completion_tokens > 2);
  assert.ok(chunks.slice(0, -1).every((c) => c.usage === null));
  assert.deepEqual(chunks.at(-2).choices[0].delta, {});
  assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
});

test("the stream helper assembles the same message", async () => {
  const runner = client.chat.completions.stream(
    { model: "scripted", messages: [{ role: "user", content: "say h\u00e9llo \u{1f600}" }] });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0].message.content, "h\u00e9llo \u{1f600}");
});

test("logprobs carry the bytes of the text", async () => {
  const answer = await ask("say h\u00e9llo \u{1f600}", { logprobs: true, top_logprobs: 3 });
  const content = answer.choices[0].logprobs.content;
  assert.equal(Buffer.from(content.flatMap((e) => e.bytes)).toString(), answer.choices[0].message.content);
  assert.ok(content.every((e) => e.top_logprobs.length === 3));
});

test("stop strings, limits and several choices", async () => {
  const stopped = await ask("count 50", { stop: ["4 5"] });
  assert.equal(stopped.choices[0].message.content, "1 2 3 ");
  const cut = await ask("count 50", { max_tokens: 5 });
  assert.equal(cut.choices[0].finish_reason, "length");
  assert.equal((await ask("say two", { n: 2 })).choices.length, 2);
});

test("completions", async () => {
  const answer = await client.completions.create({ model: "scripted", prompt: "say hello" });
  assert.equal(answer.choices[0].text, "hello");
  assert.equal(answer.choices[0].logprobs, null);
  const chunks = await collect(await client.completions.create({ model: "scripted", prompt: "say hello", stream: true }));
  assert.equal(chunks.map((c) => c.choices[0].text).join(""), "hello");
});

test("errors are typed", async () => {
  await assert.rejects(
    client.chat.completions.create({ model: "gpt-9", messages: [{ role: "user", content: "x" }] }),
    (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
  await assert.rejects(ask("x", { temperature: 9 }),
    (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature");
  await assert.rejects(ask("say " + "long ".repeat(3000)),
    (e) => e instanceof OpenAI.BadRequestError && e.code === "context_length_exceeded");
  await assert.rejects(ask("fail"), (e) => e instanceof OpenAI.InternalServerError);
  await assert.rejects(async () => collect(await ask("fail", { stream: true })), OpenAI.APIError);
});

test("leaving mid-stream frees the engine", async () => {
  const stream = await ask("slow 20 2000", { stream: true });
  let seen = 0;
  for await (const _ of stream) if (++seen > 3) break; // Leaving the loop aborts the request.
  assert.equal((await ask("say next")).choices[0].message.content, "next");
});

test("an aborted request that waits is forgotten", async () => {
  const stream = await ask("slow 20 2000", { stream: true });
  const abort = new AbortController();
  const waiting = ask("say never", {}, { signal: abort.signal });
  setTimeout(() => abort.abort(), 200);
  await assert.rejects(waiting, OpenAI.APIUserAbortError);
  stream.controller.abort();
  assert.equal((await ask("say next")).choices[0].message.content, "next");
});
