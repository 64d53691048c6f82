// `MNEMON` names the program, `MNEMON_TEST_OPTIONS` says where it finds example.com.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const https = require('node:https');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { startMnemon } = require('./index.cjs');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mnemon-node-'));
test.after(() => fs.rmSync(folder, { recursive: true }));
const options = process.env.MNEMON_TEST_OPTIONS.split(' ');
const tape = path.join(folder, 'trip.tape');

async function visit() {
  const fetched = await (await fetch('https://example.com/json')).text();
  const got = await new Promise((resolve, reject) => {
    https.get('https://example.com/count', (answer) => {
      answer.setEncoding('utf8');
      let text = '';
      answer.on('data', (piece) => { text += piece; }).on('end', () => resolve(text));
    }).on('error', reject);
  });
  return [fetched, got];
}

test('what is recorded is answered', async () => {
  const recording = await startMnemon({ tape, mode: 'once', options });
  const first = await visit();
  assert.strictEqual(first[0], '{"frog":"Sam","green":true}');
  assert.match(await recording.stop(), /recorded 2 exchanges/);
  // Nothing leads to the origin any more.
  const replaying = await startMnemon({ tape, mode: 'none' });
  assert.deepStrictEqual(await visit(), first);
  assert.match(await replaying.stop(), /answered 2 requests/);
  assert.strictEqual(process.env.MNEMON_PROXY, undefined);
});

test('a miss is told', async () => {
  const replaying = await startMnemon({ tape, mode: 'none' });
  assert.strictEqual((await fetch('https://example.com/other')).status >= 500, true);
  await assert.rejects(replaying.stop(), /no recorded exchange answers GET https:\/\/example.com\/other/);
});

test('a missing tape and a missing program are told', async () => {
  await assert.rejects(startMnemon({ tape: path.join(folder, 'none.tape'), mode: 'none' }), /there is no tape at/);
  await assert.rejects(startMnemon({ tape, command: 'no-such-mnemon' }), /there is no program no-such-mnemon/);
});
