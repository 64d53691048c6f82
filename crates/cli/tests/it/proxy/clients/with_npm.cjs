// What others made for Node: `axios`, which knows proxies by itself, and `undici`, which does not.
const { createHash } = require('node:crypto');
const axios = require('axios');
const undici = require('undici');

const base = 'https://api.metroon.test';
const body = (name, bytes) => console.log('body', name, bytes.length, createHash('sha256').update(bytes).digest('hex'));

async function main() {
  const got = await axios.get(`${base}/bytes/1000`, { responseType: 'arraybuffer' });
  body('axios', got.data);
  const posted = await axios.post(`${base}/upload`, 'croak'.repeat(100));
  console.log('line axios', JSON.stringify(posted.data));
  const asked = await undici.request(`${base}/count`);
  body('undici', Buffer.from(await asked.body.arrayBuffer()));
  const fetched = await undici.fetch(`${base}/count`);
  body('undici fetch', Buffer.from(await fetched.arrayBuffer()));
}
main();
