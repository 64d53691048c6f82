// `METROON` names the program, `METROON_TEST_OPTIONS` says where it finds example.com.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { startMetroon } = require('./index.cjs');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'metroon-node-'));
test.after(() => fs.rmSync(folder, { recursive: true }));
const options = process.env.METROON_TEST_OPTIONS.split(' ');
const cassette = path.join(folder, 'trip.cassette');

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
  const recording = await startMetroon({ cassette, mode: 'once', options });
  const first = await visit();
  assert.strictEqual(first[0], '{"frog":"Sam","green":true}');
  assert.match(await recording.stop(), /recorded 2 exchanges/);
  // Nothing leads to the origin any more.
  const replaying = await startMetroon({ cassette, mode: 'none' });
  assert.deepStrictEqual(await visit(), first);
  assert.match(await replaying.stop(), /answered 2 requests/);
  assert.strictEqual(process.env.METROON_PROXY, undefined);
});

test('a miss is told', async () => {
  const replaying = await startMetroon({ cassette, mode: 'none' });
  assert.strictEqual((await fetch('https://example.com/other')).status >= 500, true);
  await assert.rejects(replaying.stop(), /no recorded exchange answers GET https:\/\/example.com\/other/);
});

test('a missing cassette and a missing program are told', async () => {
  await assert.rejects(startMetroon({ cassette: path.join(folder, 'none.cassette'), mode: 'none' }), /there is no cassette at/);
  await assert.rejects(startMetroon({ cassette, command: 'no-such-metroon' }), /there is no program no-such-metroon/);
});

test('a recording of nothing fails, and leaves no cassette', async () => {
  const silent = path.join(folder, 'silent.cassette');
  await assert.rejects((await startMetroon({ cassette: silent, options })).stop(), /saw no request[^]*allowEmpty: true/);
  assert.strictEqual(fs.existsSync(silent), false);
  await (await startMetroon({ cassette: silent, options, allowEmpty: true })).stop();
  await (await startMetroon({ cassette: silent, mode: 'none', allowEmpty: true })).stop();
});

test('connections that were there before are not used again', async (t) => {
  // A server of the test's own: what comes to it directly is not on the cassette.
  const server = http.createServer((request, answer) => { answer.end(request.headers['x-turn']); });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  // Whatever fails below, the server does not keep this process alive.
  t.after(() => { server.closeAllConnections(); server.close(); });
  const url = `http://127.0.0.1:${server.address().port}/`;
  const ask = async (turn) => {
    const fetched = await (await fetch(url, { headers: { 'x-turn': turn } })).text();
    const got = await new Promise((resolve, reject) => {
      http.get(url, { headers: { 'x-turn': turn } }, (answer) => answer.on('data', (text) => resolve(String(text)))).on('error', reject);
    });
    return [fetched, got];
  };
  assert.deepStrictEqual(await ask('direct'), ['direct', 'direct']);
  const cassettes = path.join(folder, 'kept.cassette');
  const recording = await startMetroon({ cassette: cassettes });
  assert.deepStrictEqual(await ask('recorded'), ['recorded', 'recorded']);
  assert.match(await recording.stop(), /recorded 2 exchanges/);
  const replaying = await startMetroon({ cassette: cassettes, mode: 'none' });
  assert.deepStrictEqual(await ask('replayed'), ['recorded', 'recorded']);
  assert.match(await replaying.stop(), /answered 2 requests/);
  assert.deepStrictEqual(await ask('direct'), ['direct', 'direct']);
});

test('help is asked for in the words of Node', async () => {
  const command = path.join(folder, 'metroon');
  fs.writeFileSync(command, '#!/bin/sh\necho "in the words of $METROON_HELP_STYLE" >&2\n', { mode: 0o755 });
  await assert.rejects(startMetroon({ cassette, command }), /in the words of node/);
});
