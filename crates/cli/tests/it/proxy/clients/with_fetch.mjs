// What Node has by itself: `fetch`, `https` and `http2`, imported by name before anything is asked.
import { createHash } from 'node:crypto';
import http2 from 'node:http2';
import https, { get } from 'node:https';

const base = 'https://api.metroon.test';
const body = (name, bytes) => console.log('body', name, bytes.length, createHash('sha256').update(bytes).digest('hex'));

for (const path of ['/json', '/bytes/200000', '/encoded/gzip', '/encoded/br', '/redirect?to=/json']) {
  const answer = await fetch(base + path);
  console.log('line', path, answer.status);
  body(path, Buffer.from(await answer.arrayBuffer()));
}
const posted = await fetch(`${base}/upload`, { method: 'POST', body: 'croak'.repeat(1000) });
body('upload', Buffer.from(await posted.arrayBuffer()));
const all = await Promise.all(Array.from({ length: 20 }, (_, number) => fetch(`${base}/bytes/${100 + number}`)));
for (const answer of all) body('at once', Buffer.from(await answer.arrayBuffer()));

const collected = async (stream) => Buffer.concat(await Array.fromAsync?.(stream) ?? await chunks(stream));
async function chunks(stream) {
  const all = [];
  for await (const chunk of stream) all.push(chunk);
  return all;
}
const got = (start) => new Promise((resolve, reject) => start((answer) => resolve(collected(answer))).on('error', reject));
body('https', await got((then) => get(`${base}/count`, then)));
const agent = new https.Agent({ keepAlive: true });
for (let turn = 0; turn < 2; turn++) body('agent', await got((then) => https.get(`${base}/count`, { agent }, then)));
agent.destroy();

const session = http2.connect(base);
const stream = session.request({ ':path': '/count' });
body('http2', await collected(stream));
session.close();

const events = await fetch(`${base}/sse?n=5&gap=100`);
for await (const piece of events.body) {
  console.log('piece', Math.round(performance.now()), 'sse', Buffer.from(piece).toString('base64'));
}
