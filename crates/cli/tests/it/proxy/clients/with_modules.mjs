// Clients from npm, imported as modules and by path: `undici` in several copies of its dispatcher, `got` with HTTP/2, `axios`.
import { createHash } from 'node:crypto';
import axios from 'axios';
import got from 'got';
import { Agent, Client, fetch as fetched, request } from 'undici';
import byPath from './node_modules/undici/index.js';

const base = 'https://api.metroon.test';
const body = (name, bytes) => console.log('body', name, bytes.length, createHash('sha256').update(bytes).digest('hex'));
const asked = async (name, answer) => body(name, Buffer.from(await (await answer).body.arrayBuffer()));

await asked('undici', request(`${base}/count`));
await asked('undici by path', byPath.request(`${base}/count`));
await asked('undici plain', request('http://api.metroon.test/count'));
await asked('undici agent', request(`${base}/bytes/200000`, { dispatcher: new Agent({ connections: 1 }) }));
body('undici fetch', Buffer.from(await (await fetched(`${base}/encoded/gzip`)).arrayBuffer()));
const client = new Client(base, { allowH2: true });
const told = await (await client.request({ path: '/echo', method: 'GET' })).body.json();
console.log('line undici', told.version);
await client.close();

const two = await got(`${base}/echo`, { http2: true }).json();
console.log('line got', two.version);
body('got', (await got.post(`${base}/upload`, { http2: true, body: 'croak'.repeat(100) })).rawBody);
body('got', (await got(`${base}/count`)).rawBody);
body('axios', (await axios.get(`${base}/bytes/1000`, { responseType: 'arraybuffer' })).data);

const events = await request(`${base}/sse?n=5&gap=100`);
for await (const piece of events.body) console.log('piece', Math.round(performance.now()), 'sse', Buffer.from(piece).toString('base64'));
